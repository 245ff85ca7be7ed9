// What the global flags say, and what every command gets.
#ifndef SYNCLINE_WORKER_PSCTL_CONTEXT_H_
#define SYNCLINE_WORKER_PSCTL_CONTEXT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "common/status/status.h"
#include "worker/client/admin_api.h"
#include "worker/client/admin_client.h"
#include "worker/psctl/report.h"

namespace syncline::psctl {

using Connector =
    std::function<absl::StatusOr<std::unique_ptr<AdminApi>>(const AdminClientOptions&)>;

// Connects when a command first asks, so that `version` and `help` need no cluster.
class Context {
 public:
  explicit Context(Connector connector) : connector_(std::move(connector)) {}

  AdminClientOptions connection;
  std::string job;  // empty: all

  // The pointer is this object's. Errors: as ConnectAdmin; INVALID_ARGUMENT without endpoints.
  absl::StatusOr<AdminApi*> Connect() {
    if (connection.endpoints.empty()) {
      return InvalidArgument("no endpoint: give --endpoints HOST:PORT or set PSCTL_ENDPOINTS");
    }
    if (api_ == nullptr) {
      ASSIGN_OR_RETURN(api_, connector_(connection));
    }
    return api_.get();
  }

 private:
  Connector connector_;
  std::unique_ptr<AdminApi> api_;
};

// What runs once the command line is parsed.
using Command = std::function<absl::StatusOr<Report>(Context&)>;

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_CONTEXT_H_
