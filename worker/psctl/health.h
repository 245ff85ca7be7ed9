// Whether a cluster can serve: what the coordinator says of each server, and what each says itself.
#ifndef SYNCLINE_WORKER_PSCTL_HEALTH_H_
#define SYNCLINE_WORKER_PSCTL_HEALTH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "proto/admin.pb.h"
#include "proto/coordinator.pb.h"
#include "worker/client/admin_api.h"

namespace syncline::psctl {

struct ServerView {
  v1::ServerInfo info;
  std::optional<v1::ServerStatus> status;  // empty when the server did not answer:
  absl::Status error;                      // why
};

struct ClusterView {
  v1::ClusterMap map;
  std::vector<ServerView> servers;  // by id
};

// Errors: the coordinator's alone; servers that do not answer are in the view.
absl::StatusOr<ClusterView> LookAtCluster(AdminApi& api);

// What keeps the cluster from being healthy, one sentence each; empty means healthy. Healthy: the
// map is complete, and every server in it is live to the coordinator and ready by its own word.
std::vector<std::string> ProblemsOf(const ClusterView& view);

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_HEALTH_H_
