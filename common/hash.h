// The stable hash: decides where a row lives, so it never changes and is the same in every language
// (tests/golden/hash_vectors.json holds vectors; worker/python/syncline/hash.py is its twin).
#ifndef SYNCLINE_COMMON_HASH_H_
#define SYNCLINE_COMMON_HASH_H_

#include <cstdint>
#include <string_view>

#include "common/types.h"

namespace syncline {

// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, figure 5): a bijection of 64-bit
// numbers with good avalanche.
constexpr uint64_t Mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 31;
  return x;
}

// Hash of a row's name: Mix64(Mix64(table + golden) ^ key), golden = 0x9e3779b97f4a7c15. Arithmetic
// is modulo 2^64.
constexpr uint64_t StableHash(TableId table, Key key) {
  return Mix64(Mix64(table.value() + 0x9e3779b97f4a7c15u) ^ key);
}

// Hash of a name: FNV-1a (64 bits) over its bytes, then Mix64.
constexpr uint64_t StableHash(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325u;
  for (char c : name) {
    h ^= static_cast<uint8_t>(c);
    h *= 0x100000001b3u;
  }
  return Mix64(h);
}

// Where a row lives. REQUIRES: slot_count is a power of two.
constexpr SlotId SlotOf(TableId table, Key key, uint32_t slot_count) {
  return SlotId(static_cast<uint32_t>(StableHash(table, key) & (slot_count - 1)));
}

}  // namespace syncline

#endif  // SYNCLINE_COMMON_HASH_H_
