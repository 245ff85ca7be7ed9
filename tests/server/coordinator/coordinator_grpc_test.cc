// The hosted coordinator over loopback gRPC: service, sender, registration, runner.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

#include "common/net/channel_factory.h"
#include "common/net/status_grpc.h"
#include "common/random.h"
#include "common/thread/mutex.h"
#include "common/time_source.h"
#include "proto/coordinator.grpc.pb.h"
#include "server/coordinator/coordinator_host.h"
#include "server/coordinator/registration.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace syncline::coordinator {
namespace {

using ::testing::HasSubstr;

// Answers every command, installs with a clock of its own.
class FakeControl final : public v1::ServerControl::Service {
 public:
  explicit FakeControl(int64_t clock) : clock_(clock) {}

  grpc::Status Execute(grpc::ServerContext*, const v1::Command* command,
                       v1::CommandReply* reply) override {
    MutexLock lock(mutex_);
    if (command->number() == 1) last_ = 0;
    if (command->number() > last_ + 1) return {grpc::StatusCode::OUT_OF_RANGE, "not the next"};
    last_ = std::max(last_, command->number());
    seen_[command->body_case()] += 1;
    if (command->has_install()) reply->set_clock(clock_);
    reply->set_last(last_);
    return grpc::Status::OK;
  }
  int Seen(v1::Command::BodyCase kind) {
    MutexLock lock(mutex_);
    return seen_[kind];
  }
  uint64_t last() {
    MutexLock lock(mutex_);
    return last_;
  }

 private:
  const int64_t clock_;
  Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::map<v1::Command::BodyCase, int> seen_ GUARDED_BY(mutex_);
};

// A process with a control port that registers at the coordinator.
class Node {
 public:
  Node(const std::string& name, const std::string& coordinator, int64_t clock, uint64_t boot)
      : control_(clock) {
    grpc::ServerBuilder builder;
    ApplyServerDefaults(builder);
    int port = 0;
    EXPECT_OK(AddListener(builder, "127.0.0.1:0", {}, &port));
    builder.RegisterService(&control_);
    server_ = builder.BuildAndStart();
    RegistrationOptions options;
    options.coordinator = coordinator;
    options.server = {name, "127.0.0.1:" + std::to_string(port), boot, "test"};
    auto started =
        Registration::Start(options, {[this] { return control_.last(); },
                                      [this](const RegisterResult& r) { Registered(r); }, nullptr});
    EXPECT_OK(started);
    registration_ = std::move(started).value();
  }
  ~Node() {
    registration_->Stop();
    server_->Shutdown();
  }

  FakeControl& control() { return control_; }
  int registrations() {
    MutexLock lock(mutex_);
    return registrations_;
  }

 private:
  void Registered(const RegisterResult&) {
    MutexLock lock(mutex_);
    ++registrations_;
  }

  FakeControl control_;
  Mutex mutex_;
  int registrations_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Registration> registration_;
};

class CoordinatorGrpcTest : public ::testing::Test {
 protected:
  CoordinatorGrpcTest() { StartHost(0); }
  ~CoordinatorGrpcTest() override { StopHost(); }

  void StartHost(int port) {
    HostOptions options;
    options.directory = dir_.Sub("meta");
    options.server = "ps-0";
    options.core.servers_expected = 2;
    options.core.slot_count = 16;
    auto started = CoordinatorHost::Start(options, time_, random_);
    ASSERT_OK(started);
    host_ = std::move(started).value();
    grpc::ServerBuilder builder;
    ApplyServerDefaults(builder);
    ASSERT_OK(AddListener(builder, "127.0.0.1:" + std::to_string(port), {}, &port_));
    builder.RegisterService(host_->service());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    ASSERT_OK_AND_ASSIGN(const auto channel, MakeChannel(endpoint(), {.own_connection = true}));
    stub_ = v1::Coordinator::NewStub(channel);
  }
  void StopHost() {
    host_->Stop();
    server_->Shutdown();
    server_.reset();
    host_.reset();
  }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

