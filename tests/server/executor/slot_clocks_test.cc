// Clocks, joins, fences and reads of immediate tables: PROTOCOL.md C1 to C6, and the pitfalls of
// staleness bounds.
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "common/status/status.h"
#include "tests/server/executor/slot_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(SlotClocksTest, C1ATickSetsTheClockAndNeverCounts) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.TickTo(alice, Clock(7)), Is(Outcome::kOk));  // round 0 ends, 1 to 6 are skipped
  EXPECT_EQ(slot.min_clock(), Clock(7));
  EXPECT_THAT(slot.TickTo(alice, Clock(8)), Is(Outcome::kOk));
  EXPECT_EQ(slot.min_clock(), Clock(8));
}

TEST(SlotClocksTest, C1ATickNeverLowersTheClock) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.TickTo(alice, Clock(7));
  const TickOperation old{TestSlot::kFirst, Sequence(2), Clock(3),
                          Round(2),         1,           Outcome::kUnspecified};
  EXPECT_THAT(slot.Send(alice, old), Is(Outcome::kLate));
  EXPECT_EQ(slot.View().sessions[0].clock, Clock(7));
}

TEST(SlotClocksTest, ATickThatMakesNoSenseIsInvalid) {
  TestSlot slot(2);
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.Join(1);
  Sequence next(1);
  const auto tick = [&](int64_t clock, int64_t round) {
    const TickOperation operation{TestSlot::kFirst, next, Clock(clock),
                                  Round(round),     1,    Outcome::kUnspecified};
    next = next.Next();
    return slot.Send(alice, operation);
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(tick(0, 0), Is(Outcome::kInvalid));
  EXPECT_THAT(tick(1, -1), Is(Outcome::kInvalid));
  EXPECT_THAT(tick(kMost, 0), Is(Outcome::kInvalid));
  EXPECT_THAT(tick(-kMost, -kMost - 1), Is(Outcome::kInvalid));
  EXPECT_THAT(tick(1, 0), Is(Outcome::kOk));
  EXPECT_THAT(tick(1, 0), Is(Outcome::kInvalid));  // round 0 is open, but alice has ended it
  Player reader = slot.JoinClockless();
  EXPECT_THAT(slot.Tick(reader), Is(Outcome::kInvalid));
}

TEST(SlotClocksTest, C3AReaderMayBeTheStalenessAhead) {
  TestSlot slot(2);
  slot.Make(Ssp(2));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  for (int i = 0; i < 5; ++i) slot.Tick(bob);
  for (int i = 0; i < 7; ++i) slot.Tick(alice);
  EXPECT_THAT(slot.Ask(alice, 1, Clock(7)), IsOkAndHolds(true));   // needs 5, has 5
  EXPECT_THAT(slot.Ask(alice, 2, Clock(8)), IsOkAndHolds(false));  // needs 6
  slot.Tick(bob);
  EXPECT_THAT(slot.Served(), ElementsAre(2));
}

// Pitfall 5.
TEST(SlotClocksTest, C3ClocksNearZeroDoNotWrap) {
  TestSlot slot(2);
  slot.Make(Ssp(4));
  Player alice = slot.Join(0);
  slot.Join(1);
  EXPECT_THAT(slot.Ask(alice, 1, Clock(0)), IsOkAndHolds(true));  // needs -4
  EXPECT_THAT(slot.Ask(alice, 2, Clock(4)), IsOkAndHolds(true));  // needs 0
  EXPECT_THAT(slot.Ask(alice, 3, Clock(5)), IsOkAndHolds(false));
  EXPECT_THAT(slot.Ask(alice, 4, Clock(std::numeric_limits<int64_t>::min())), IsOkAndHolds(true));
  EXPECT_THAT(slot.Ask(alice, 5, Clock(std::numeric_limits<int64_t>::max())), IsOkAndHolds(false));
}

// Pitfall 4: the bound is on the reader's own clock, not on the slot's.
TEST(SlotClocksTest, C3StalenessIsMeasuredFromTheReadersClock) {
  TestSlot slot(3);
  slot.Make(Ssp(1));
  Player fast = slot.Join(0);
  Player middle = slot.Join(1);
  slot.Join(2);
  slot.Tick(fast);
  slot.Tick(fast);
  slot.Tick(middle);
  EXPECT_THAT(slot.Ask(middle, 1), IsOkAndHolds(true));  // clock 1 needs 0
  EXPECT_THAT(slot.Ask(fast, 2), IsOkAndHolds(false));   // clock 2 needs 1
}

// Pitfalls 3 and 11.
TEST(SlotClocksTest, C2AJumpReleasesEverythingAtOrBelowTheNewMinClock) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.TickTo(alice, Clock(9));
  ASSERT_THAT(slot.Ask(alice, 6, Clock(6)), IsOkAndHolds(false));
  ASSERT_THAT(slot.Ask(alice, 4, Clock(4)), IsOkAndHolds(false));
  ASSERT_THAT(slot.Ask(alice, 9, Clock(9)), IsOkAndHolds(false));
  slot.TickTo(bob, Clock(7));
  EXPECT_EQ(slot.min_clock(), Clock(7));
  EXPECT_THAT(slot.Served(), ElementsAre(6, 4));  // oldest first
  slot.Fence(bob);                                // 7 to 9
  EXPECT_THAT(slot.Served(), ElementsAre(9));
  EXPECT_EQ(slot.core.parked_reads(), 0u);
}

