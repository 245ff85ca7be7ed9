#include "tests/integration/witness.h"

#include <algorithm>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;

// Two workers in lockstep on a table kept by hand.
class WitnessTest : public ::testing::Test {
 protected:
  WitnessTest()
      : plan_({.columns = 2, .rows = 6, .rows_per_push = 3, .clocks = 40}),
        table_(size_t{6} * plan_.config().dim()),
        writers_{{plan_, 0}, {plan_, 1}} {}

  void Apply(const WitnessWriter::Push& push) {
    const size_t dim = plan_.config().dim();
    for (size_t i = 0; i < push.keys.size(); ++i) {
      const auto row = static_cast<size_t>(
          std::find(plan_.keys().begin(), plan_.keys().end(), push.keys[i]) - plan_.keys().begin());
      for (size_t d = 0; d < dim; ++d) table_[row * dim + d] -= push.gradients[i * dim + d];
    }
  }
  // Both push in the clocks [0, clocks).
  void RunTo(int64_t clocks) {
    for (int64_t c = 0; c < clocks; ++c) {
      for (WitnessWriter& w : writers_) Apply(w.Next(c));
    }
  }

  const WitnessPlan plan_;
  std::vector<float> table_;
  WitnessWriter writers_[2];
};

TEST_F(WitnessTest, AcceptsWhatTheProtocolAllows) {
  WitnessChecker checker(plan_, {0, 1});
  for (int64_t c = 0; c < 40; ++c) {
    checker.Check(c, table_, &writers_[0]);
    for (WitnessWriter& w : writers_) Apply(w.Next(c));
  }
  EXPECT_EQ(checker.report().violations, 0u) << checker.report().examples[0];
  EXPECT_EQ(checker.report().stalest, 0);
  checker.CheckPrefixes(table_);
  EXPECT_EQ(checker.Applied(0), writers_[0].total());
}

TEST_F(WitnessTest, MeasuresStalenessAndRefusesOneClockTooMany) {
  RunTo(10);
  WitnessChecker checker(plan_, {0, 1});  // s = 1
  checker.Check(11, table_, nullptr);
  EXPECT_EQ(checker.report().violations, 0u);
  EXPECT_EQ(checker.report().stalest, 1);
  checker.Check(12, table_, nullptr);
  EXPECT_GT(checker.report().violations, 0u);
  EXPECT_THAT(checker.report().examples[0], HasSubstr("I1: clock 12"));
}

TEST_F(WitnessTest, RefusesAWorkerThatRanAhead) {
  RunTo(10);
  WitnessChecker checker(plan_, {0, 1});
  checker.Check(8, table_, nullptr);  // 9 may be under way at most
  EXPECT_EQ(checker.report().violations, 0u);
  checker.Check(7, table_, nullptr);
  EXPECT_GT(checker.report().violations, 0u);
}

TEST_F(WitnessTest, FindsADuplicateAndAHole) {
  RunTo(5);
  const std::vector<float> good = table_;
  const WitnessWriter::Push next = writers_[0].Next(5);
  for (const auto& damage :
       std::vector<std::function<void()>>{[&] {  // twice
                                            Apply(next);
                                            Apply(next);
                                          },
                                          [&] {  // the next but one without the next
                                            Apply(writers_[0].Next(5));
                                          }}) {
    table_ = good;
    damage();
    WitnessChecker checker(plan_, {});
    checker.CheckPrefixes(table_);
    EXPECT_GT(checker.report().violations, 0u);
    EXPECT_THAT(checker.report().examples[0], HasSubstr("I2"));
  }
}

TEST_F(WitnessTest, FindsALostOwnWriteAndAStepBack) {
  RunTo(5);
  const std::vector<float> before = table_;
  const WitnessWriter::Push push = writers_[0].Next(5);
  WitnessChecker checker(plan_, {});
  checker.Check(6, table_, &writers_[0]);
  EXPECT_THAT(checker.report().examples.at(0), HasSubstr("I3"));
  Apply(push);
  WitnessChecker monotonic(plan_, {});
  monotonic.Check(6, table_, &writers_[0]);
  EXPECT_EQ(monotonic.report().violations, 0u);
  monotonic.Check(6, before, nullptr);
  EXPECT_THAT(monotonic.report().examples.at(0), HasSubstr("I4"));
}

TEST(WitnessPlan, CountsWhatItPlans) {
  const WitnessPlan plan({.columns = 2, .rows = 5, .rows_per_push = 2, .clocks = 30});
  std::vector<int64_t> counts(5);
  for (int64_t c = 0; c < 30; ++c) {
    for (const uint32_t r : plan.Rows(1, c)) ++counts[r];
    for (uint32_t r = 0; r < 5; ++r) EXPECT_EQ(plan.Pushed(1, r, c), counts[r]);
  }
  EXPECT_EQ(plan.Pushed(1, 0, -3), 0);
  EXPECT_EQ(plan.Pushed(1, 0, 99), counts[0]);
}

}  // namespace
}  // namespace syncline
