// One number for the contents of tables, to compare before and after, or two clusters.
#ifndef SYNCLINE_SERVER_TABLE_STATE_HASH_H_
#define SYNCLINE_SERVER_TABLE_STATE_HASH_H_

#include <bit>
#include <cstdint>
#include <span>

#include "common/hash.h"
#include "common/types.h"

namespace syncline {

// Each row gives a hash of (table, key, the bits of all its floats), in that order; the hash of a
// set of rows is their sum modulo 2^64. A sum does not depend on the order, so any split over slots
// and servers gives the same number as one walk in (table, key) order. Not for adversaries.
class StateHash {
 public:
  void AddRow(TableId table, Key key, std::span<const float> row) {
    uint64_t h = StableHash(table, key);
    for (float x : row) h = Mix64((h ^ std::bit_cast<uint32_t>(x)) + 0x9e3779b97f4a7c15u);
    sum_ += h;
  }
  void Merge(const StateHash& other) { sum_ += other.sum_; }

  // 0 without rows.
  uint64_t value() const { return sum_; }

 private:
  uint64_t sum_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_TABLE_STATE_HASH_H_
