#include "common/net/channel_factory.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/server.h"
#include "gtest/gtest.h"

#include "common/net/status_grpc.h"
#include "proto/parameter_server.grpc.pb.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

// gRPC reads a span as a deadline from now on.
gpr_timespec In(int milliseconds) { return gpr_time_from_millis(milliseconds, GPR_TIMESPAN); }
using ::testing::HasSubstr;

// Answers a pull with the number of bytes that its first part's keys have.
class EchoService final : public v1::ParameterServer::Service {
 public:
  grpc::Status Pull(grpc::ServerContext*, const v1::PullRequest* request,
                    v1::PullReply* reply) override {
    if (request->table() == 404) {
      return ToGrpc(MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable, "table 404"));
    }
    reply->set_checkpoint(request->parts_size() > 0 ? request->parts(0).keys().size() : 0);
    return grpc::Status::OK;
  }
};

struct TestServer {
  explicit TestServer(const std::string& endpoint = "127.0.0.1:0") {
    grpc::ServerBuilder builder;
    ApplyServerDefaults(builder);
    EXPECT_OK(AddListener(builder, endpoint, {}, &port));
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
  }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port); }

  EchoService service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

absl::Status Pull(const std::string& endpoint, const v1::PullRequest& request, v1::PullReply& reply,
                  grpc_compression_algorithm algorithm = GRPC_COMPRESS_NONE,
                  std::shared_ptr<grpc::Channel> channel = nullptr) {
  if (channel == nullptr) channel = MakeChannel(endpoint).value();
  grpc::ClientContext context;
  context.set_deadline(In(5'000));
  context.set_compression_algorithm(algorithm);
  return FromGrpc(v1::ParameterServer::NewStub(channel)->Pull(&context, request, &reply), endpoint);
}

TEST(IsLocalEndpointTest, KnowsWhatStaysOnThisHost) {
  for (const char* local :
       {"localhost:1", "127.0.0.1:80", "127.9.8.7:1", "[::1]:5", "unix:/tmp/s", "unix:s"}) {
    EXPECT_TRUE(IsLocalEndpoint(local)) << local;
  }
  for (const char* remote : {"", "0.0.0.0:1", "10.0.0.1:1", "[::]:1", "127.example.org:1",
                             "localhost.example.org:1", "host:1", "dns:///localhost:1"}) {
    EXPECT_FALSE(IsLocalEndpoint(remote)) << remote;
  }
}

TEST(ChannelFactoryTest, RefusesWhatIsNoAddress) {
  for (const char* good : {"h:1", "127.0.0.1:65535", "[::1]:0", "unix:/tmp/s"}) {
    EXPECT_TRUE(IsEndpoint(good)) << good;
  }
  for (const char* bad :
       {"", "host", ":1", "h:", "h:65536", "h:99999999999", "h:-1", "h:7x", "h: 1", "unix:"}) {
    EXPECT_FALSE(IsEndpoint(bad)) << bad;
    EXPECT_THAT(MakeChannel(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("host:port")));
    grpc::ServerBuilder builder;
    EXPECT_THAT(AddListener(builder, bad, {}, nullptr),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(ChannelFactoryTest, RefusesPlaintextBeyondThisHost) {
  EXPECT_THAT(MakeChannel("10.0.0.1:1"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("allow_plaintext")));
  EXPECT_THAT(MakeChannel(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(MakeChannel("10.0.0.1:1", {.allow_plaintext = true}));
  grpc::ServerBuilder builder;
  EXPECT_THAT(AddListener(builder, "0.0.0.0:0", {}, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(ChannelFactoryTest, CarriesCallsAndTypedErrors) {
  const TestServer server;
  v1::PullRequest request;
  v1::PullReply reply;
  request.add_parts()->set_keys(std::string(24, 'k'));
  ASSERT_OK(Pull(server.endpoint(), request, reply));
  EXPECT_EQ(reply.checkpoint(), 24u);
  request.set_table(404);
  const absl::Status status = Pull(server.endpoint(), request, reply);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr(server.endpoint())));
  EXPECT_THAT(status, HasDetail(Detail::kUnknownTable));
}

TEST(ChannelFactoryTest, RefusesMessagesAboveTheLimitAtBothEnds) {
  const TestServer server;
  v1::PullRequest request;
  v1::PullReply reply;
  request.add_parts()->set_keys(std::string(kMaxFrameBytes + 1, 'k'));
  EXPECT_THAT(Pull(server.endpoint(), request, reply),
              StatusIs(absl::StatusCode::kResourceExhausted));
  // A client without our limits.
  const auto channel = grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials());
  EXPECT_THAT(Pull(server.endpoint(), request, reply, GRPC_COMPRESS_NONE, channel),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(ChannelFactoryTest, ServersRefuseCompressedMessages) {
  const TestServer server;
  v1::PullRequest request;
  v1::PullReply reply;
  request.add_parts()->set_keys(std::string(100'000, 'k'));
  const auto channel = grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials());
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    EXPECT_THAT(Pull(server.endpoint(), request, reply, algorithm, channel),
                StatusIs(absl::StatusCode::kUnimplemented));
  }
}

TEST(ChannelFactoryTest, ConnectsSoonAfterARefusingServerIsThere) {
  std::string endpoint;
  int port = 0;
  {
    const TestServer gone;
    endpoint = gone.endpoint();
    port = gone.port;
  }
  const auto channel = MakeChannel(endpoint).value();
  // Several refused attempts, so that back-off has grown.
  EXPECT_FALSE(channel->WaitForConnected(In(400)));
  const TestServer back("127.0.0.1:" + std::to_string(port));
  ASSERT_EQ(back.port, port);
  EXPECT_TRUE(channel->WaitForConnected(In(2'000)));
}

TEST(ChannelFactoryTest, ASecondServerOnAPortFails) {
  const TestServer first;
  grpc::ServerBuilder builder;
  ApplyServerDefaults(builder);
  int port = -1;
  EXPECT_OK(AddListener(builder, first.endpoint(), {}, &port));
  EchoService service;
  builder.RegisterService(&service);
  const auto second = builder.BuildAndStart();
  EXPECT_TRUE(second == nullptr || port == 0);
}

}  // namespace
}  // namespace syncline
