// The project's vocabulary as types (README.md has the glossary). Two different ideas never share a
// type: a Clock cannot be passed for a Sequence.
#ifndef SYNCLINE_COMMON_TYPES_H_
#define SYNCLINE_COMMON_TYPES_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace syncline {

// A number with a meaning. Construction is explicit; comparison works only within one type.
// Arithmetic goes through value() or the operators below, so that it is visible.
template <typename Tag, typename Rep>
class StrongNumber {
 public:
  using rep = Rep;

  constexpr StrongNumber() = default;
  constexpr explicit StrongNumber(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongNumber&) const = default;

  constexpr StrongNumber Next() const { return StrongNumber(static_cast<Rep>(value_ + 1)); }
  constexpr StrongNumber operator+(Rep n) const {
    return StrongNumber(static_cast<Rep>(value_ + n));
  }
  constexpr StrongNumber operator-(Rep n) const {
    return StrongNumber(static_cast<Rep>(value_ - n));
  }
  constexpr Rep operator-(StrongNumber other) const {
    return static_cast<Rep>(value_ - other.value_);
  }
  constexpr StrongNumber& operator++() {
    ++value_;
    return *this;
  }

  template <typename H>
  friend H AbslHashValue(H h, StrongNumber n) {
    return H::combine(std::move(h), n.value_);
  }

 private:
  Rep value_ = 0;
};

// Names a row of an embedding table. Every 64-bit value is legal.
using Key = uint64_t;

// Assigned by the coordinator, never used again for another table of the cluster.
using TableId = StrongNumber<struct TableIdTag, uint32_t>;
using SlotId = StrongNumber<struct SlotIdTag, uint32_t>;
using ServerId = StrongNumber<struct ServerIdTag, uint32_t>;
using JobId = StrongNumber<struct JobIdTag, uint32_t>;

// A worker's place in its job: 0..n-1 for the declared ranks. Clockless sessions have kNoRank.
using Rank = StrongNumber<struct RankTag, int32_t>;
inline constexpr Rank kNoRank{-1};

// Version of the cluster map. Starts at 1; 0 means "not known yet".
using Epoch = StrongNumber<struct EpochTag, uint64_t>;
// Of a slot, raised whenever its state may have gone back. Starts at 1; 0 means "not known yet".
using Incarnation = StrongNumber<struct IncarnationTag, uint64_t>;
// Numbers a session's operations on one slot: 1, 2, 3, ... without gaps (PROTOCOL.md S2).
using Sequence = StrongNumber<struct SequenceTag, uint64_t>;

// Count of finished iterations of a worker; signed, because readers compute c - s - 1 (C3).
using Clock = StrongNumber<struct ClockTag, int64_t>;
// Names a round by the clock of its pushes.
using Round = StrongNumber<struct RoundTag, int64_t>;
// How many clocks old a read may be.
using Staleness = StrongNumber<struct StalenessTag, int64_t>;
// A fence: later operations of an older token are refused. Issued by the coordinator.
using Token = StrongNumber<struct TokenTag, uint64_t>;

// One life of one client. Random; issued by the coordinator.
struct SessionId {
  uint64_t high = 0;
  uint64_t low = 0;

  constexpr auto operator<=>(const SessionId&) const = default;
  constexpr bool IsNull() const { return high == 0 && low == 0; }
  // 32 hexadecimal digits.
  std::string ToString() const;

  template <typename H>
  friend H AbslHashValue(H h, SessionId id) {
    return H::combine(std::move(h), id.high, id.low);
  }
};

// Who is calling, as the transport's credentials say. Every handler receives one; sessions are
// bound to theirs.
struct Principal {
  std::string name;  // "anonymous" without authentication
  bool operator==(const Principal&) const = default;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_TYPES_H_
