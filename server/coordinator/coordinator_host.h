// The whole coordinator, as a server hosts it: records on this machine, core, gRPC service.
#ifndef SYNCLINE_SERVER_COORDINATOR_COORDINATOR_HOST_H_
#define SYNCLINE_SERVER_COORDINATOR_COORDINATOR_HOST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/impl/codegen/service_type.h"

#include "common/net/channel_factory.h"
#include "common/random.h"
#include "common/time_source.h"
#include "server/coordinator/coordinator_core.h"

namespace syncline::coordinator {

struct HostOptions {
  std::string directory;  // of the records; made when missing
  std::string server;     // name of the hosting server
  CoreConfig core;
  ConnectionOptions connections;  // to the servers
};

// Thread-safe.
class CoordinatorHost {
 public:
  // Opens the records and raises the term. The service answers once it is registered with a gRPC
  // server that runs.
  // REQUIRES: `time` and `random` outlive it; `random` is thread-safe, `time` the system's.
  // Errors: KvStore::Open's, DATA_LOSS, CoordinatorCore::Start's.
  static absl::StatusOr<std::unique_ptr<CoordinatorHost>> Start(const HostOptions& options,
                                                                const TimeSource& time,
                                                                Random& random);
  ~CoordinatorHost();
  CoordinatorHost(const CoordinatorHost&) = delete;
  CoordinatorHost& operator=(const CoordinatorHost&) = delete;

  // To add to a ServerBuilder. Lives as long as the host.
  grpc::Service* service();
  const std::string& cluster() const;

  // Answers every waiting request UNAVAILABLE and sends nothing more. Call before the gRPC server's
  // Shutdown, which waits for requests. Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit CoordinatorHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COORDINATOR_HOST_H_