  template <typename Request, typename Reply>
  absl::Status Call(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Reply*),
                    const Request& request, Reply* reply) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(gpr_time_from_millis(15'000, GPR_TIMESPAN));
    return FromGrpc((stub_.get()->*method)(&context, request, reply));
  }
  absl::StatusOr<v1::OpenSessionReply> Join(const std::string& job, int rank,
                                            const std::string& nonce) {
    v1::OpenSessionRequest request;
    request.set_job(job);
    request.set_clocked(true);
    request.set_rank(rank);
    request.set_nonce(nonce);
    v1::OpenSessionReply reply;
    RETURN_IF_ERROR(Call(&v1::Coordinator::Stub::OpenSession, request, &reply));
    return reply;
  }
  absl::Status CreateJob(const std::string& name, uint32_t ranks) {
    v1::CreateJobRequest request;
    request.mutable_spec()->set_name(name);
    request.mutable_spec()->set_ranks(ranks);
    v1::JobInfo reply;
    return Call(&v1::Coordinator::Stub::CreateJob, request, &reply);
  }
  v1::ClusterMap WaitForMap() {
    v1::ClusterMap map;
    for (int i = 0; i < 500 && map.epoch() == 0; ++i) {
      EXPECT_OK(Call(&v1::Coordinator::Stub::GetMap, v1::GetMapRequest(), &map));
      if (map.epoch() == 0) Pause();
    }
    return map;
  }
  static void Pause() {
    Mutex mutex;
    CondVar never;
    MutexLock lock(mutex);
    never.WaitFor(mutex, std::chrono::milliseconds(20));
  }

  TempDir dir_;
  SystemTimeSource time_;
  SystemRandom random_;
  int port_ = 0;
  std::unique_ptr<CoordinatorHost> host_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

TEST_F(CoordinatorGrpcTest, AClusterFormsATableIsMadeAndAWorkerJoins) {
  Node zero("ps-0", endpoint(), 3, 100);
  Node one("ps-1", endpoint(), 8, 200);
  const v1::ClusterMap map = WaitForMap();
  ASSERT_EQ(map.servers_size(), 2);
  ASSERT_EQ(map.slots_size(), 16);
  ASSERT_OK(CreateJob("job", 1));

  v1::CreateTableRequest table;
  table.set_job("job");
  table.mutable_spec()->set_name("emb");
  table.mutable_spec()->set_dim(8);
  table.mutable_spec()->mutable_optimizer()->set_name("sgd");
  (*table.mutable_spec()->mutable_optimizer()->mutable_arguments())["lr"] = 0.1;
  v1::TableInfo info;
  ASSERT_OK(Call(&v1::Coordinator::Stub::CreateTable, table, &info));
  EXPECT_GT(info.id(), 0u);
  EXPECT_GE(zero.control().Seen(v1::Command::kCreateTable), 1);
  EXPECT_GE(one.control().Seen(v1::Command::kCreateTable), 1);
  table.mutable_spec()->set_dim(9);
  EXPECT_THAT(Call(&v1::Coordinator::Stub::CreateTable, table, &info),
              HasDetail(Detail::kSpecDiffers));
  table.mutable_spec()->set_name("bad");
  table.mutable_spec()->mutable_optimizer()->set_name("sgdd");
  EXPECT_THAT(Call(&v1::Coordinator::Stub::CreateTable, table, &info),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sgdd")));

  ASSERT_OK_AND_ASSIGN(const v1::OpenSessionReply joined, Join("job", 0, "n"));
  EXPECT_EQ(joined.clock(), 8);
  EXPECT_EQ(joined.map().epoch(), 1u);
  EXPECT_EQ(zero.control().Seen(v1::Command::kSetClock), 1);
  EXPECT_THAT(Join("job", 0, "other"), StatusIs(absl::StatusCode::kAlreadyExists));

  v1::HeartbeatRequest beat;
  beat.set_session_high(joined.session_high());
  beat.set_session_low(joined.session_low());
  beat.set_token(joined.token());
  v1::HeartbeatReply beaten;
  ASSERT_OK(Call(&v1::Coordinator::Stub::Heartbeat, beat, &beaten));
  EXPECT_EQ(beaten.lease_ms(), joined.lease_ms());

  v1::ListServersReply servers;
  ASSERT_OK(Call(&v1::Coordinator::Stub::ListServers, v1::ListServersRequest(), &servers));
  ASSERT_EQ(servers.servers_size(), 2);
  for (const auto& server : servers.servers()) {
    EXPECT_EQ(server.coordinator(), server.address().name() == "ps-0");
  }
}

TEST_F(CoordinatorGrpcTest, ServersRegisterAgainAtARestartedCoordinatorAndTheSessionLives) {
  Node zero("ps-0", endpoint(), 0, 100);
  Node one("ps-1", endpoint(), 0, 200);
  WaitForMap();
  ASSERT_OK(CreateJob("job", 1));
  ASSERT_OK_AND_ASSIGN(const v1::OpenSessionReply joined, Join("job", 0, "n"));
  const std::string cluster = host_->cluster();
  StopHost();
  StartHost(port_);
  EXPECT_EQ(host_->cluster(), cluster);
  for (int i = 0; i < 500 && zero.registrations() + one.registrations() < 4; ++i) Pause();
  EXPECT_EQ(zero.registrations(), 2);
  EXPECT_EQ(one.registrations(), 2);
  ASSERT_OK_AND_ASSIGN(const v1::OpenSessionReply again, Join("job", 0, "n"));
  EXPECT_EQ(again.session_high(), joined.session_high());
  EXPECT_EQ(again.map().slots(0).incarnation(), 1u);
}

TEST_F(CoordinatorGrpcTest, StoppingAnswersRequestsThatWait) {
  Node zero("ps-0", endpoint(), 0, 100);
  {
    Node one("ps-1", endpoint(), 0, 200);
    WaitForMap();
    ASSERT_OK(CreateJob("job", 1));
  }  // server 1 is gone: the join waits for it
  absl::Status joined;
  Thread worker("join", [&] { joined = Join("job", 0, "n").status(); });
  for (int i = 0; i < 500 && zero.control().Seen(v1::Command::kInstall) == 0; ++i) Pause();
  host_->Stop();
  worker.Join();
  EXPECT_THAT(joined, StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace syncline::coordinator
