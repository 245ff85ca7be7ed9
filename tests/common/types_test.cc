#include "common/types.h"

#include <type_traits>

#include "gtest/gtest.h"

namespace syncline {
namespace {

TEST(StrongNumberTest, ComparesAndCountsWithinOneType) {
  EXPECT_LT(Clock(3), Clock(4));
  EXPECT_EQ(Clock(3).Next(), Clock(4));
  EXPECT_EQ(Clock(3) - Clock(5), -2);
  EXPECT_EQ(Clock(0) - 4, Clock(-4));  // readers compute c - s without wrapping
}

TEST(StrongNumberTest, DifferentMeaningsDoNotConvert) {
  static_assert(!std::is_convertible_v<Clock, Sequence>);
  static_assert(!std::is_constructible_v<Clock, Sequence>);
  static_assert(!std::is_convertible_v<int64_t, Clock>);
}

TEST(SessionIdTest, PrintsThirtyTwoDigits) {
  EXPECT_EQ((SessionId{0xab, 1}.ToString()), "00000000000000ab0000000000000001");
  EXPECT_TRUE(SessionId{}.IsNull());
}

}  // namespace
}  // namespace syncline
