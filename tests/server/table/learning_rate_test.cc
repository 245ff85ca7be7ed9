#include "server/table/learning_rate.h"

#include <cmath>

#include "gtest/gtest.h"

#include "common/limits.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

TEST(LearningRateTest, IsTheBaseUntilAChange) {
  LearningRate rate(0.5f);
  EXPECT_EQ(rate.At(Clock(-1)), 0.5f);
  EXPECT_EQ(rate.At(Clock(1'000'000)), 0.5f);
}

TEST(LearningRateTest, AChangeHoldsForPushesOfItsClockAndLater) {
  LearningRate rate(1);
  ASSERT_OK(rate.Change(Clock(10), 0.5));
  ASSERT_OK(rate.Change(Clock(20), 0.25));
  EXPECT_EQ(rate.At(Clock(9)), 1.0f);
  EXPECT_EQ(rate.At(Clock(10)), 0.5f);
  EXPECT_EQ(rate.At(Clock(19)), 0.5f);
  EXPECT_EQ(rate.At(Clock(20)), 0.25f);
}

TEST(LearningRateTest, ChangesMayArriveInAnyOrder) {
  LearningRate rate(1);
  ASSERT_OK(rate.Change(Clock(20), 0.25));
  ASSERT_OK(rate.Change(Clock(10), 0.5));
  EXPECT_EQ(rate.At(Clock(15)), 0.5f);
  EXPECT_EQ(rate.At(Clock(25)), 0.25f);
}

TEST(LearningRateTest, ASecondChangeFromTheSameClockReplacesTheFirst) {
  LearningRate rate(1);
  ASSERT_OK(rate.Change(Clock(10), 0.5));
  ASSERT_OK(rate.Change(Clock(10), 2));
  EXPECT_EQ(rate.At(Clock(10)), 2.0f);
}

TEST(LearningRateTest, RefusesWhatIsNoPositiveFloat) {
  LearningRate rate(1);
  for (double lr : {0.0, -1.0, double{NAN}, double{INFINITY}, 1e39, 1e-60}) {
    EXPECT_THAT(rate.Change(Clock(0), lr), StatusIs(absl::StatusCode::kInvalidArgument)) << lr;
  }
  EXPECT_EQ(rate.At(Clock(0)), 1.0f);
}

TEST(LearningRateTest, TheNumberOfChangesIsBounded) {
  LearningRate rate(1);
  for (size_t i = 0; i < kMaxLearningRateChanges; ++i) {
    ASSERT_OK(rate.Change(Clock(static_cast<int64_t>(i)), 0.5));
  }
  const auto status = rate.Change(Clock(-1), 0.5);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(status, HasDetail(Detail::kOverloaded));
  EXPECT_OK(rate.Change(Clock(3), 0.25));
}

}  // namespace
}  // namespace syncline
