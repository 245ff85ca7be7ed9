#include "server/service/data_service.h"

#include <thread>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/codegen/sync_stream.h"

#include "common/net/channel_factory.h"
#include "common/net/status_grpc.h"
#include "server/service/admin_services.h"
#include "server/service/grpc_listener.h"
#include "tests/server/service/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using RawStream = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// The services behind a real port.
class ListeningServer {
 public:
  explicit ListeningServer(int32_t ranks = 1) {
    server.SetUp(ranks);
    listener = *GrpcListener::Start("127.0.0.1:0", false, {&data, &control, &admin});
    channel = *MakeChannel(listener->endpoint());
    stub = v1::ParameterServer::NewStub(channel);
  }

  TestServer server;
  DataService data{server.operations, server.timers, server.probe};
  ControlService control{server.commands};
  AdminService admin{server.admin};
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::ParameterServer::Stub> stub;
  std::unique_ptr<GrpcListener> listener;
};

// A client's stream of generated messages.
class Stream {
 public:
  explicit Stream(ListeningServer& to, bool greet = true) : stream_(to.stub->Exchange(&context_)) {
    if (!greet) return;
    v1::Frame hello;
    hello.mutable_hello()->set_version_max(1);
    EXPECT_EQ(Ask(hello).hello_reply().boot(), kBoot);
  }

  void Send(const v1::Frame& frame) { EXPECT_TRUE(stream_->Write(frame)); }
  v1::Frame Next() {
    v1::Frame frame;
    EXPECT_TRUE(stream_->Read(&frame));
    return frame;
  }
  v1::Frame Ask(const v1::Frame& frame) {
    Send(frame);
    return Next();
  }
  absl::Status Finish() {
    v1::Frame rest;
    while (stream_->Read(&rest)) {
    }
    return FromGrpc(stream_->Finish());
  }
  absl::Status CloseAndFinish() {
    stream_->WritesDone();
    return Finish();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Frame, v1::Frame>> stream_;
};

v1::Frame Ping(uint64_t id) {
  v1::Frame frame;
  frame.set_request_id(id);
  frame.mutable_ping();
  return frame;
}

TEST(DataServiceTest, PushesAndPullsTravelOverAStream) {
  ListeningServer to;
  const v1::OperationHeader alice = to.server.Join(0);
  Stream stream(to);
  v1::Frame push;
  push.set_request_id(7);
  *push.mutable_push() = TestServer::Push(alice, 5, 1, 1);
  const v1::Frame pushed = stream.Ask(push);
  EXPECT_EQ(pushed.request_id(), 7u);
  EXPECT_EQ(pushed.push_reply().parts(0).outcome(), v1::OK);
  v1::Frame pull;
  *pull.mutable_pull() = TestServer::Pull(alice, 5, 1);
  EXPECT_THAT(FloatsOf(stream.Ask(pull).pull_reply().parts(0).values()), ElementsAre(-1, -1));
  EXPECT_OK(stream.CloseAndFinish());
}

TEST(DataServiceTest, ALargePullArrivesWhole) {
  ListeningServer to;
  const v1::OperationHeader alice = to.server.Join(0);
  std::vector<Key> keys;  // 20,000 rows of 8 bytes in one slot
  for (Key key = 0; keys.size() < 20'000; ++key) {
    if (TestServer::SlotOfKey(key) == 2) keys.push_back(key);
  }
  v1::PushRequest push = TestServer::Push(alice, keys[0], 0, 1);
  push.mutable_parts(0)->set_keys(KeyBytes(keys));
  std::vector<float> gradients;
  for (size_t i = 0; i < keys.size() * kDim; ++i) gradients.push_back(-static_cast<float>(i));
  push.mutable_parts(0)->set_values(FloatBytes(gradients));
  Stream stream(to);
  v1::Frame frame;
  *frame.mutable_push() = push;
  ASSERT_EQ(stream.Ask(frame).push_reply().parts(0).outcome(), v1::OK);
  *frame.mutable_pull() = TestServer::Pull(alice, keys[0], 1);
  frame.mutable_pull()->mutable_parts(0)->set_keys(KeyBytes(keys));
  const std::vector<float> rows = FloatsOf(stream.Ask(frame).pull_reply().parts(0).values());
  ASSERT_THAT(rows, SizeIs(keys.size() * kDim));
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], static_cast<float>(i));
}

TEST(DataServiceTest, AStreamThatDoesNotSayHelloEnds) {
  ListeningServer to;
  Stream stream(to, /*greet=*/false);
  stream.Send(Ping(1));
  EXPECT_THAT(stream.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition));
  Stream other(to);  // the server goes on
  EXPECT_EQ(other.Ask(Ping(3)).request_id(), 3u);
}

TEST(DataServiceTest, BytesThatAreNoFrameEndTheStream) {
  ListeningServer to;
  const grpc::internal::RpcMethod method("/syncline.v1.ParameterServer/Exchange",
                                         grpc::internal::RpcMethod::BIDI_STREAMING);
  grpc::ClientContext context;
  std::unique_ptr<RawStream> stream(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
          to.channel.get(), method, &context));
  const grpc::Slice garbage("\x0b\xff\xff\xff");
  EXPECT_TRUE(stream->Write(grpc::ByteBuffer(&garbage, 1)));
  grpc::ByteBuffer none;
  EXPECT_FALSE(stream->Read(&none));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DATA_LOSS);
}

