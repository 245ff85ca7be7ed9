#include "tests/support/frame_relay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/client_context.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

#include "common/net/channel_factory.h"
#include "common/status/status.h"
#include "proto/parameter_server.grpc.pb.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;

// Answers Hello, decides every push, and remembers what came.
class Endpoint final : public v1::ParameterServer::Service {
 public:
  Endpoint() {
    int port = 0;
    grpc::ServerBuilder builder;
    SYNCLINE_CHECK(AddListener(builder, "127.0.0.1:0", {}, &port).ok(), "loopback");
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~Endpoint() override { server_->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME)); }
  const std::string& address() const { return address_; }

  grpc::Status Exchange(grpc::ServerContext*,
                        grpc::ServerReaderWriter<v1::Frame, v1::Frame>* stream) override {
    v1::Frame in;
    while (stream->Read(&in)) {
      v1::Frame out;
      out.set_request_id(in.request_id());
      if (in.has_hello()) out.mutable_hello_reply()->set_version(1);
      if (in.has_push()) Decide(in, out);
      if (in.has_ping()) out.mutable_ping_reply();
      stream->Write(out);
    }
    return {grpc::StatusCode::OUT_OF_RANGE, "the client ended"};
  }
  grpc::Status Leave(grpc::ServerContext*, const v1::LeaveRequest* request,
                     v1::LeaveReply*) override {
    return {grpc::StatusCode::NOT_FOUND, std::to_string(request->slots_size())};
  }

  std::vector<uint64_t> order() const {
    MutexLock lock(mutex_);
    return order_;
  }

 private:
  void Decide(const v1::Frame& in, v1::Frame& out) {
    MutexLock lock(mutex_);
    for (const v1::PushPart& part : in.push().parts()) {
      order_.push_back(part.sequence());
      v1::PartOutcome* outcome = out.mutable_push_reply()->add_parts();
      outcome->set_slot(part.slot());
      outcome->set_sequence(part.sequence());
      outcome->set_outcome(v1::OK);
    }
  }

  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  mutable Mutex mutex_;
  std::vector<uint64_t> order_ GUARDED_BY(mutex_);
};

// A stream of one session; every call gives up after ten seconds.
class Client {
 public:
  explicit Client(const std::string& endpoint, uint64_t session = 7) {
    context_.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(10, GPR_TIMESPAN)));
    stub_ = v1::ParameterServer::NewStub(*MakeChannel(endpoint, {.own_connection = true}));
    stream_ = stub_->Exchange(&context_);
    v1::Frame hello;
    hello.mutable_hello()->mutable_header()->set_session_low(session);
    stream_->Write(hello);
  }
  ~Client() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }
  bool Push(uint64_t sequence) {
    v1::Frame frame;
    frame.set_request_id(sequence);
    v1::PushPart* part = frame.mutable_push()->add_parts();
    part->set_slot(3);
    part->set_sequence(sequence);
    return stream_->Write(frame);
  }
  void Ping() {
    v1::Frame frame;
    frame.set_request_id(kPing);
    frame.mutable_ping();
    stream_->Write(frame);
  }
  // Request ids of all replies until the ping's; Hello's reply has id 0.
  std::vector<uint64_t> RepliesUntilPing() {
    std::vector<uint64_t> ids;
    v1::Frame frame;
    while (stream_->Read(&frame) && frame.request_id() != kPing) ids.push_back(frame.request_id());
    return ids;
  }
  bool Read(v1::Frame& frame) { return stream_->Read(&frame); }
  void EndSending() { stream_->WritesDone(); }
  grpc::Status Finish() {
    finished_ = true;
    return stream_->Finish();
  }
  v1::ParameterServer::Stub& stub() { return *stub_; }

  static constexpr uint64_t kPing = 1'000'000;

 private:
  bool finished_ = false;
  grpc::ClientContext context_;
  std::unique_ptr<v1::ParameterServer::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Frame, v1::Frame>> stream_;
};

class FrameRelayTest : public ::testing::Test {
 protected:
  FrameRelayTest() : seed_(TestSeed(5)), trace_(SeedTrace(seed_)), relay_(seed_) {
    relay_.SetTarget(server_.address());
  }
  bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 2'000 && !condition(); ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return condition();
  }

  const uint64_t seed_;
  const std::string trace_;
  Endpoint server_;
  FrameRelay relay_;
};

TEST_F(FrameRelayTest, PassesFramesAndTheEndOfTheStreamBothWays) {
  Client client(relay_.endpoint());
  for (uint64_t i = 1; i <= 100; ++i) client.Push(i);
  client.Ping();
  EXPECT_EQ(client.RepliesUntilPing().size(), 101u);
  client.EndSending();
  const grpc::Status status = client.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE) << status.error_message();
  EXPECT_EQ(status.error_message(), "the client ended");
  EXPECT_EQ(relay_.counts().frames[0], 102u);
  EXPECT_EQ(relay_.counts().frames[1], 102u);
  EXPECT_TRUE(Eventually([&] { return relay_.live() == 0; }));
}

TEST_F(FrameRelayTest, PassesUnaryCallsOnWithTheirStatus) {
  Client client(relay_.endpoint());
  grpc::ClientContext context;
  v1::LeaveRequest request;
  request.add_slots(1);
  request.add_slots(2);
  v1::LeaveReply reply;
  const grpc::Status status = client.stub().Leave(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "2");
  EXPECT_EQ(relay_.counts().unary_calls, 1u);
}

