// What tools ask a cluster: the coordinator's lists and each server's view of itself. Read-only.
#ifndef SYNCLINE_WORKER_CLIENT_ADMIN_API_H_
#define SYNCLINE_WORKER_CLIENT_ADMIN_API_H_

#include <string>

#include "absl/status/statusor.h"

#include "common/types.h"
#include "proto/admin.pb.h"
#include "proto/coordinator.pb.h"

namespace syncline {

// Every call waits for its answer, at most for the deadline the object was made with.
//
// Errors of every call: UNAVAILABLE when the peer cannot be reached, DEADLINE_EXCEEDED without an
// answer in time, and what the peer answers. The text begins with the endpoint and the call.
//
// Not thread-safe.
class AdminApi {
 public:
  virtual ~AdminApi() = default;

  // The coordinator.
  virtual absl::StatusOr<v1::ClusterMap> GetMap() = 0;
  virtual absl::StatusOr<v1::ListServersReply> ListServers() = 0;
  virtual absl::StatusOr<v1::ListJobsReply> ListJobs() = 0;
  virtual absl::StatusOr<v1::ListTablesReply> ListTables() = 0;
  virtual absl::StatusOr<v1::ListSessionsReply> ListSessions(bool include_ended) = 0;

  // One server, by the endpoint that the coordinator names.
  virtual absl::StatusOr<v1::ServerStatus> GetServerStatus(const std::string& endpoint) = 0;
  // TableId 0: all tables.
  virtual absl::StatusOr<v1::TableStatsReply> GetTableStats(const std::string& endpoint,
                                                            TableId table) = 0;
  virtual absl::StatusOr<v1::Row> GetRow(const std::string& endpoint, TableId table, Key key) = 0;
  virtual absl::StatusOr<v1::ListSlotsReply> ListSlots(const std::string& endpoint) = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_ADMIN_API_H_
