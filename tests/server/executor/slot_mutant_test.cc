// Built with an admission that serves one clock too early: the witness rows must show it.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/server/executor/slot_history.h"

#ifndef SYNCLINE_MUTANT_SERVE_EARLY
#error "this test is for the mutant"
#endif

namespace syncline {
namespace {

TEST(SlotMutantTest, ReadsServedOneClockEarlyAreCaughtByTheWitnessRows) {
  size_t caught = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const HistoryReport report = RunSlotHistory({.seed = seed, .compare_with_model = false});
    if (!report.violations.empty()) ++caught;
  }
  EXPECT_GT(caught, 10u);
}

TEST(SlotMutantTest, ReadsServedOneClockEarlyAreCaughtByTheModel) {
  size_t caught = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    if (!RunSlotHistory({.seed = seed}).difference.empty()) ++caught;
  }
  EXPECT_GT(caught, 50u);
}

}  // namespace
}  // namespace syncline
