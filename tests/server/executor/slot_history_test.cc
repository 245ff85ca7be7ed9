#include "tests/server/executor/slot_history.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/seed.h"

namespace syncline {
namespace {

using ::testing::IsEmpty;

TEST(SlotHistoryTest, RandomHistoriesFollowThePlainModelAndKeepEveryPromise) {
  const uint64_t first = TestSeed(1);
  const bool one = first != 1;
  HistoryReport total;
  for (uint64_t seed = first; seed < first + (one ? 1 : 400); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const HistoryReport report = RunSlotHistory({.seed = seed});
    ASSERT_EQ(report.difference, "");
    ASSERT_THAT(report.violations, IsEmpty());
    total.served += report.served;
    total.parked += report.parked;
    total.retried += report.retried;
    total.as_stale_as_allowed += report.as_stale_as_allowed;
  }
  if (one) return;
  // The histories reach what they are for.
  EXPECT_GT(total.served, 10'000u);
  EXPECT_GT(total.parked, 2'000u);
  EXPECT_GT(total.retried, 1'000u);
  EXPECT_GT(total.as_stale_as_allowed, 100u);
}

}  // namespace
}  // namespace syncline
