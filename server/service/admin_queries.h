// What operators ask one server, without a transport. Read-only.
#ifndef SYNCLINE_SERVER_SERVICE_ADMIN_QUERIES_H_
#define SYNCLINE_SERVER_SERVICE_ADMIN_QUERIES_H_

#include <string>

#include "absl/status/statusor.h"

#include "proto/admin.pb.h"
#include "server/executor/slot_host.h"
#include "server/service/server_state.h"

namespace syncline {

// Each call waits until every slot was visited on its executor: seconds under load are possible,
// and each costs the data plane a pause of microseconds a slot (StateHash: of all its rows).
// Thread-safe.
class AdminQueries {
 public:
  // REQUIRES: both outlive this object.
  AdminQueries(SlotHost& host, const ServerState& state) : host_(host), state_(state) {}

  v1::ServerStatus Status();
  // Errors: NOT_FOUND (UNKNOWN_TABLE).
  absl::StatusOr<v1::TableStatsReply> TableStats(const v1::GetTableStatsRequest& request);
  // Errors: NOT_FOUND (UNKNOWN_TABLE), FAILED_PRECONDITION (WRONG_OWNER), UNAVAILABLE (no map yet).
  absl::StatusOr<v1::Row> GetRow(const v1::GetRowRequest& request);
  v1::ListSlotsReply ListSlots(const v1::ListSlotsRequest& request);
  v1::StateHash StateHash();
  // The status page: server, slots, tables, sessions and jobs with their clocks, as JSON.
  std::string StatusJson();

 private:
  SlotHost& host_;
  const ServerState& state_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_ADMIN_QUERIES_H_
