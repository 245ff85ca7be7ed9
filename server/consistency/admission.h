// Decides when a read may proceed under a table's staleness bound.
#ifndef SYNCLINE_SERVER_CONSISTENCY_ADMISSION_H_
#define SYNCLINE_SERVER_CONSISTENCY_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "common/types.h"

namespace syncline {

// Names a read that may be parked; chosen by the caller, unique per slot while the read lives.
using ReadId = uint64_t;

// What must hold before a read is served: both the gate and the sequence.
struct ReadNeed {
  enum class Gate {
    kOpen,      // nothing: a clockless session
    kStart,     // every declared rank has joined (C5): async tables
    kMinClock,  // and min clock >= level (C3): immediate tables
    kRound      // and oldest open round >= level (C3): round tables
  };
  Gate gate = Gate::kOpen;
  int64_t level = 0;
  Sequence sequence;  // S6: the reader's operation that the read must contain
};

// The need of a read in clock c of a table with staleness s:
//
//     immediate table   min clock >= c - s
//     round table       round c - s - 1 closed, that is oldest open round >= c - s    (C3)
//
// Signed: near the start the level is negative and always met. The bound is on the clocks being
// *executed*, at most s apart; counts of finished clocks may differ by s + 1. A clock below zero
// counts as zero. Clockless sessions wait for no clock and not for the start (C2, C5).
ReadNeed NeedOf(const ConsistencyPolicy& policy, bool clocked, Clock reader_clock,
                Sequence sequence);

// How far one job is in one slot.
struct Progress {
  bool started = false;
  Clock min_clock;
  Round oldest_round;
};

// Parks the reads of one slot and one job until their needs are met.
//
// A read waits for its sequence first, then for its gate; both only ever go forward, so what is
// met once stays met.
//
// Pure: no I/O, no time of its own, no threads. The slot's executor is the only caller, so calls
// never overlap, and every effect is in the return value. The same calls in the same order give the
// same results (simulation replays them).
//
// Memory: one entry a parked read, at most kMaxParkedReadsPerSession a session (common/limits.h).
class Admission {
 public:
  // Admits or parks a read of `reader`, whose last decided operation here is `decided`.
  //
  // True: serve it now. False: parked; its id comes back at most once, from Advance, Decide, Drop
  // or DropAll, never after Cancel.
  //
  // Errors, nothing parked:
  //   RESOURCE_EXHAUSTED (OVERLOADED)  the session has kMaxParkedReadsPerSession reads parked;
  //                                    retry later
  // REQUIRES: no parked read has this id.
  absl::StatusOr<bool> Ask(ReadId id, SessionId reader, Sequence decided, const ReadNeed& need);

  // Sets the job's progress and returns the reads that this admits, oldest first. Progress may
  // jump: everything parked at or below the new values is released, not only what waited for
  // exactly them (C2). REQUIRES: progress never goes back.
  std::vector<ReadId> Advance(const Progress& progress);

  // A session's operations up to `last` are decided (S6): returns the reads that this admits,
  // oldest first.
  std::vector<ReadId> Decide(SessionId session, Sequence last);

  // Forgets a session's parked reads and returns them, oldest first: whoever ended the session
  // answers them.
  std::vector<ReadId> Drop(SessionId session);
  std::vector<ReadId> DropAll();

  // Forgets a parked read whose caller went away. Unknown ids are ignored: the answer and the
  // cancellation may race.
  void Cancel(ReadId id);

  const Progress& progress() const { return progress_; }
  size_t parked() const { return parked_.size(); }

 private:
  struct Parked {
    SessionId reader;
    ReadNeed need;
    uint64_t arrival = 0;
    bool waits_for_sequence = false;
  };
  // Ordered by what is needed, then by arrival.
  using Queue = std::set<std::tuple<int64_t, uint64_t, ReadId>>;
  struct Reader {
    std::set<std::tuple<Sequence, uint64_t, ReadId>> by_sequence;
    size_t parked = 0;
  };
  using Released = std::vector<std::pair<uint64_t, ReadId>>;  // with arrival

  bool GateOpen(const ReadNeed& need) const;
  Queue& QueueOf(const ReadNeed& need);
  static int64_t LevelIn(const ReadNeed& need);
  void ReleaseUpTo(Queue& queue, int64_t level, Released& out);
  void Forget(ReadId id);
  static std::vector<ReadId> OldestFirst(Released released);

  Progress progress_;
  std::map<ReadId, Parked> parked_;
  Queue by_min_clock_;
  Queue by_round_;
  std::map<SessionId, Reader> readers_;
  uint64_t arrivals_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_CONSISTENCY_ADMISSION_H_
