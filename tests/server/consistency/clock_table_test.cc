#include "server/consistency/clock_table.h"

#include <algorithm>
#include <limits>
#include <map>

#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

constexpr SessionId kAlice{0, 1};
constexpr SessionId kBob{0, 2};
constexpr SessionId kCarol{0, 3};

TEST(ClockTableTest, C2TheMinClockIsTheLeastOfTheLiveSessions) {
  ClockTable clocks;
  clocks.Declare(2);
  clocks.Install(kAlice, Rank(0), Clock(3));
  clocks.Install(kBob, Rank(1), Clock(5));
  EXPECT_EQ(clocks.min_clock(), Clock(3));
  clocks.Raise(kAlice, Clock(9));
  EXPECT_EQ(clocks.min_clock(), Clock(5));
  clocks.Remove(kBob);
  EXPECT_EQ(clocks.min_clock(), Clock(9));
}

TEST(ClockTableTest, C5ZeroUntilEveryDeclaredRankHasBeenThereOnce) {
  ClockTable clocks;
  clocks.Install(kAlice, Rank(0), Clock(4));
  EXPECT_FALSE(clocks.started());  // not declared yet
  clocks.Declare(2);
  clocks.Declare(1);  // changes nothing
  EXPECT_FALSE(clocks.started());
  clocks.Remove(kAlice);
  clocks.Install(kBob, Rank(0), Clock(4));
  EXPECT_FALSE(clocks.started());
  EXPECT_EQ(clocks.min_clock(), Clock(0));
  clocks.Install(kCarol, Rank(1), Clock(6));
  EXPECT_TRUE(clocks.started());
  EXPECT_EQ(clocks.min_clock(), Clock(4));
}

TEST(ClockTableTest, C5AJobWithoutRanksStartsAtOnce) {
  ClockTable clocks;
  clocks.Declare(0);
  EXPECT_TRUE(clocks.started());
  EXPECT_EQ(clocks.least_live(), std::nullopt);
}

TEST(ClockTableTest, RaisingNeverLowersAndIgnoresStrangers) {
  ClockTable clocks;
  clocks.Declare(1);
  clocks.Install(kAlice, Rank(0), Clock(4));
  clocks.Raise(kAlice, Clock(2));
  clocks.Raise(kBob, Clock(1));
  clocks.Remove(kBob);
  EXPECT_EQ(clocks.ClockOf(kAlice), Clock(4));
  EXPECT_EQ(clocks.ClockOf(kBob), std::nullopt);
  EXPECT_EQ(clocks.Install(kAlice, Rank(0), Clock(8)), Clock(4));  // repeated: nothing changes
}

TEST(ClockTableTest, C2RandomCallsKeepTheMinClockMonotonicAndRight) {
  const uint64_t seed = TestSeed(7);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (int run = 0; run < 100; ++run) {
    ClockTable clocks;
    clocks.Declare(1);
    std::map<uint64_t, int64_t> model;
    int64_t least = 0;
    uint64_t next = 0;
    for (int step = 0; step < 100; ++step) {
      const uint64_t who = random.Below(next + 1);
      const auto to = static_cast<int64_t>(random.Below(40));
      switch (random.Below(3)) {
        case 0:
          ++next;
          model[next] = std::max(to, least);
          EXPECT_EQ(clocks.Install({0, next}, Rank(0), Clock(to)), Clock(model[next]));
          break;
        case 1:
          if (model.contains(who)) model[who] = std::max(model[who], to);
          clocks.Raise({0, who}, Clock(to));
          break;
        default:
          model.erase(who);
          clocks.Remove({0, who});
      }
      if (!model.empty()) {
        int64_t now = std::numeric_limits<int64_t>::max();
        for (const auto& [id, clock] : model) now = std::min(now, clock);
        least = std::max(least, now);
      }
      EXPECT_EQ(clocks.min_clock(), Clock(least));
    }
  }
}

}  // namespace
}  // namespace syncline
