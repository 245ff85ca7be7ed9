#include "server/ps_server.h"

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"

#include "common/hash.h"
#include "common/net/channel_factory.h"
#include "common/net/status_grpc.h"
#include "proto/coordinator.grpc.pb.h"
#include "proto/parameter_server.grpc.pb.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_cluster.h"

namespace syncline {
namespace {

using ::testing::AnyOf;

std::string Bytes(const void* data, size_t size) {
  return std::string(static_cast<const char*>(data), size);
}

// A client made of generated stubs and unary calls alone (proto/README.md, "A simple client").
class SimpleClient {
 public:
  explicit SimpleClient(TestCluster& cluster)
      : coordinator_(v1::Coordinator::NewStub(*MakeChannel(cluster.coordinator()))) {
    v1::CreateJobRequest job;
    job.mutable_spec()->set_name("job");
    job.mutable_spec()->set_ranks(1);
    v1::JobInfo job_info;
    Call([&](auto* c) { return coordinator_->CreateJob(c, job, &job_info); });
    v1::OpenSessionRequest open;
    open.set_job("job");
    open.set_clocked(true);
    open.set_rank(0);
    open.set_nonce("once");
    Call([&](auto* c) { return coordinator_->OpenSession(c, open, &session_); });
    v1::CreateTableRequest create;
    create.set_job("job");
    create.mutable_spec()->set_name("t");
    create.mutable_spec()->set_dim(1);
    create.mutable_spec()->set_reduce(v1::SUM);
    create.mutable_spec()->mutable_optimizer()->set_name("sgd");
    (*create.mutable_spec()->mutable_optimizer()->mutable_arguments())["lr"] = 1;
    Call([&](auto* c) { return coordinator_->CreateTable(c, create, &table_); });
    for (const v1::ServerAddress& server : session_.map().servers()) {
      servers_.push_back(v1::ParameterServer::NewStub(*MakeChannel(server.endpoint())));
    }
  }

  v1::Outcome Push(Key key, float gradient) {
    const uint32_t slot = SlotOfKey(key);
    v1::PushRequest push;
    *push.mutable_header() = Header();
    push.set_table(table_.id());
    push.set_codec(1);
    push.set_samples(1);
    v1::PushPart& part = *push.add_parts();
    part.set_slot(slot);
    part.set_incarnation(1);
    part.set_sequence(++sequences_[slot]);
    part.set_keys(Bytes(&key, sizeof(key)));
    part.set_values(Bytes(&gradient, sizeof(gradient)));
    v1::PushReply reply;
    Call([&](auto* c) { return Owner(slot).Push(c, push, &reply); });
    return reply.parts_size() == 1 ? reply.parts(0).outcome() : v1::OUTCOME_UNSPECIFIED;
  }

  float Pull(Key key) {
    const uint32_t slot = SlotOfKey(key);
    v1::PullRequest pull;
    *pull.mutable_header() = Header();
    pull.set_table(table_.id());
    pull.set_codec(1);
    v1::PullPart& part = *pull.add_parts();
    part.set_slot(slot);
    part.set_incarnation(1);
    part.set_sequence(sequences_[slot]);
    part.set_keys(Bytes(&key, sizeof(key)));
    v1::PullReply reply;
    Call([&](auto* c) { return Owner(slot).Pull(c, pull, &reply); });
    float value = 0;
    if (reply.parts_size() == 1) std::memcpy(&value, reply.parts(0).values().data(), sizeof(value));
    return value;
  }

  const std::string& OwnerOf(Key key) const {
    const v1::ClusterMap& map = session_.map();
    const uint32_t server = map.slots(static_cast<int>(SlotOfKey(key))).server();
    return map.servers(static_cast<int>(server)).endpoint();
  }
  const absl::Status& last_status() const { return status_; }

 private:
  template <typename Fn>
  void Call(Fn fn) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(gpr_time_from_seconds(10, GPR_TIMESPAN));
    status_ = FromGrpc(fn(&context));
  }
  uint32_t SlotOfKey(Key key) const {
    return SlotOf(TableId(table_.id()), key, session_.map().slot_count()).value();
  }
  v1::ParameterServer::Stub& Owner(uint32_t slot) {
    return *servers_[session_.map().slots(static_cast<int>(slot)).server()];
  }
  v1::OperationHeader Header() const {
    v1::OperationHeader header;
    header.set_session_high(session_.session_high());
    header.set_session_low(session_.session_low());
    header.set_token(session_.token());
    header.set_epoch(session_.map().epoch());
    return header;
  }

  std::unique_ptr<v1::Coordinator::Stub> coordinator_;
  std::vector<std::unique_ptr<v1::ParameterServer::Stub>> servers_;
  v1::OpenSessionReply session_;
  v1::TableInfo table_;
  std::map<uint32_t, uint64_t> sequences_;
  absl::Status status_;
};

TEST(PsServerTest, AClientOfGeneratedStubsTrainsOverTwoServers) {
  TestCluster cluster({.servers = 2});
  SimpleClient client(cluster);
  ASSERT_OK(client.last_status());
  std::set<std::string> owners;
  for (Key key = 0; key < 20; ++key) {
    EXPECT_EQ(client.Push(key, 1.5f), v1::OK) << client.last_status();
    EXPECT_EQ(client.Push(key, 1.0f), v1::OK) << client.last_status();
    EXPECT_EQ(client.Pull(key), -2.5f) << client.last_status();
    owners.insert(client.OwnerOf(key));
  }
  EXPECT_EQ(owners.size(), 2u);
}

TEST(PsServerTest, ARestartedServerNeverServesFreshRowsToAnOldSession) {
  TestCluster cluster({.servers = 2});
  SimpleClient client(cluster);
  Key key = 0;
  while (client.OwnerOf(key) != cluster.endpoint(1)) ++key;
  ASSERT_EQ(client.Push(key, 1.0f), v1::OK);
  cluster.Stop(1);
  cluster.Restart(1);
  EXPECT_THAT(client.Push(key, 1.0f),
              AnyOf(v1::GONE_SESSION_UNKNOWN, v1::GONE_SESSION_LOST, v1::GONE_FENCED));
  EXPECT_EQ(client.Pull(key), 0);  // no rows came: the call failed
  EXPECT_THAT(DetailOf(client.last_status()),
              AnyOf(Detail::kSessionUnknown, Detail::kSessionLost, Detail::kFenced));
}

TEST(PsServerTest, AServerThatStopsRefusesAndEndsInTime) {
  TestCluster cluster;
  SimpleClient client(cluster);
  const SystemTimeSource time;
  const MonotonicTime began = time.Now();
  cluster.server(0).Shutdown();
  EXPECT_EQ(cluster.server(0).state().NotReadyReason(), "the server is stopping");
  EXPECT_LT(time.Now() - began, std::chrono::seconds(10));
}

TEST(PsServerTest, APortInUseIsAnError) {
  TestCluster cluster;
  ServerConfig config;
  config.listen = cluster.endpoint(0);
  config.coordinator = cluster.coordinator();
  const SystemTimeSource time;
  SystemRandom random;
  EXPECT_THAT(PsServer::Start(config, time, random).status(),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr(config.listen)));
}

}  // namespace
}  // namespace syncline
