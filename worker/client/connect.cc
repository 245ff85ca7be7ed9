// PsClient over gRPC: the only place that knows both.
#include "common/time_source.h"
#include "worker/client/grpc_coordinator.h"
#include "worker/client/grpc_transport.h"
#include "worker/client/ps_client.h"

namespace syncline {

absl::StatusOr<std::unique_ptr<PsClient>> PsClient::Connect(const ClientOptions& options) {
  static const SystemTimeSource time;
  auto transport = std::make_unique<GrpcTransport>(
      GrpcTransport::Options{options.allow_plaintext, options.client_name});
  auto coordinator = MakeGrpcCoordinator(options.coordinator, options.allow_plaintext);
  return ConnectOver(options, std::move(coordinator), std::move(transport), &time);
}

}  // namespace syncline
