// The coordinator over gRPC.
#ifndef SYNCLINE_WORKER_CLIENT_GRPC_COORDINATOR_H_
#define SYNCLINE_WORKER_CLIENT_GRPC_COORDINATOR_H_

#include <memory>
#include <string>

#include "worker/client/coordinator_api.h"

namespace syncline {

// Makes its channel with the first call. Calls wait for a server that is not up yet, until their
// deadline; Heartbeat and GetMap do not.
std::unique_ptr<CoordinatorApi> MakeGrpcCoordinator(std::string endpoint, bool allow_plaintext);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_GRPC_COORDINATOR_H_
