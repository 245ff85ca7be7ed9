// The AdminApi over gRPC.
#ifndef SYNCLINE_WORKER_CLIENT_ADMIN_CLIENT_H_
#define SYNCLINE_WORKER_CLIENT_ADMIN_CLIENT_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "worker/client/admin_api.h"

namespace syncline {

struct AdminClientOptions {
  std::vector<std::string> endpoints;  // where the coordinator may be; the first that answers is it
  std::chrono::milliseconds timeout{5'000};  // of every call
  bool allow_plaintext = false;              // beyond loopback
};

// Finds the coordinator: asks the endpoints in order for the map until one has it.
//
// Errors: INVALID_ARGUMENT without an endpoint; otherwise the error of the last endpoint that
// could be reached at all, or of the last one when none could, with each endpoint's in the text.
absl::StatusOr<std::unique_ptr<AdminApi>> ConnectAdmin(const AdminClientOptions& options);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_ADMIN_CLIENT_H_