TEST(DataServiceTest, AMessageAboveTheLimitIsRefusedAndTheServerLives) {
  ListeningServer to;
  const v1::OperationHeader alice = to.server.Join(0);
  v1::PushRequest push = TestServer::Push(alice, 5, 1, 1);
  push.mutable_parts(0)->set_values(std::string(8 << 20, 'x'));
  grpc::ClientContext context;
  v1::PushReply reply;
  // The client's own limit would stop it: ask through a channel without one.
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  const auto channel = grpc::CreateCustomChannel(to.listener->endpoint(),
                                                 grpc::InsecureChannelCredentials(), arguments);
  const grpc::Status status = v1::ParameterServer::NewStub(channel)->Push(&context, push, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  Stream stream(to);
  EXPECT_EQ(stream.Ask(Ping(3)).request_id(), 3u);
}

TEST(DataServiceTest, FramesBeyondTheCapWaitAndAreAllAnswered) {
  ListeningServer to;
  Stream stream(to);
  constexpr uint64_t kFrames = 5 * kMaxFramesInFlightPerStream;
  std::thread writer([&] {
    for (uint64_t i = 1; i <= kFrames; ++i) stream.Send(Ping(i));
  });
  uint64_t sum = 0;
  for (uint64_t i = 1; i <= kFrames; ++i) sum += stream.Next().request_id();
  writer.join();
  EXPECT_EQ(sum, kFrames * (kFrames + 1) / 2);
  EXPECT_OK(stream.CloseAndFinish());
}

TEST(DataServiceTest, BytesBeyondTheCapWaitAndAreAllAnswered) {
  ListeningServer to;
  const v1::OperationHeader header = to.server.Join(0);
  Stream stream(to);
  v1::Frame push;
  *push.mutable_push() = TestServer::Push(header, 7, 1, 1);
  push.mutable_push()->mutable_parts(0)->set_values(std::string(kMaxFrameBytes * 3 / 4, 'x'));
  const size_t frames = 2 * kMaxBytesInFlightPerStream / push.ByteSizeLong();
  std::thread writer([&] {
    for (size_t i = 0; i < frames; ++i) stream.Send(push);
  });
  for (size_t i = 0; i < frames; ++i) EXPECT_TRUE(stream.Next().has_push_reply());
  writer.join();
  EXPECT_OK(stream.CloseAndFinish());
}

TEST(DataServiceTest, ParkedPullsEndWithTheirStream) {
  ListeningServer to(/*ranks=*/2);
  const v1::OperationHeader alice = to.server.Join(0);  // rank 1 never joins: no read is served
  {
    Stream stream(to);
    v1::Frame pull;
    *pull.mutable_pull() = TestServer::Pull(alice, 5, 0);
    for (int i = 0; i < 3; ++i) stream.Send(pull);
    while (to.server.host.parked_reads() < 3) std::this_thread::yield();
    stream.Cancel();
    EXPECT_THAT(stream.Finish(), StatusIs(absl::StatusCode::kCancelled));
  }
  while (to.server.host.parked_reads() > 0) std::this_thread::yield();
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_millis(100, GPR_TIMESPAN));
  v1::PullReply reply;
  EXPECT_FALSE(to.stub->Pull(&context, TestServer::Pull(alice, 5, 0), &reply).ok());
  while (to.server.host.parked_reads() > 0) std::this_thread::yield();
}

TEST(DataServiceTest, SimpleClientsUseUnaryCalls) {
  ListeningServer to;
  const v1::OperationHeader alice = to.server.Join(0);
  v1::PushReply pushed;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(to.stub->Push(&context, TestServer::Push(alice, 5, 3, 1), &pushed).ok());
  }
  EXPECT_EQ(pushed.parts(0).outcome(), v1::OK);
  v1::PullReply pulled;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(to.stub->Pull(&context, TestServer::Pull(alice, 5, 1), &pulled).ok());
  }
  EXPECT_THAT(FloatsOf(pulled.parts(0).values()), Each(-3.0f));
  {
    grpc::ClientContext context;
    v1::TickRequest bad = TestServer::Tick(alice, 1, 2);
    bad.add_slots(0);
    v1::TickReply ticked;
    const absl::Status status = FromGrpc(to.stub->Tick(&context, bad, &ticked));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  }
  {
    grpc::ClientContext context;
    const absl::Status status =
        FromGrpc(to.stub->Pull(&context, TestServer::Pull({}, 5, 0), &pulled));
    EXPECT_THAT(status, HasDetail(Detail::kSessionUnknown));
  }
}

TEST(DataServiceTest, OperatorsAskAndTheCoordinatorCommandsOverTheSamePort) {
  ListeningServer to;
  grpc::ClientContext context;
  v1::ServerStatus status;
  ASSERT_TRUE(v1::Admin::NewStub(to.channel)->GetServerStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.slots(), kSlotCount);
  grpc::ClientContext other;
  v1::CommandReply reply;
  const grpc::Status refused = v1::ServerControl::NewStub(to.channel)->Execute(&other, {}, &reply);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);  // another boot
}

}  // namespace
}  // namespace syncline
