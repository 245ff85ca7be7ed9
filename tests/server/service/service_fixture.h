// A server's services without a network: commands set it up, frames go in, replies come out.
#ifndef SYNCLINE_TESTS_SERVER_SERVICE_SERVICE_FIXTURE_H_
#define SYNCLINE_TESTS_SERVER_SERVICE_SERVICE_FIXTURE_H_

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "common/codec/codec.h"
#include "common/hash.h"
#include "common/metrics/metrics.h"
#include "common/thread/bounded_queue.h"
#include "common/time_source.h"
#include "server/executor/slot_host.h"
#include "server/service/admin_queries.h"
#include "server/service/command_log.h"
#include "server/service/operation_service.h"
#include "server/service/probe.h"
#include "server/service/server_state.h"

namespace syncline {

inline constexpr uint64_t kBoot = 77;
inline constexpr uint32_t kSlotCount = 8;
inline constexpr TableId kTable{1};
inline constexpr uint32_t kDim = 2;

inline std::string KeyBytes(const std::vector<Key>& keys) {
  return std::string(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(Key));
}
inline std::string NumberBytes(const std::vector<uint32_t>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()),
                     numbers.size() * sizeof(uint32_t));
}
inline std::string FloatBytes(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}
inline std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline MessageBytes Received(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  MessageBytes bytes;
  bytes.pieces.emplace_back(reinterpret_cast<const uint8_t*>(owner->data()), owner->size());
  bytes.size = owner->size();
  bytes.owner = owner;
  return bytes;
}
inline MessageBytes Received(const google::protobuf::MessageLite& message) {
  return Received(message.SerializeAsString());
}

// Collects the replies of a stream.
class TestSink final : public FrameSink {
 public:
  void Send(OutgoingBytes reply) override {
    v1::Frame frame;
    const std::vector<uint8_t> flat = reply.frame.Flatten();
    EXPECT_TRUE(frame.ParseFromArray(flat.data(), static_cast<int>(flat.size())));
    replies_.Push(std::move(frame));
  }
  void OnParked(bool parked, size_t /*bytes*/) override { parked_ += parked ? 1 : -1; }
  v1::Frame Next() { return *replies_.Pop(); }
  bool empty() const { return replies_.size() == 0; }
  int parked() const { return parked_; }

 private:
  BoundedQueue<v1::Frame> replies_{1'024};
  std::atomic<int> parked_ = 0;
};

// One server that owns every slot, one job of one rank, one SGD table (lr 1, sums, ssp(0)).
class TestServer {
 public:
  TestServer()
      : timers(time),
        state("test", "1", kBoot, true, time),
        metrics("ps_server"),
        probe(metrics, time),
        host({.executors = 2}, timers),
        operations(host, state, probe),
        commands(host, state),
        admin(host, state) {}

  v1::CommandReply Run(v1::Command command) {
    command.set_term(1);
    command.set_boot(kBoot);
    command.set_number(++number_);
    absl::StatusOr<v1::CommandReply> reply = commands.Execute(command);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ(reply->error().code(), 0) << reply->error().message();
    return *std::move(reply);
  }

  static v1::Command MapCommand(uint64_t incarnation = 1, uint64_t epoch = 1) {
    v1::Command command;
    v1::ClusterMap& map = *command.mutable_map();
    map.set_cluster("test");
    map.set_epoch(epoch);
    map.set_slot_count(kSlotCount);
    map.set_servers_expected(1);
    v1::ServerAddress& server = *map.add_servers();
    server.set_name("test");
    server.set_endpoint("localhost:1");
    server.set_boot(kBoot);
    for (uint32_t i = 0; i < kSlotCount; ++i) map.add_slots()->set_incarnation(incarnation);
    return command;
  }

  void SetUp(int32_t ranks = 1) {
    Run(MapCommand());
    v1::Command job;
    job.mutable_declare_job()->set_id(1);
    job.mutable_declare_job()->mutable_spec()->set_name("job");
    job.mutable_declare_job()->mutable_spec()->set_ranks(static_cast<uint32_t>(ranks));
    Run(job);
    v1::Command table;
    v1::TableInfo& info = *table.mutable_create_table();
    info.set_id(kTable.value());
    info.set_job(1);
    info.mutable_spec()->set_name("t");
    info.mutable_spec()->set_dim(kDim);
    info.mutable_spec()->set_reduce(v1::SUM);
    info.mutable_spec()->mutable_consistency()->set_mode(v1::ConsistencyPolicy::SSP);
    info.mutable_spec()->mutable_optimizer()->set_name("sgd");
    (*info.mutable_spec()->mutable_optimizer()->mutable_arguments())["lr"] = 1;
    Run(table);
  }

