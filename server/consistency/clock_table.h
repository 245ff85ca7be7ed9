// The clocks of one job's sessions in one slot, and the least of them.
#ifndef SYNCLINE_SERVER_CONSISTENCY_CLOCK_TABLE_H_
#define SYNCLINE_SERVER_CONSISTENCY_CLOCK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/types.h"

namespace syncline {

// Min clock (PROTOCOL.md C2) and start barrier (C5) over the live clocked sessions of one job.
//
// The min clock is the least clock of the live sessions, except that
//   - it stays at zero until each of ranks 0..n-1 has been installed at least once, whether or not
//     the earlier ones still live;
//   - it never decreases, and keeps its last value while nobody lives.
// It may jump by more than one: callers compare with <=, never with ==.
//
// Pure and single-threaded. Memory: one entry a live session, one bit a declared rank.
class ClockTable {
 public:
  // Number of ranks that must join before the job starts. Zero starts at once. Before the call
  // nothing starts. A second call changes nothing.
  void Declare(int32_t ranks);

  // Adds a live session. Its clock is max(join, min clock), returned (C5). A known session keeps
  // the clock it has. Ranks beyond the declared ones count in the min clock, not in the barrier.
  Clock Install(SessionId session, Rank rank, Clock join);

  // Sets a session's clock, never lowering it (C1, C5). Unknown sessions are ignored.
  void Raise(SessionId session, Clock clock);

  // Takes a session out of the min clock: a leave or a fence. Unknown sessions are ignored.
  void Remove(SessionId session);

  bool started() const { return declared_ && joined_count_ == joined_.size(); }
  Clock min_clock() const { return min_clock_; }
  // The least clock of the live sessions, before barrier and memory; nullopt when nobody lives.
  std::optional<Clock> least_live() const;
  // Null: not a live clocked session of this job.
  std::optional<Clock> ClockOf(SessionId session) const;
  size_t live() const { return clocks_.size(); }

 private:
  void MarkJoined(Rank rank);
  void Count(Clock clock, int change);
  void Refresh();

  std::map<SessionId, Clock> clocks_;
  std::map<Clock, size_t> holders_;  // how many sessions stand at each clock
  std::vector<bool> joined_;         // by rank
  size_t joined_count_ = 0;
  bool declared_ = false;
  std::vector<Rank> early_;  // joined before the declaration
  Clock min_clock_{0};
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_CONSISTENCY_CLOCK_TABLE_H_
