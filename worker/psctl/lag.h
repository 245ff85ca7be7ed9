// How far each worker is behind, and who holds a job's clock back.
#ifndef SYNCLINE_WORKER_PSCTL_LAG_H_
#define SYNCLINE_WORKER_PSCTL_LAG_H_

#include <cstdint>
#include <vector>

#include "proto/coordinator.pb.h"

namespace syncline::psctl {

struct WorkerLag {
  v1::SessionInfo session;
  // Whether the session counts in the min clock: clocked, and live or not yet fenced everywhere.
  bool counts = false;
  int64_t lag = 0;  // greatest clock of the job's counted sessions minus its own
  // Its clock is the job's least, and others are ahead. Several workers may hold it back together.
  bool holds_back = false;
};

// Sorted by job, rank, session. Clocks are those of the last heartbeat, so a lag may be wrong by
// the ticks of one heartbeat interval. Jobs do not see each other; sessions that do not count have
// lag 0.
std::vector<WorkerLag> LagsOf(const v1::ListSessionsReply& sessions);

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_LAG_H_
