#include "worker/data/zipf.h"

#include <cmath>

#include "gtest/gtest.h"

#include "tests/support/seed.h"

namespace syncline {
namespace {

TEST(ZipfTest, FrequenciesFollowTheLaw) {
  const uint64_t seed = TestSeed(3);
  SCOPED_TRACE(SeedTrace(seed));
  constexpr int kDraws = 200'000;
  const Zipf zipf(50, 1.1);
  double total = 0;
  for (int k = 1; k <= 50; ++k) total += std::pow(k, -1.1);
  std::vector<int> count(50);
  SplitMix64 random(seed);
  for (int i = 0; i < kDraws; ++i) ++count[zipf.Draw(random)];
  for (uint64_t id = 0; id < 50; ++id) {
    const double p = std::pow(static_cast<double>(id + 1), -1.1) / total;
    EXPECT_NEAR(zipf.probability(id), p, 1e-12);
    EXPECT_NEAR(count[id], kDraws * p, 6 * std::sqrt(kDraws * p)) << "id " << id;
  }
}

TEST(ZipfTest, ExponentZeroIsUniformAndOneIdIsAlwaysDrawn) {
  EXPECT_NEAR(Zipf(4, 0).probability(3), 0.25, 1e-12);
  SplitMix64 random(1);
  const Zipf one(1, 1.2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(one.Draw(random), 0u);
}

}  // namespace
}  // namespace syncline
