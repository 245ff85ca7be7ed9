// The open rounds of one job in one slot: what was pushed to them, and who has ended them.
#ifndef SYNCLINE_SERVER_CONSISTENCY_ROUND_TABLE_H_
#define SYNCLINE_SERVER_CONSISTENCY_ROUND_TABLE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "common/limits.h"
#include "common/types.h"

namespace syncline {

// Bytes that the open rounds of a slot hold, over all its jobs.
struct RoundMemory {
  size_t used = 0;
  size_t cap = kMaxRoundBytesPerSlot;
};

// Whose contribution: rank first, because rank order is the order of summation (PROTOCOL.md R1),
// then the life of the rank, when a rank left and came back within an open round.
struct Contributor {
  Rank rank;
  uint64_t life = 0;
  auto operator<=>(const Contributor&) const = default;
};

// What one table receives when a round closes.
struct TableSum {
  TableId table;
  std::vector<Key> keys;    // strictly ascending
  std::vector<float> sums;  // keys.size() x dim
};

struct ClosedRound {
  Round round;
  uint64_t samples = 0;          // of the ticks that the round contains: the divisor of `mean`
  std::vector<TableSum> tables;  // by table id; empty when the round has no samples
};

// Keeps contributions until their round closes, then adds them in rank order (R1). A close takes
// exactly the contributors that have ticked the round (R2). It does not decide *when* a round
// closes: its owner knows who lives.
//
// Pure and single-threaded. Memory: contributions count in RoundMemory; ticks of at most the
// window (R3) or kOutcomeWindow rounds.
class RoundTable {
 public:
  // REQUIRES: `memory` outlives this object.
  explicit RoundTable(RoundMemory& memory) : memory_(memory) {}
  ~RoundTable();
  RoundTable(const RoundTable&) = delete;
  RoundTable& operator=(const RoundTable&) = delete;

  Round oldest() const { return oldest_; }

  // A round table of the job exists, with this staleness; the largest one sets the window of R3:
  // pushes and ticks up to s + 1 rounds beyond the oldest open one are taken.
  void AddTable(Staleness staleness);

  enum class Place { kOpen, kClosed, kBeyondWindow };
  // Without round tables nothing is beyond the window.
  Place PlaceOf(Round round) const;

  // Whether a contribution of `rows` rows fits into the slot's memory.
  bool HasRoomFor(size_t rows, size_t dim) const;

  // Adds a push. REQUIRES: PlaceOf(round) == kOpen, keys strictly ascending,
  // gradients.size() == keys.size() * dim.
  void Add(Contributor who, Round round, TableId table, size_t dim, std::span<const Key> keys,
           std::span<const float> gradients);

  // The contributor has ended the round with so many samples. REQUIRES: PlaceOf(round) == kOpen.
  void EndRound(Contributor who, Round round, uint64_t samples);

  // Forgets what the contributor gave to one open round (a tick that was told it is late, R2).
  void Discard(Contributor who, Round round);
  // Fence: forgets all that the contributor gave to open rounds (C6).
  void Fence(Contributor who);
  // Leave: forgets what no tick can include any more; ticked contributions stay (S4).
  void Leave(Contributor who);
  // Forgets everything: the job is over.
  void Clear();

  // Closes the oldest round below `limit` that holds anything, and sums it; rounds before it are
  // empty and close too. Nullopt: nothing is left below `limit`, and the oldest open round is at
  // least `limit`.
  std::optional<ClosedRound> CloseNext(Round limit);

  // The last open round that somebody has ticked.
  std::optional<Round> last_ticked() const;
  size_t open_rounds() const { return open_.size(); }

 private:
  struct Part {
    TableId table;
    size_t dim = 0;
    std::vector<Key> keys;
    std::vector<float> gradients;
  };
  struct Contribution {
    bool ticked = false;
    uint64_t samples = 0;
    std::vector<Part> parts;  // in the order of the pushes
  };
  using OpenRound = std::map<Contributor, Contribution>;
  using Parts = std::vector<const Part*>;

  static size_t BytesOf(size_t rows, size_t dim);
  static TableSum SumOf(TableId table, const Parts& parts);
  void Release(const Contribution& contribution);
  template <typename Predicate>
  void Forget(Contributor who, Predicate predicate);

  RoundMemory& memory_;
  std::map<Round, OpenRound> open_;
  Round oldest_{0};
  std::optional<Staleness> largest_staleness_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_CONSISTENCY_ROUND_TABLE_H_
