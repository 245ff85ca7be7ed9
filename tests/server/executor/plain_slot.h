// The rules of a slot once more, as plainly as they can be said: an independent model that SlotCore
// is compared with. Everything is found by looking through everything.
#ifndef SYNCLINE_TESTS_SERVER_EXECUTOR_PLAIN_SLOT_H_
#define SYNCLINE_TESTS_SERVER_EXECUTOR_PLAIN_SLOT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/wire/outcome.h"

namespace syncline {

// A push of number k (1, 2, 3, ...) of its session to one row of one table, or something else.
struct PlainOp {
  enum class Kind { kPush, kBadPush, kPlaceholder, kTick, kLeave };
  Kind kind = Kind::kPush;
  size_t table = 0;
  uint64_t row = 0;
  int64_t k = 0;
  int64_t clock = 0;  // of the session when it was issued: a push's round, the round a tick ends
  int64_t to = 0;     // the clock that a tick sets
};

struct PlainTable {
  enum class Kind { kImmediate, kRound, kAsync };
  Kind kind = Kind::kImmediate;
  int64_t staleness = 0;
};

struct PlainRead {
  size_t session = 0;
  size_t table = 0;
  uint64_t row = 0;
  int64_t clock = 0;
  uint64_t sequence = 0;
};

struct PlainSession {
  enum class State { kLive, kLeft, kFenced };
  int rank = 0;
  bool clocked = true;
  State state = State::kLive;
  int64_t clock = 0;
  int64_t joined_at = 0;
  std::vector<Outcome> outcomes;
  std::vector<PlainOp> accepted;  // pushes to round tables
  std::set<int64_t> ticked;       // rounds ended by a tick, skipped ones included
  int64_t last_tick = -1;         // the last round that a tick named
};

class PlainSlot {
 public:
  PlainSlot(int ranks, std::vector<PlainTable> tables)
      : ranks_(ranks), tables_(std::move(tables)) {}

  int64_t Join(int rank, bool clocked, int64_t at);
  void SetClock(size_t session, int64_t clock);
  void Fence(size_t session);
  // The operation of that number arrives.
  Outcome Deliver(size_t session, uint64_t sequence, const PlainOp& op);
  bool Serves(const PlainRead& read) const;

  bool started() const;
  int64_t min_clock() const { return min_clock_; }
  int64_t oldest() const { return oldest_; }
  const std::vector<PlainSession>& sessions() const { return sessions_; }
  // How often and which pushes of a session a row shows: count, sum of k, sum of k squared.
  struct Shown {
    int64_t count = 0;
    int64_t sum = 0;
    int64_t squares = 0;
    bool operator==(const Shown&) const = default;
  };
  Shown ShownOf(size_t table, uint64_t row, size_t session) const;

 private:
  Outcome Decide(PlainSession& session, size_t index, const PlainOp& op);
  void Show(size_t session, const PlainOp& op);
  bool EveryLiveRankEnded(int64_t round) const;
  void Settle();

  int ranks_;
  std::vector<PlainTable> tables_;
  std::vector<PlainSession> sessions_;
  std::map<std::vector<uint64_t>, Shown> shown_;  // by table, row, session
  int64_t min_clock_ = 0;
  int64_t oldest_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SERVER_EXECUTOR_PLAIN_SLOT_H_
