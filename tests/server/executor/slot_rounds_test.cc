// Tables that apply by rounds: PROTOCOL.md R1 to R3, S4 and C6 where they meet rounds.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/status/status.h"
#include "tests/server/executor/slot_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SlotRoundsTest, R2ARoundShowsWhenEveryLiveRankHasTickedIt) {
  TestSlot slot(2);
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 1);
  slot.Push(bob, 5, 2);
  slot.Tick(alice);
  EXPECT_EQ(slot.Value(5), 0);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(false));
  slot.Tick(bob);
  EXPECT_EQ(slot.Value(5), -3);
  EXPECT_EQ(slot.oldest(), Round(1));
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

TEST(SlotRoundsTest, C3AReadOfARoundTableNeedsTheRoundStalenessPlusOneBelowItsClock) {
  TestSlot slot(2);
  slot.Make(Rounds(1));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Tick(alice);
  EXPECT_THAT(slot.Ask(alice, 1, Clock(1)), IsOkAndHolds(true));  // round -1
  slot.Tick(alice);
  EXPECT_THAT(slot.Ask(alice, 2, Clock(2)), IsOkAndHolds(false));  // round 0
  slot.Tick(bob);
  EXPECT_THAT(slot.Served(), ElementsAre(2));
}

TEST(SlotRoundsTest, R1MeanDividesByTheSamplesOfTheTicks) {
  TestSlot slot(2);
  slot.Make(Rounds(0), Reduce::kMean);
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 10, kTable, 999);  // the push's own count does not matter here
  slot.Push(bob, 6, 4);
  slot.Tick(alice, 3);
  slot.Tick(bob, 1);
  EXPECT_EQ(slot.Value(5), -2.5f);  // 10 / (3 + 1), although bob pushed no key 5
  EXPECT_EQ(slot.Value(6), -1);
}

TEST(SlotRoundsTest, R1SumDividesByOne) {
  TestSlot slot(2);
  slot.Make(Rounds(0), Reduce::kSum);
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 10);
  slot.Tick(alice, 3);
  slot.Tick(bob, 1);
  EXPECT_EQ(slot.Value(5), -10);
}

TEST(SlotRoundsTest, R1ARoundWithoutSamplesStepsNothing) {
  TestSlot slot;
  slot.Make(Rounds(0), Reduce::kMean);
  Player alice = slot.Join(0);
  slot.Push(alice, 5, 10);
  slot.Tick(alice, 0);
  EXPECT_EQ(slot.oldest(), Round(1));
  EXPECT_EQ(slot.core.Tables()[0].rows, 0u);
}

// Pitfall 16. In float, (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1.
TEST(SlotRoundsTest, R1ContributionsAreAddedInRankOrderWhoeverComesFirst) {
  const float values[] = {1e8f, 1.0f, -1e8f};
  for (const std::vector<int>& order :
       {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}) {
    TestSlot slot(3);
    slot.Make(Rounds(0));
    std::vector<Player> players(3);
    for (int rank : order) players[static_cast<size_t>(rank)] = slot.Join(rank);
    for (int rank : order) {
      slot.Push(players[static_cast<size_t>(rank)], 5, values[rank]);
      slot.Tick(players[static_cast<size_t>(rank)]);
    }
    EXPECT_EQ(slot.Value(5), -((1e8f + 1.0f) + -1e8f));
  }
}

// Pitfall 17: one step a row and round, not one a push.
TEST(SlotRoundsTest, R1ARowTakesOneOptimizerStepARound) {
  TestSlot slot(2);
  TableInfo info = TestSlot::Spec(kTable, Rounds(0));
  info.spec.optimizer = {"adagrad", {{"lr", 1.0}, {"initial_accumulator", 0.0}, {"eps", 1e-8}}};
  slot.Make(info);
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 3);
  slot.Push(alice, 5, 1);
  slot.Push(bob, 5, 4);
  slot.Tick(alice);
  slot.Tick(bob);
  const auto row = slot.core.FindRow(kTable, 5);
  ASSERT_TRUE(row.has_value());
  EXPECT_THAT(row->state, ElementsAre(64));  // (3 + 1 + 4)^2
}

