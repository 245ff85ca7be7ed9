#include "worker/data/split.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;

TEST(SplitTest, ThePartsAreDisjointAndTogetherEverything) {
  for (const uint32_t rows : {0u, 1u, 2u, 9u, 10u, 11u, 1000u, 100'836u}) {
    const Split split = SplitRows(rows, kPinnedSplitSeed);
    EXPECT_EQ(split.train.size(), uint64_t{rows} * 8 / 10);
    std::vector<uint32_t> all = split.train;
    all.insert(all.end(), split.validation.begin(), split.validation.end());
    all.insert(all.end(), split.test.begin(), split.test.end());
    std::sort(all.begin(), all.end());
    std::vector<uint32_t> expected(rows);
    std::iota(expected.begin(), expected.end(), 0u);
    EXPECT_EQ(all, expected);
  }
}

TEST(SplitTest, SeedsGiveDifferentSplitsAndTheSameSeedTheSame) {
  EXPECT_EQ(SplitRows(1000, 1).test, SplitRows(1000, 1).test);
  EXPECT_NE(SplitRows(1000, 1).test, SplitRows(1000, 2).test);
}

// Published figures rest on these numbers: they may never change. Taken from a Python twin of
// SplitMix64 and of the shuffle.
TEST(SplitTest, PermutationsArePinned) {
  EXPECT_THAT(SeededPermutation(10, 1), ElementsAre(9, 0, 1, 4, 8, 2, 3, 7, 6, 5));
  const std::vector<uint32_t> split = SeededPermutation(100'836, kPinnedSplitSeed);
  EXPECT_THAT(std::vector<uint32_t>(split.begin(), split.begin() + 5),
              ElementsAre(25587, 39590, 73265, 21577, 5702));
}

TEST(SplitTest, AllOrdersAreEquallyLikely) {
  std::map<std::vector<uint32_t>, int> count;
  for (uint64_t seed = 0; seed < 24'000; ++seed) ++count[SeededPermutation(4, seed)];
  ASSERT_EQ(count.size(), 24u);
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 150);
}

}  // namespace
}  // namespace syncline
