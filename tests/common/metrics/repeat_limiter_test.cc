#include "common/metrics/repeat_limiter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"

namespace syncline {
namespace {

using std::chrono::seconds;
using ::testing::Optional;

TEST(RepeatLimiterTest, LetsOneThroughPerIntervalAndCountsTheRest) {
  ManualTimeSource time;
  RepeatLimiter limiter(time, seconds(10));
  EXPECT_THAT(limiter.Ask("full"), Optional(0u));
  EXPECT_EQ(limiter.Ask("full"), std::nullopt);
  time.Advance(seconds(9));
  EXPECT_EQ(limiter.Ask("full"), std::nullopt);
  time.Advance(seconds(1));
  EXPECT_THAT(limiter.Ask("full"), Optional(2u));
  EXPECT_EQ(limiter.Ask("full"), std::nullopt);
}

TEST(RepeatLimiterTest, KeysAreLimitedApart) {
  ManualTimeSource time;
  RepeatLimiter limiter(time, seconds(10));
  EXPECT_THAT(limiter.Ask("a"), Optional(0u));
  EXPECT_THAT(limiter.Ask("b"), Optional(0u));
}

TEST(RepeatLimiterTest, BeyondTheCapNewKeysShareOneLimit) {
  ManualTimeSource time;
  RepeatLimiter limiter(time, seconds(10));
  for (size_t i = 0; i < kMaxLimitedLogKeys; ++i) {
    EXPECT_THAT(limiter.Ask("key " + std::to_string(i)), Optional(0u));
  }
  EXPECT_THAT(limiter.Ask("one more"), Optional(0u));
  EXPECT_EQ(limiter.Ask("another"), std::nullopt);
  time.Advance(seconds(10));
  EXPECT_THAT(limiter.Ask("a third"), Optional(1u));
  EXPECT_THAT(limiter.Ask("key 0"), Optional(0u));
}

}  // namespace
}  // namespace syncline
