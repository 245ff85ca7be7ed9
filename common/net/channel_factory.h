// The one place that makes gRPC channels and configures gRPC servers, so that every connection of
// the system has the same limits, keepalive, back-off and credentials.
#ifndef SYNCLINE_COMMON_NET_CHANNEL_FACTORY_H_
#define SYNCLINE_COMMON_NET_CHANNEL_FACTORY_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/server_builder.h"

#include "common/limits.h"

namespace syncline {

// How one side of a connection behaves; both sides use the same.
struct ConnectionOptions {
  // Without it plaintext is refused beyond loopback and unix sockets.
  bool allow_plaintext = false;
  // Channels only: a connection of its own, not shared with the process's other channels to the
  // same endpoint.
  bool own_connection = false;
  // Channels only: for one attempt to connect, handshake included.
  std::chrono::milliseconds connect_timeout = kConnectTimeout;
  // At least kMinPingInterval * 2, or servers cut the connection off.
  std::chrono::milliseconds keepalive_time = kKeepaliveTime;
  std::chrono::milliseconds keepalive_timeout = kKeepaliveTimeout;
};

// Whether nothing beyond this host can hear the endpoint: unix:..., localhost, 127.0.0.0/8, [::1].
bool IsLocalEndpoint(std::string_view endpoint);

// Whether the text has the form of one: "host:port" with a port up to 65535, or "unix:path".
bool IsEndpoint(std::string_view text);

// A channel to `endpoint` ("host:port" or "unix:path"). Connects lazily; a refused connection is
// tried again after kReconnectBackoffMin, growing to kReconnectBackoffMax. gRPC itself neither
// retries calls, nor compresses, nor uses a proxy. Messages above kMaxFrameBytes are refused both
// ways.
// Errors: FAILED_PRECONDITION when the endpoint is remote and plaintext is not allowed;
// INVALID_ARGUMENT when it is not an endpoint.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& endpoint,
                                                           const ConnectionOptions& options = {});

// Limits of a server: message size, memory of all connections (kServerResourceQuotaBytes), streams
// a connection, keepalive. Compressed messages are refused with UNIMPLEMENTED before they are
// unpacked, because gRPC's size limit counts only afterwards. A port is never shared with another
// process.
void ApplyServerDefaults(grpc::ServerBuilder& builder, const ConnectionOptions& options = {});

// Listens on `endpoint`; port 0 picks a free one. After BuildAndStart, `*port` is the port bound, 0
// when binding failed (it may be null for unix sockets).
// Errors: as MakeChannel.
absl::Status AddListener(grpc::ServerBuilder& builder, const std::string& endpoint,
                         const ConnectionOptions& options, int* port);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_NET_CHANNEL_FACTORY_H_
