#include "server/service/grpc_listener.h"

#include <utility>

#include "grpc/support/time.h"
#include "grpcpp/grpcpp.h"

#include "common/net/channel_factory.h"
#include "common/status/status.h"

namespace syncline {

GrpcListener::GrpcListener(std::unique_ptr<grpc::Server> server, std::string endpoint)
    : server_(std::move(server)), endpoint_(std::move(endpoint)) {}

GrpcListener::~GrpcListener() { Shutdown(std::chrono::milliseconds(0)); }

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Start(
    const std::string& listen, bool allow_plaintext, const std::vector<grpc::Service*>& services) {
  ConnectionOptions options;
  options.allow_plaintext = allow_plaintext;
  grpc::ServerBuilder builder;
  ApplyServerDefaults(builder, options);
  int port = 0;
  RETURN_IF_ERROR(AddListener(builder, listen, options, &port));
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                     "cannot listen on {}: another process has the port, or this machine has no "
                     "such address; choose another --listen",
                     listen);
  }
  std::string endpoint = fmt::format("{}:{}", listen.substr(0, listen.rfind(':')), port);
  return std::unique_ptr<GrpcListener>(new GrpcListener(std::move(server), std::move(endpoint)));
}

void GrpcListener::Shutdown(std::chrono::milliseconds drain) {
  if (std::exchange(down_, true)) return;
  server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                 gpr_time_from_millis(drain.count(), GPR_TIMESPAN)));
  server_->Wait();
}

}  // namespace syncline