TEST_F(FrameRelayTest, DropsAboutAsManyFramesAsThePlanSays) {
  relay_.SetPlan({.up = {.drop = 0.5}});
  Client client(relay_.endpoint());
  for (uint64_t i = 1; i <= 400; ++i) client.Push(i);
  ASSERT_TRUE(Eventually([&] { return relay_.counts().frames[0] == 401; }));
  relay_.SetPlan({});
  client.Ping();
  client.RepliesUntilPing();
  const RelayCounts counts = relay_.counts();
  EXPECT_EQ(server_.order().size() + counts.dropped[0], 400u) << trace_;
  EXPECT_NEAR(static_cast<double>(counts.dropped[0]), 200, 60) << trace_;
}

TEST_F(FrameRelayTest, DuplicatesAndReordersWithoutLosingAny) {
  relay_.SetPlan({.up = {.duplicate = 0.3, .reorder = 0.3, .hold_max = milliseconds(5)}});
  Client client(relay_.endpoint());
  for (uint64_t i = 1; i <= 200; ++i) client.Push(i);
  const auto arrived = [&] {
    const RelayCounts c = relay_.counts();
    return c.frames[0] == 201 && server_.order().size() == 200 + c.duplicated[0];
  };
  EXPECT_TRUE(Eventually(arrived)) << trace_;
  const std::vector<uint64_t> order = server_.order();
  EXPECT_GT(relay_.counts().duplicated[0], 20u) << trace_;
  EXPECT_GT(relay_.counts().reordered[0], 20u) << trace_;
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end())) << trace_;
  EXPECT_EQ(std::set<uint64_t>(order.begin(), order.end()).size(), 200u) << trace_;
}

TEST_F(FrameRelayTest, DelaysKeepTheOrder) {
  relay_.SetPlan({.up = {.delay = 0.2, .hold_max = milliseconds(5)},
                  .down = {.delay = 0.2, .hold_max = milliseconds(5)}});
  Client client(relay_.endpoint());
  for (uint64_t i = 1; i <= 200; ++i) client.Push(i);
  client.Ping();
  const std::vector<uint64_t> replies = client.RepliesUntilPing();
  EXPECT_EQ(replies.size(), 201u) << trace_;
  EXPECT_TRUE(std::is_sorted(replies.begin(), replies.end())) << trace_;
  EXPECT_GT(relay_.counts().delayed[0], 10u) << trace_;
}

TEST_F(FrameRelayTest, LosesFirstRepliesOfPushesOnlyOnceAndOnlyAfterTheyWereApplied) {
  relay_.SetPlan({.lose_first_push_reply = 0.4});
  Client client(relay_.endpoint());
  std::map<uint64_t, int> replies;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 1; i <= 200; ++i) client.Push(i);
    client.Ping();
    for (const uint64_t id : client.RepliesUntilPing()) ++replies[id];
  }
  EXPECT_EQ(server_.order().size(), 400u);
  const RelayCounts counts = relay_.counts();
  EXPECT_EQ(counts.first_push_replies, 200u);
  EXPECT_NEAR(static_cast<double>(counts.first_push_replies_lost), 80, 35) << trace_;
  EXPECT_EQ(counts.repeated_pushes, 200u);
  uint64_t once = 0;
  for (uint64_t i = 1; i <= 200; ++i) {
    EXPECT_GE(replies[i], 1) << "the second reply always arrives";
    once += replies[i] == 1 ? 1 : 0;
  }
  EXPECT_EQ(once, counts.first_push_replies_lost);
}

TEST_F(FrameRelayTest, ACutEndsTheStreamAsABrokenConnectionDoes) {
  Client client(relay_.endpoint());
  v1::Frame frame;
  ASSERT_TRUE(client.Read(frame));
  EXPECT_TRUE(relay_.CutOne());
  EXPECT_FALSE(client.Read(frame));
  EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Eventually([&] { return relay_.live() == 0; }));
  EXPECT_FALSE(relay_.CutOne());
  EXPECT_EQ(relay_.counts().cuts, 1u);
}

TEST_F(FrameRelayTest, ManyStreamsUnderEveryFaultAndCutsAllEnd) {
  const FrameFaults faults{
      .drop = 0.1, .duplicate = 0.1, .delay = 0.1, .reorder = 0.1, .hold_max = milliseconds(3)};
  relay_.SetPlan({.up = faults, .down = faults, .lose_first_push_reply = 0.2});
  std::vector<std::thread> clients;
  for (uint64_t c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (int life = 0; life < 5; ++life) {
        Client client(relay_.endpoint(), c);
        std::thread reader([&] {
          v1::Frame frame;
          while (client.Read(frame)) {
          }
        });
        for (uint64_t i = 1; client.Push(i); ++i) {
        }
        reader.join();
      }
    });
  }
  int cuts = 0;
  EXPECT_TRUE(Eventually([&] { return (cuts += relay_.CutOne() ? 1 : 0) == 20; }));
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(Eventually([&] { return relay_.live() == 0; }));
}

TEST_F(FrameRelayTest, AServerThatIsAwayMakesTheStreamUnavailable) {
  relay_.SetTarget("127.0.0.1:1");
  Client client(relay_.endpoint());
  v1::Frame frame;
  EXPECT_FALSE(client.Read(frame));
  EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace syncline