// Pitfall 14.
TEST(SlotRoundsTest, S3ARetryAfterTheRoundClosedIsAnsweredAndNotAppliedAgain) {
  TestSlot slot;
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  slot.Push(alice, 5, 1);
  slot.Tick(alice);
  EXPECT_THAT(slot.PushAt(alice, Sequence(1), {5}, {1}), Is(Outcome::kOk));
  slot.Tick(alice);
  EXPECT_EQ(slot.Value(5), -1);
}

TEST(SlotRoundsTest, R2APushToAClosedRoundIsDroppedAndItsTickIsLate) {
  TestSlot slot;
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  slot.TickTo(alice, Clock(3));
  alice.clock = Clock(1);  // a push that names an old clock
  const PartOutcome push = slot.Push(alice, 5, 1);
  EXPECT_THAT(push, Is(Outcome::kDropped));
  EXPECT_EQ(push.oldest_round, Round(3));
  const PartOutcome tick = slot.Tick(alice);
  EXPECT_THAT(tick, Is(Outcome::kLate));
  EXPECT_EQ(tick.oldest_round, Round(3));
  EXPECT_EQ(slot.Value(5), 0);
  EXPECT_THAT(slot.PushAt(alice, push.sequence, {5}, {1}), Is(Outcome::kDropped));
}

TEST(SlotRoundsTest, R2AResentTickKeepsTheOutcomeItWasTold) {
  TestSlot slot(2);
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 1);
  slot.Push(bob, 5, 2);
  const TickOperation resent{TestSlot::kFirst, Sequence(2), Clock(1), Round(0), 1, Outcome::kLate};
  EXPECT_THAT(slot.Send(alice, resent), Is(Outcome::kLate));
  slot.Tick(bob);
  EXPECT_EQ(slot.Value(5), -2);
}

TEST(SlotRoundsTest, R2APushIntoARoundThatItsSessionHasEndedIsInvalid) {
  TestSlot slot(2);
  slot.Make(Rounds(1));
  Player alice = slot.Join(0);
  slot.Join(1);
  slot.Tick(alice);
  alice.clock = Clock(0);
  EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kInvalid));
}

TEST(SlotRoundsTest, R3ThePushWindowIsStalenessPlusOneBeyondTheOldestOpenRound) {
  TestSlot slot(2);
  slot.Make(Rounds(1));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  for (int64_t clock = 0; clock <= 2; ++clock) {  // oldest is 0, s + 1 is 2
    EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kOk));
    EXPECT_THAT(slot.Tick(alice), Is(Outcome::kOk));
  }
  EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kRetryNotReady));
  EXPECT_THAT(slot.Tick(alice), Is(Outcome::kRetryNotReady));
  slot.Tick(bob);
  EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kOk));  // the same number, now taken
}

TEST(SlotRoundsTest, R3AJumpIsJudgedByTheRoundItEnds) {
  TestSlot slot(2);
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  EXPECT_THAT(slot.TickTo(alice, Clock(50), 4), Is(Outcome::kOk));
  slot.Push(bob, 5, 1);
  slot.Tick(bob, 1);
  EXPECT_EQ(slot.Value(5), -1);
  EXPECT_EQ(slot.oldest(), Round(1));  // alice has ended rounds 1 to 49 with no samples
  slot.TickTo(bob, Clock(50));
  EXPECT_EQ(slot.oldest(), Round(50));
}

TEST(SlotRoundsTest, R3TheLargestStalenessOfTheJobsRoundTablesSetsTheWindow) {
  TestSlot slot(2);
  slot.Make(TestSlot::Spec(TableId(1), Rounds(0)));
  slot.Make(TestSlot::Spec(TableId(2), Rounds(2)));
  Player alice = slot.Join(0);
  slot.Join(1);
  for (int i = 0; i <= 3; ++i) EXPECT_THAT(slot.Tick(alice), Is(Outcome::kOk));
  EXPECT_THAT(slot.Tick(alice), Is(Outcome::kRetryNotReady));
}

TEST(SlotRoundsTest, R3WithoutRoundTablesNoTickIsTooFarAhead) {
  TestSlot slot(2);
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.Join(1);
  for (int i = 0; i < 300; ++i) ASSERT_THAT(slot.Tick(alice), Is(Outcome::kOk));
}