TEST(SlotClocksTest, C2TheMinClockKeepsItsLastValueWhenNobodyIsAlive) {
  TestSlot slot;
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  slot.TickTo(alice, Clock(5));
  slot.Leave(alice);
  EXPECT_EQ(slot.min_clock(), Clock(5));
  Player again = slot.Join(0, Clock(2));
  EXPECT_EQ(again.clock, Clock(5));
}

TEST(SlotClocksTest, C2ClocklessSessionsAreNotCountedAndWaitForNoClock) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player reader = slot.JoinClockless();
  EXPECT_THAT(slot.Ask(reader, 1, Clock(100)), IsOkAndHolds(true));  // before the start, too
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Tick(alice);
  slot.Tick(bob);
  EXPECT_EQ(slot.min_clock(), Clock(1));
  EXPECT_THAT(slot.Push(reader, 5, 1), Is(Outcome::kOk));
  EXPECT_THAT(slot.AskAfter(reader, 2, Clock(0), Sequence(2)), IsOkAndHolds(false));  // S6
}

// Pitfall 20: the stricter table decides how far a worker gets; every tick serves both.
TEST(SlotClocksTest, C3TablesOfDifferentStalenessShareTheClocks) {
  TestSlot slot(2);
  slot.Make(TestSlot::Spec(TableId(1), Ssp(0)));
  slot.Make(TestSlot::Spec(TableId(2), Ssp(3)));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Tick(alice);
  EXPECT_THAT(slot.Ask(alice, 1, Clock(1), TableId(1)), IsOkAndHolds(false));
  EXPECT_THAT(slot.Ask(alice, 2, Clock(1), TableId(2)), IsOkAndHolds(true));
  slot.Tick(bob);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

// Pitfalls 2 and 12: a worker that pushes nothing still ticks, in every slot.
TEST(SlotClocksTest, C1AWorkerThatPushesNothingMovesTheMinClockByTicking) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player idle = slot.Join(1);
  slot.Push(alice, 5, 1);
  slot.Tick(alice);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(false));
  slot.Tick(idle, 0);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

TEST(SlotClocksTest, C4AReadContainsTheReadersDecidedPushes) {
  TestSlot slot;
  slot.Make(Ssp(1));
  Player alice = slot.Join(0);
  slot.Push(alice, 5, 3);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(true));
  std::vector<float> out(1);
  const Key key = 5;
  ASSERT_OK_AND_ASSIGN(const ReadPosition at,
                       slot.core.Gather(alice.caller.session, kTable, {&key, 1}, true, out, 1));
  EXPECT_EQ(out[0], -3);
  EXPECT_EQ(at.sequence, Sequence(1));
  EXPECT_EQ(at.min_clock, Clock(0));
}

TEST(SlotClocksTest, C4APrefetchForALaterClockWaitsForIt) {
  TestSlot slot;
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  slot.Push(alice, 5, 3);
  ASSERT_THAT(slot.Ask(alice, 1, Clock(1)), IsOkAndHolds(false));  // for its own next clock
  slot.Tick(alice);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

// Pitfall 6.
TEST(SlotClocksTest, C5AJoinNeverLowersTheMinClock) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.TickTo(alice, Clock(5));
  slot.TickTo(bob, Clock(6));
  Player late = slot.Join(2, Clock(0));
  EXPECT_EQ(late.clock, Clock(5));
  EXPECT_EQ(slot.min_clock(), Clock(5));
  Player later = slot.Join(3, Clock(8));
  EXPECT_EQ(later.clock, Clock(8));
}

TEST(SlotClocksTest, C5TheSecondStepRaisesAClockAndNeverLowersIt) {
  TestSlot slot;
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  ASSERT_THAT(slot.Ask(alice, 1, Clock(4)), IsOkAndHolds(false));
  slot.core.SetSessionClock(alice.caller.session, Clock(4), slot.effects);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
  slot.core.SetSessionClock(alice.caller.session, Clock(2), slot.effects);
  EXPECT_EQ(slot.min_clock(), Clock(4));
  slot.core.SetSessionClock(SessionId{8, 8}, Clock(9), slot.effects);  // ignored
}

