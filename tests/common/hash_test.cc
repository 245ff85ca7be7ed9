#include "common/hash.h"

#include <vector>

#include "gtest/gtest.h"

namespace syncline {
namespace {

// Computed once with an independent implementation (Python integers); never change.
TEST(StableHashTest, MatchesGoldenVectors) {
  EXPECT_EQ(Mix64(0), 0u);
  EXPECT_EQ(Mix64(1), 0x5692161d100b05e5u);
  EXPECT_EQ(StableHash(TableId(1), 0), 0xdce423fc82c0d5b8u);
  EXPECT_EQ(StableHash(TableId(7), UINT64_MAX), 0x69a97e860828cdd5u);
  EXPECT_EQ(StableHash("user"), 0xff9ae3c55ae5bee1u);
}

TEST(StableHashTest, SpreadsConsecutiveKeysEvenlyOverSlots) {
  std::vector<int> count(256);
  for (Key key = 0; key < 256'000; ++key) ++count[SlotOf(TableId(3), key, 256).value()];
  for (int n : count) {
    EXPECT_GT(n, 800);  // mean 1000, deviation about 32
    EXPECT_LT(n, 1200);
  }
}

TEST(StableHashTest, SeparatesKeysThatFloatsWouldMerge) {
  const Key base = Key{1} << 53;
  EXPECT_NE(StableHash(TableId(1), base), StableHash(TableId(1), base + 1));
}

}  // namespace
}  // namespace syncline