// Pitfall 13.
TEST(SlotRoundsTest, S4TickedContributionsOfASessionThatLeftStayInTheirRounds) {
  TestSlot slot(2);
  slot.Make(Rounds(0), Reduce::kMean);
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 6);
  slot.Tick(alice, 2);
  slot.Push(alice, 5, 100);  // round 1, never ticked
  slot.Leave(alice);
  slot.Push(bob, 5, 3);
  slot.Tick(bob, 1);
  EXPECT_EQ(slot.Value(5), -3);  // (6 + 3) / (2 + 1)
  slot.Tick(bob, 1);
  EXPECT_EQ(slot.Value(5), -3);
}

TEST(SlotRoundsTest, C6OpenContributionsOfAFencedSessionAreDiscarded) {
  TestSlot slot(2);
  slot.Make(Rounds(0), Reduce::kMean);
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 6);
  slot.Tick(alice, 2);
  slot.Push(bob, 5, 3);
  slot.Fence(alice);
  slot.Tick(bob, 1);
  EXPECT_EQ(slot.Value(5), -3);  // 3 / 1
}

TEST(SlotRoundsTest, C6AFenceClosesTheRoundsThatOnlyItsSessionHeldBack) {
  TestSlot slot(2);
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 1);
  slot.Tick(alice);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(false));
  slot.Fence(bob);
  EXPECT_EQ(slot.Value(5), -1);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

TEST(SlotRoundsTest, C6InAReproducibleJobNoRoundClosesWithoutALostRank) {
  TestSlot slot(2, true);
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 1);
  slot.Tick(alice);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(false));
  slot.Fence(bob);
  EXPECT_EQ(slot.Value(5), 0);
  EXPECT_EQ(slot.oldest(), Round(0));
  EXPECT_THAT(slot.Served(), IsEmpty());
}

TEST(SlotRoundsTest, C5AJoinerCountsAsHavingTickedTheRoundsBelowItsClock) {
  TestSlot slot(2);
  slot.Make(Rounds(0), Reduce::kMean);
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Tick(alice);
  slot.Tick(bob);
  slot.Push(bob, 5, 4);
  Player carol = slot.Join(2);
  EXPECT_EQ(carol.clock, Clock(1));
  slot.Tick(bob, 2);
  slot.Tick(alice, 2);
  EXPECT_EQ(slot.oldest(), Round(1));  // round 1 waits for carol
  slot.Tick(carol, 4);
  EXPECT_EQ(slot.Value(5), -0.5f);  // 4 / (2 + 2 + 4)
  Player dave = slot.Join(3, Clock(9));
  slot.Tick(alice);
  slot.Tick(bob);
  slot.Tick(carol);
  EXPECT_EQ(slot.oldest(), Round(3));  // dave stands at 9 and holds nobody back
}

TEST(SlotRoundsTest, R2WithNobodyAliveOnlyRoundsUpToTheLastTickClose) {
  TestSlot slot(2);
  slot.Make(Rounds(3));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(alice, 5, 1);
  slot.Tick(alice);
  slot.Tick(alice);
  slot.Push(bob, 5, 2);
  slot.Leave(alice);
  slot.Leave(bob);
  EXPECT_EQ(slot.oldest(), Round(2));
  EXPECT_EQ(slot.Value(5), -1);  // bob never ticked
  EXPECT_EQ(slot.min_clock(), Clock(0));
  Player again = slot.Join(0);
  EXPECT_EQ(again.clock, Clock(2));
}

TEST(SlotRoundsTest, ClocklessSessionsCannotPushIntoRounds) {
  TestSlot slot;
  slot.Make(Rounds(0));
  slot.Join(0);
  Player tool = slot.JoinClockless();
  EXPECT_THAT(slot.Push(tool, 5, 1), Is(Outcome::kInvalid));
}

TEST(SlotRoundsTest, TheRoundsClockPicksTheLearningRate) {
  TestSlot slot;
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  ASSERT_OK(slot.core.ChangeLearningRate(kTable, Clock(1), 0.5));
  slot.Push(alice, 5, 4);
  slot.Tick(alice);
  EXPECT_EQ(slot.Value(5), -4);
  slot.Push(alice, 5, 4);
  slot.Tick(alice);
  EXPECT_EQ(slot.Value(5), -6);
}

TEST(SlotRoundsTest, AHugeJumpOfTheClockTakesNoTime) {
  TestSlot slot;
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.TickTo(alice, Clock(int64_t{1} << 60)), Is(Outcome::kOk));
  EXPECT_EQ(slot.oldest(), Round(int64_t{1} << 60));
}

}  // namespace
}  // namespace syncline