  v1::OperationHeader Join(int32_t rank) {
    const auto id = static_cast<uint64_t>(rank) + 1;
    v1::Command install;
    install.mutable_install()->set_session_high(id);
    install.mutable_install()->set_session_low(id);
    install.mutable_install()->set_token(id);
    install.mutable_install()->set_job(1);
    install.mutable_install()->set_rank(rank);
    install.mutable_install()->set_clocked(true);
    install.mutable_install()->set_principal("anonymous");
    Run(install);
    v1::OperationHeader header;
    header.set_session_high(id);
    header.set_session_low(id);
    header.set_token(id);
    header.set_epoch(1);
    return header;
  }

  static uint32_t SlotOfKey(Key key) { return SlotOf(kTable, key, kSlotCount).value(); }

  // A push of one key, its gradient the same in every element.
  static v1::PushRequest Push(const v1::OperationHeader& header, Key key, float gradient,
                              uint64_t sequence) {
    v1::PushRequest push;
    *push.mutable_header() = header;
    push.set_table(kTable.value());
    push.set_codec(static_cast<uint32_t>(CodecId::kFp32));
    push.set_samples(1);
    v1::PushPart& part = *push.add_parts();
    part.set_slot(SlotOfKey(key));
    part.set_incarnation(1);
    part.set_sequence(sequence);
    part.set_keys(KeyBytes({key}));
    part.set_values(FloatBytes(std::vector<float>(kDim, gradient)));
    return push;
  }
  static v1::PullRequest Pull(const v1::OperationHeader& header, Key key, uint64_t sequence) {
    v1::PullRequest pull;
    *pull.mutable_header() = header;
    pull.set_table(kTable.value());
    pull.set_codec(static_cast<uint32_t>(CodecId::kFp32));
    v1::PullPart& part = *pull.add_parts();
    part.set_slot(SlotOfKey(key));
    part.set_incarnation(1);
    part.set_sequence(sequence);
    part.set_keys(KeyBytes({key}));
    return pull;
  }
  // Sequences are the same in every slot.
  static v1::TickRequest Tick(const v1::OperationHeader& header, int64_t to, uint64_t sequence) {
    v1::TickRequest tick;
    *tick.mutable_header() = header;
    tick.set_clock(to);
    tick.set_ends_round(to - 1);
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      tick.add_slots(i);
      tick.add_incarnations(1);
      tick.add_sequences(sequence);
    }
    return tick;
  }

  SystemTimeSource time;
  TimerQueue timers;
  ServerState state;
  Metrics metrics;
  ServiceProbe probe;
  SlotHost host;
  OperationService operations;
  CommandLog commands;
  AdminQueries admin;

 private:
  uint64_t number_ = 0;
};

// A client's end of a stream that has said Hello.
struct TestStream {
  explicit TestStream(TestServer& server, bool greet = true)
      : sink(std::make_shared<TestSink>()),
        stream(server.operations.OpenStream(Principal{"anonymous"}, sink)) {
    if (!greet) return;
    v1::Frame hello;
    hello.set_request_id(1);
    hello.mutable_hello()->set_version_min(1);
    hello.mutable_hello()->set_version_max(1);
    EXPECT_TRUE(stream->OnFrame(Received(hello)).ok());
    EXPECT_EQ(sink->Next().hello_reply().boot(), kBoot);
  }
  ~TestStream() { stream->OnClosed(); }

  v1::Frame Ask(const v1::Frame& frame) {
    const absl::Status status = stream->OnFrame(Received(frame));
    EXPECT_TRUE(status.ok()) << status.ToString();
    return sink->Next();
  }
  v1::PushReply Ask(const v1::PushRequest& push) {
    v1::Frame frame;
    *frame.mutable_push() = push;
    return Ask(frame).push_reply();
  }
  v1::PullReply Ask(const v1::PullRequest& pull) {
    v1::Frame frame;
    *frame.mutable_pull() = pull;
    return Ask(frame).pull_reply();
  }
  v1::TickReply Ask(const v1::TickRequest& tick) {
    v1::Frame frame;
    *frame.mutable_tick() = tick;
    return Ask(frame).tick_reply();
  }

  std::shared_ptr<TestSink> sink;
  std::shared_ptr<FrameStream> stream;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SERVER_SERVICE_SERVICE_FIXTURE_H_