TEST(SlotClocksTest, C5NothingIsServedToWorkersBeforeEveryRankHasJoined) {
  TestSlot slot(3);
  slot.Make(TestSlot::Spec(TableId(1), Ssp(5)));
  slot.Make(TestSlot::Spec(TableId(2), Async()));
  slot.Make(TestSlot::Spec(TableId(3), Rounds(0)));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  for (uint32_t table = 1; table <= 3; ++table) {
    EXPECT_THAT(slot.Ask(alice, table, Clock(0), TableId(table)), IsOkAndHolds(false));
  }
  slot.Tick(alice);
  slot.Tick(bob);
  EXPECT_EQ(slot.min_clock(), Clock(0));
  EXPECT_EQ(slot.oldest(), Round(0));
  slot.Leave(bob);  // has joined once, which counts for ever
  EXPECT_THAT(slot.Served(), IsEmpty());
  slot.Join(2);
  EXPECT_TRUE(slot.View().started);
  EXPECT_THAT(slot.Served(), ElementsAre(1, 2, 3));
}

TEST(SlotClocksTest, C5RanksBeyondTheDeclaredOnesDoNotStartTheJob) {
  TestSlot slot(2);
  slot.Make(Async());
  Player extra = slot.Join(7);
  slot.Join(0);
  slot.Join(0);
  EXPECT_FALSE(slot.View().started);
  ASSERT_THAT(slot.Ask(extra, 1), IsOkAndHolds(false));
  slot.Join(1);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

TEST(SlotClocksTest, C6AFencedSessionLeavesTheClocksAndItsOperationsAreRefused) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Push(bob, 5, 1);
  slot.Tick(alice);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(false));
  ASSERT_THAT(slot.AskAfter(bob, 2, Clock(0), Sequence(9)), IsOkAndHolds(false));
  slot.Fence(bob);
  const auto released = slot.Released();
  ASSERT_THAT(released, SizeIs(2));
  EXPECT_EQ(released[0].id, 2u);
  EXPECT_THAT(released[0].status, HasDetail(Detail::kFenced));
  EXPECT_EQ(released[1].id, 1u);
  EXPECT_OK(released[1].status);
  EXPECT_THAT(slot.Push(bob, 5, 1), Is(Outcome::kGoneFenced));
  EXPECT_THAT(slot.Tick(bob), Is(Outcome::kGoneFenced));
  EXPECT_THAT(slot.Leave(bob), Is(Outcome::kGoneFenced));
  EXPECT_THAT(slot.Ask(bob, 3), HasDetail(Detail::kFenced));
  EXPECT_EQ(slot.Value(5), -1);  // what an immediate table applied stays
}

TEST(SlotClocksTest, ALeaveReleasesReadersAtOnceAndAnswersTheLeaversOwnReads) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Tick(alice);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(false));
  ASSERT_THAT(slot.Ask(bob, 2, Clock(1)), IsOkAndHolds(false));
  slot.Leave(bob);
  const auto released = slot.Released();
  ASSERT_THAT(released, SizeIs(2));
  EXPECT_THAT(released[0].status, HasDetail(Detail::kSessionUnknown));
  EXPECT_OK(released[1].status);
}

TEST(SlotClocksTest, ReadsParkedBySessionAreCapped) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  for (ReadId id = 0; id < kMaxParkedReadsPerSession; ++id) {
    ASSERT_THAT(slot.Ask(alice, id, Clock(1)), IsOkAndHolds(false));
  }
  EXPECT_THAT(slot.Ask(alice, 1'000, Clock(1)), HasDetail(Detail::kOverloaded));
  EXPECT_THAT(slot.Ask(alice, 1'001, Clock(0)), IsOkAndHolds(true));
  EXPECT_THAT(slot.Ask(bob, 1'002, Clock(1)), IsOkAndHolds(false));
  slot.core.CancelRead(7);
  EXPECT_THAT(slot.Ask(alice, 1'003, Clock(1)), IsOkAndHolds(false));
  slot.core.CancelRead(424'242);  // unknown: ignored
  EXPECT_EQ(slot.core.parked_reads(), kMaxParkedReadsPerSession + 1);
}

TEST(SlotClocksTest, JobsHaveClocksOfTheirOwn) {
  TestSlot slot;
  slot.Make(Ssp(0));
  constexpr JobId kOther{2};
  slot.core.DeclareJob({kOther, "other", 1, false});
  Player alice = slot.Join(0);
  slot.core.InstallSession({SessionId{1, 1}, Token(1), kOther, Rank(0), true, {"worker"}}, Clock(0),
                           slot.effects);
  slot.Tick(alice);
  EXPECT_EQ(slot.core.Jobs()[0].min_clock, Clock(1));
  EXPECT_EQ(slot.core.Jobs()[1].min_clock, Clock(0));
  EXPECT_THAT(slot.core.AskRead({SessionId{1, 1}, Token(1), {"worker"}},
                                {1, TestSlot::kFirst, Sequence(0), Clock(0), kTable}),
              HasDetail(Detail::kUnknownTable));  // tables belong to a job
}

}  // namespace
}  // namespace syncline
