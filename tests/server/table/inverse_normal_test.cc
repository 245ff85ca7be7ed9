#include "server/table/inverse_normal.h"

#include <cmath>

#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

TEST(PortableLogTest, AgreesWithTheCLibrary) {
  const uint64_t seed = TestSeed(9);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::exp(600 * (random.Uniform() * 2 - 1));
    ASSERT_NEAR(PortableLog(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  EXPECT_EQ(PortableLog(1), 0.0);
}

// The first three are the check values of the paper.
TEST(InverseNormalTest, GivesKnownQuantiles) {
  EXPECT_NEAR(InverseNormal(0.25), -0.6744897501960817, 1e-15);
  EXPECT_NEAR(InverseNormal(0.001), -3.090232306167814, 1e-14);
  EXPECT_NEAR(InverseNormal(1e-20), -9.262340089798408, 1e-14);
  EXPECT_NEAR(InverseNormal(0.975), 1.959963984540054, 1e-15);
  EXPECT_EQ(InverseNormal(0.5), 0.0);
}

TEST(InverseNormalTest, IsTheInverseOfTheDistribution) {
  for (double z = -8; z < 5; z += 0.01) {
    const double p = 0.5 * std::erfc(-z / std::sqrt(2.0));
    ASSERT_NEAR(InverseNormal(p), z, 1e-9) << p;
  }
}

TEST(InverseNormalTest, IsOddAroundOneHalf) {
  for (double p : {0.25, 0.0625, 0.0009765625, 0x1.0p-50}) {
    EXPECT_EQ(InverseNormal(p), -InverseNormal(1 - p)) << p;
  }
}

}  // namespace
}  // namespace syncline
