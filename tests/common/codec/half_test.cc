// binary16 against a reference in double arithmetic that shares no code with it.
#include "common/codec/half.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

// The value of a finite half by its definition.
double ValueOf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

// Nearest half by search over all magnitudes, which ascend with their bits; ties to even bits.
// 0x7c00 stands for 65,536, where infinity begins.
uint16_t NearestHalf(float value) {
  const double x = std::fabs(double{value});
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  uint16_t low = 0;
  uint16_t high = 0x7c00;
  if (x >= 65'536.0) return sign | high;
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (ValueOf(middle) <= x ? low : high) = middle;
  }
  const double above = high == 0x7c00 ? 65'536.0 : ValueOf(high);
  const double down = x - ValueOf(low);
  const double up = above - x;
  const bool take_high = up < down || (up == down && (high & 1) == 0);
  return static_cast<uint16_t>(sign | (take_high ? high : low));
}

TEST(HalfTest, EveryFiniteHalfDecodesToItsValueAndBack) {
  for (uint32_t h = 0; h < 65'536; ++h) {
    const auto half = static_cast<uint16_t>(h);
    if (((half >> 10) & 31) == 31) continue;
    const float value = FloatFromHalf(half);
    ASSERT_EQ(double{value}, ValueOf(half)) << h;
    ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << h;
    ASSERT_EQ(HalfFromFloat(value), half) << h;
  }
}

TEST(HalfTest, InfinitiesAndNansStayWhatTheyAre) {
  for (uint32_t h = 0; h < 65'536; ++h) {
    const auto half = static_cast<uint16_t>(h);
    if (((half >> 10) & 31) != 31) continue;
    const float value = FloatFromHalf(half);
    const uint16_t back = HalfFromFloat(value);
    if ((half & 1023) == 0) {
      ASSERT_TRUE(std::isinf(value));
      ASSERT_EQ(back, half);
    } else {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_EQ(back, half | 0x200) << "quiet, with its payload";
    }
  }
  // A NaN whose payload lies below the bits kept must not become infinity.
  EXPECT_TRUE(std::isnan(FloatFromHalf(HalfFromFloat(std::bit_cast<float>(0x7f800001u)))));
}

TEST(HalfTest, RoundsAtEveryBoundaryBetweenTwoHalves) {
  for (uint16_t half = 0; half < 0x7c00; ++half) {
    const double above = half == 0x7bff ? 65'536.0 : ValueOf(static_cast<uint16_t>(half + 1));
    const auto middle = static_cast<float>((ValueOf(half) + above) / 2);
    for (const float x : {std::nextafterf(middle, 0.0f), middle, std::nextafterf(middle, 1e9f)}) {
      ASSERT_EQ(HalfFromFloat(x), NearestHalf(x)) << x;
      ASSERT_EQ(HalfFromFloat(-x), NearestHalf(-x)) << x;
    }
  }
}

TEST(HalfTest, RoundsRandomFloatsToTheNearest) {
  const uint64_t seed = TestSeed(1);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 200'000; ++i) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(x)) continue;
    ASSERT_EQ(HalfFromFloat(x), NearestHalf(x)) << x;
  }
}

TEST(HalfTest, OverflowsToInfinityAndUnderflowsToZero) {
  EXPECT_EQ(HalfFromFloat(65'519.99f), 0x7bff);
  EXPECT_EQ(HalfFromFloat(65'520.0f), 0x7c00);
  EXPECT_EQ(HalfFromFloat(-1e30f), 0xfc00);
  EXPECT_EQ(HalfFromFloat(0x1p-25f), 0);
  EXPECT_EQ(HalfFromFloat(std::nextafterf(0x1p-25f, 1)), 1);
  EXPECT_EQ(HalfFromFloat(-std::numeric_limits<float>::denorm_min()), 0x8000);
}

}  // namespace
}  // namespace syncline
