#include "common/random.h"

#include "gtest/gtest.h"

namespace syncline {
namespace {

// The first outputs for seed 0 in the published SplitMix64 test vectors.
TEST(SplitMix64Test, MatchesPublishedVectors) {
  SplitMix64 random(0);
  EXPECT_EQ(random(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(random(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(random(), 0x06c45d188009454fu);
}

TEST(SplitMix64Test, UniformAndNormalHaveTheirMoments) {
  SplitMix64 random(7);
  double uniform = 0, normal = 0, square = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    uniform += random.Uniform();
    const double z = random.Normal();
    normal += z;
    square += z * z;
  }
  EXPECT_NEAR(uniform / kDraws, 0.5, 0.005);
  EXPECT_NEAR(normal / kDraws, 0.0, 0.015);
  EXPECT_NEAR(square / kDraws, 1.0, 0.02);
}

TEST(SplitMix64Test, BelowStaysInRange) {
  SplitMix64 random(9);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(7), 7u);
}

TEST(SystemRandomTest, DoesNotRepeat) {
  SystemRandom random;
  EXPECT_NE(random.Next(), random.Next());
}

}  // namespace
}  // namespace syncline
