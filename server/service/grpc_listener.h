// A gRPC server on one address.
#ifndef SYNCLINE_SERVER_SERVICE_GRPC_LISTENER_H_
#define SYNCLINE_SERVER_SERVICE_GRPC_LISTENER_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace syncline {

class GrpcListener {
 public:
  // Serves `services` on `listen` ("host:port"; port 0: chosen by the system) with the limits of
  // common/net. REQUIRES: the services outlive the listener.
  // Errors: UNAVAILABLE (cannot bind), FAILED_PRECONDITION (plaintext beyond loopback).
  static absl::StatusOr<std::unique_ptr<GrpcListener>> Start(
      const std::string& listen, bool allow_plaintext, const std::vector<grpc::Service*>& services);
  // Shuts down at once.
  ~GrpcListener();
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;

  const std::string& endpoint() const { return endpoint_; }  // with the port bound
  // Accepts no more calls; those under way may end for `drain`, then they are cancelled. Returns
  // when all have ended. Idempotent.
  void Shutdown(std::chrono::milliseconds drain);

 private:
  GrpcListener(std::unique_ptr<grpc::Server> server, std::string endpoint);

  std::unique_ptr<grpc::Server> server_;
  const std::string endpoint_;
  bool down_ = false;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_GRPC_LISTENER_H_
