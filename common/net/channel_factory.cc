#include "common/net/channel_factory.h"

#include <charconv>
#include <system_error>

#include "grpc/impl/codegen/compression_types.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

#include "common/status/status.h"

namespace syncline {
namespace {

// Bit 0 of gRPC's sets of compression algorithms: none.
constexpr int kOnlyUncompressed = 1 << GRPC_COMPRESS_NONE;

int Milliseconds(std::chrono::milliseconds d) { return static_cast<int>(d.count()); }

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// TLS will enter here and nowhere else.
absl::Status CheckPlaintext(std::string_view endpoint, bool allowed) {
  if (!IsEndpoint(endpoint)) {
    return InvalidArgument("'{}' is not an address; write host:port with a port up to 65535",
                           endpoint);
  }
  if (allowed || IsLocalEndpoint(endpoint)) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                   "{}: plaintext is allowed only on loopback and unix sockets; "
                   "use one of these, or set allow_plaintext on a network that you trust",
                   endpoint);
}

grpc::ChannelArguments ArgumentsOf(const ConnectionOptions& options) {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(static_cast<int>(kMaxFrameBytes));
  args.SetMaxSendMessageSize(static_cast<int>(kMaxFrameBytes));
  args.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, kOnlyUncompressed);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, Milliseconds(kReconnectBackoffMin));
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(kReconnectBackoffMax));
  // Despite its name: the least time that one attempt to connect gets.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Milliseconds(options.connect_timeout));
  // A server that moved has another address under its name; the default waits 30 s to look.
  args.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, Milliseconds(kReconnectBackoffMax));
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  args.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // 0: no bound
  // Retrying is the client library's business: only it knows sequences (S3).
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (options.own_connection) args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return args;
}

// gRPC keeps the threads that run callbacks for as long as a channel (or server) uses them, and
// ends them with the last one. When a callback itself lets the last channel go, as a stream's
// OnDone may, its thread waits for itself and memory is freed twice (seen with 1.51). One channel
// that leads nowhere and is never destroyed uses them for as long as the process lives.
void KeepCallbackThreads() {
  using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;
  struct Anchor {
    Stub stub{grpc::CreateChannel("nowhere", nullptr)};  // without credentials: every call fails
    grpc::ClientContext context;
    grpc::Slice nothing;
    grpc::ByteBuffer request{&nothing, 1};
    grpc::ByteBuffer reply;
  };
  [[maybe_unused]] static Anchor* const anchor = [] {
    auto* made = new Anchor;
    made->stub.UnaryCall(&made->context, "/nowhere", {}, &made->request, &made->reply,
                         [](const grpc::Status&) {});
    return made;
  }();
}

}  // namespace

bool IsEndpoint(std::string_view text) {
  if (StartsWith(text, "unix:")) return text.size() > 5;
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return false;
  const std::string_view port = text.substr(colon + 1);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() && number <= UINT16_MAX;
}

bool IsLocalEndpoint(std::string_view endpoint) {
  if (StartsWith(endpoint, "unix:") || StartsWith(endpoint, "[::1]:")) return true;
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  if (host == "localhost") return true;
  // A dotted number, not a name that begins like one (127.example.org).
  return StartsWith(host, "127.") && host.find_first_not_of("0123456789.") == host.npos;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& endpoint,
                                                           const ConnectionOptions& options) {
  RETURN_IF_ERROR(CheckPlaintext(endpoint, options.allow_plaintext));
  KeepCallbackThreads();
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(),
                                   ArgumentsOf(options));
}

void ApplyServerDefaults(grpc::ServerBuilder& builder, const ConnectionOptions& options) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxFrameBytes));
  builder.SetMaxSendMessageSize(static_cast<int>(kMaxFrameBytes));
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  grpc::ResourceQuota quota("syncline");
  // gRPC reads on while it makes room, the longer the busier the machine: messages of 512 MiB drove
  // a server up by 70 to 200 MiB under a quota of 64 MiB, by 30 to 90 under half of it. So it is
  // told half of what it may hold.
  quota.Resize(kServerResourceQuotaBytes / 2);
  builder.SetResourceQuota(quota);
  // What a connection may take between two looks at the quota. With gRPC's own 4 MiB a busy machine
  // still saw peaks above 200 MiB; with this, 12 of 12 stayed below 120.
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE,
                             static_cast<int>(kServerReadChunkBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(kMaxStreamsPerServer));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(kMinPingInterval));
  // Two servers on one port would each get half of the connections; the second must fail instead.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

absl::Status AddListener(grpc::ServerBuilder& builder, const std::string& endpoint,
                         const ConnectionOptions& options, int* port) {
  RETURN_IF_ERROR(CheckPlaintext(endpoint, options.allow_plaintext));
  builder.AddListeningPort(endpoint, grpc::InsecureServerCredentials(), port);
  return absl::OkStatus();
}

}  // namespace syncline
