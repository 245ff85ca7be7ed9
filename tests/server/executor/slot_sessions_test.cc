// Sessions, numbers and outcomes: PROTOCOL.md S1 to S7.
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

TEST(SlotSessionsTest, S1AnUnknownSessionIsRefusedAndCreatesNothing) {
  TestSlot slot;
  slot.Make(Async());
  Player stranger{{SessionId{9, 9}, Token(1), {"worker"}}, Sequence(0), Clock(0)};
  EXPECT_THAT(slot.Push(stranger, 7, 1), Is(Outcome::kGoneSessionUnknown));
  EXPECT_THAT(slot.Tick(stranger), Is(Outcome::kGoneSessionUnknown));
  EXPECT_THAT(slot.Leave(stranger), Is(Outcome::kGoneSessionUnknown));
  EXPECT_THAT(slot.Ask(stranger, 1), HasDetail(Detail::kSessionUnknown));
  EXPECT_THAT(slot.View().sessions, IsEmpty());
  EXPECT_EQ(slot.core.Tables()[0].rows, 0u);
}

TEST(SlotSessionsTest, S1ASessionIsBoundToItsPrincipalAndToken) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  Player thief = alice;
  thief.caller.principal.name = "mallory";
  EXPECT_THAT(slot.Push(thief, 1, 1), Is(Outcome::kGoneSessionUnknown));
  Player guesser = alice;
  guesser.caller.token = alice.caller.token + 1;
  EXPECT_THAT(slot.Push(guesser, 1, 1), Is(Outcome::kGoneSessionUnknown));
  Player old = alice;
  old.caller.token = alice.caller.token - 1;
  EXPECT_THAT(slot.Push(old, 1, 1), Is(Outcome::kGoneFenced));
  EXPECT_EQ(slot.Value(1), 0);
  EXPECT_THAT(slot.Push(alice, 1, 1), Is(Outcome::kOk));  // number 1 is still free
}

TEST(SlotSessionsTest, S1InstallingTwiceChangesNothingAndAnEndedSessionNeverComesBack) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.Push(alice, 1, 1);
  slot.Tick(alice);
  const SessionDeclaration again{
      alice.caller.session, alice.caller.token, kJob, Rank(0), true, {"worker"}};
  EXPECT_EQ(slot.core.InstallSession(again, Clock(0), slot.effects), Clock(1));
  EXPECT_EQ(slot.View().sessions[0].last, Sequence(2));
  slot.Leave(alice);
  slot.core.InstallSession(again, Clock(0), slot.effects);
  EXPECT_THAT(slot.View().sessions, IsEmpty());
}

TEST(SlotSessionsTest, S2OperationsApplyOnceInOrderAndGapsNameTheExpectedNumber) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.PushAt(alice, Sequence(1), {5}, {1}), Is(Outcome::kOk));
  EXPECT_THAT(slot.PushAt(alice, Sequence(1), {5}, {1}), Is(Outcome::kOk));  // duplicate
  const PartOutcome gap = slot.PushAt(alice, Sequence(3), {5}, {4});
  EXPECT_THAT(gap, Is(Outcome::kRetryOutOfOrder));
  EXPECT_EQ(gap.expected, Sequence(2));
  EXPECT_EQ(slot.Value(5), -1);
  EXPECT_THAT(slot.PushAt(alice, Sequence(2), {5}, {2}), Is(Outcome::kOk));
  EXPECT_THAT(slot.PushAt(alice, Sequence(3), {5}, {4}), Is(Outcome::kOk));
  EXPECT_EQ(slot.Value(5), -7);
}

TEST(SlotSessionsTest, S2NumberZeroIsNeverDecided) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.PushAt(alice, Sequence(0), {5}, {1}), Is(Outcome::kRetryOutOfOrder));
  EXPECT_EQ(slot.Value(5), 0);
}

// Pitfall 1: nothing but the numbers orders a tick after the pushes of its clock.
TEST(SlotSessionsTest, S2ATickCannotOvertakeAPush) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  slot.Tick(bob);
  ASSERT_THAT(slot.Ask(bob, 1), IsOkAndHolds(false));
  const TickOperation early{TestSlot::kFirst, Sequence(2), Clock(1),
                            Round(0),         1,           Outcome::kUnspecified};
  EXPECT_THAT(slot.Send(alice, early), Is(Outcome::kRetryOutOfOrder));
  EXPECT_THAT(slot.Served(), IsEmpty());
  slot.Push(alice, 5, 1);
  EXPECT_THAT(slot.Send(alice, early), Is(Outcome::kOk));
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

TEST(SlotSessionsTest, S3InvalidOperationsUseUpTheirNumberAndAreAnsweredAlikeAgain) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  const PartOutcome first = slot.PushAt(alice, Sequence(1), {6, 5}, {1, 1});  // not ascending
  EXPECT_THAT(first, Is(Outcome::kInvalid));
  EXPECT_THAT(first.error, StatusIs(absl::StatusCode::kInvalidArgument));
  const PartOutcome again = slot.PushAt(alice, Sequence(1), {5, 6}, {1, 1});  // now well formed
  EXPECT_THAT(again, Is(Outcome::kInvalid));
  EXPECT_EQ(again.error, first.error);
  EXPECT_EQ(slot.Value(5), 0);
  EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kOk));
  EXPECT_EQ(alice.last, Sequence(2));
}

TEST(SlotSessionsTest, S3RefusalsThatMayPassLeaveTheNumberFree) {
  TestSlot slot(2);
  slot.Make(Rounds(0));
  Player alice = slot.Join(0);
  slot.Join(1);
  slot.Tick(alice);
  slot.Tick(alice);  // rounds 0 and 1; the window reaches one beyond round 0
  EXPECT_THAT(slot.Push(alice, 1, 1), Is(Outcome::kRetryNotReady));
  EXPECT_THAT(slot.Tick(alice), Is(Outcome::kRetryNotReady));
  EXPECT_EQ(slot.View().sessions[0].last, Sequence(2));
}

TEST(SlotSessionsTest, S3APlaceholderUsesUpItsNumberWithTheOutcomeItStates) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  for (Outcome outcome : {Outcome::kCancelled, Outcome::kDropped, Outcome::kInvalid}) {
    PushOperation placeholder = slot.Operation(alice, alice.last.Next());
    placeholder.placeholder = outcome;
    EXPECT_THAT(slot.Send(alice, placeholder), Is(outcome));
    EXPECT_THAT(slot.PushAt(alice, alice.last, {5}, {1}), Is(outcome));  // the retry comes late
  }
  PushOperation nonsense = slot.Operation(alice, alice.last.Next());
  nonsense.placeholder = Outcome::kRetryNotReady;
  EXPECT_THAT(slot.Send(alice, nonsense), Is(Outcome::kInvalid));
  EXPECT_EQ(slot.Value(5), 0);
}

TEST(SlotSessionsTest, S3APlaceholderForADecidedNumberAnswersItsStoredOutcome) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.Push(alice, 5, 1);
  PushOperation placeholder = slot.Operation(alice, Sequence(1));
  placeholder.placeholder = Outcome::kCancelled;
  EXPECT_THAT(slot.Send(alice, placeholder), Is(Outcome::kOk));
}

TEST(SlotSessionsTest, S4TheLast64OutcomesAreKeptAndOlderNumbersAreToldDecided) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.PushAt(alice, Sequence(1), {6, 5}, {1, 1});  // invalid
  for (uint64_t n = 2; n <= kOutcomeWindow; ++n) slot.Push(alice, 5, 1);
  EXPECT_THAT(slot.PushAt(alice, Sequence(1), {5}, {1}), Is(Outcome::kInvalid));
  slot.Push(alice, 5, 1);  // number 65
  EXPECT_THAT(slot.PushAt(alice, Sequence(1), {5}, {1}), Is(Outcome::kGoneAlreadyDecided));
  EXPECT_THAT(slot.PushAt(alice, Sequence(2), {5}, {1}), Is(Outcome::kOk));
  EXPECT_EQ(slot.Value(5), -static_cast<float>(kOutcomeWindow));
}

TEST(SlotSessionsTest, S4ARetriedLeaveIsAnsweredUnknownWhichMeansDone) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.Leave(alice), Is(Outcome::kOk));
  EXPECT_THAT(slot.core.Leave(alice.caller, TestSlot::kFirst, Sequence(1), slot.effects),
              Is(Outcome::kGoneSessionUnknown));
}

TEST(SlotSessionsTest, S4ALeaveWaitsForTheOperationsBeforeIt) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.core.Leave(alice.caller, TestSlot::kFirst, Sequence(2), slot.effects),
              Is(Outcome::kRetryOutOfOrder));
  EXPECT_THAT(slot.View().sessions, SizeIs(1));
}

TEST(SlotSessionsTest, S5APushIsAtomic) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(slot.PushAt(alice, Sequence(1), {1, 2, 3}, {1, 1, nan}), Is(Outcome::kInvalid));
  EXPECT_THAT(slot.PushAt(alice, Sequence(2), {1, 2, 2}, {1, 1, 1}), Is(Outcome::kInvalid));
  EXPECT_EQ(slot.core.Tables()[0].rows, 0u);
}

TEST(SlotSessionsTest, S6AReadWaitsForTheOperationItNames) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.AskAfter(alice, 1, Clock(0), Sequence(2)), IsOkAndHolds(false));
  slot.Push(alice, 5, 1);
  EXPECT_THAT(slot.Served(), IsEmpty());
  slot.Push(alice, 5, 1);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
  EXPECT_THAT(slot.AskAfter(alice, 2, Clock(0), Sequence(2)), IsOkAndHolds(true));
}

TEST(SlotSessionsTest, S6AReadNeedsBothItsSequenceAndItsClock) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  Player bob = slot.Join(1);
  ASSERT_THAT(slot.AskAfter(alice, 1, Clock(1), Sequence(2)), IsOkAndHolds(false));
  slot.Tick(bob);
  slot.Tick(alice);  // min clock 1, but operation 2 is missing
  EXPECT_THAT(slot.Served(), IsEmpty());
  slot.Push(alice, 5, 1);
  EXPECT_THAT(slot.Served(), ElementsAre(1));
  ASSERT_THAT(slot.AskAfter(alice, 2, Clock(2), Sequence(3)), IsOkAndHolds(false));
  slot.Tick(alice);  // decides operation 3, but bob is in clock 1
  EXPECT_THAT(slot.Served(), IsEmpty());
  slot.Tick(bob);
  EXPECT_THAT(slot.Served(), ElementsAre(2));
}

TEST(SlotSessionsTest, S6ARefusedOperationIsDecidedToo) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  ASSERT_THAT(slot.AskAfter(alice, 1, Clock(0), Sequence(1)), IsOkAndHolds(false));
  slot.PushAt(alice, Sequence(1), {2, 1}, {1, 1});
  EXPECT_THAT(slot.Served(), ElementsAre(1));
}

TEST(SlotSessionsTest, S7AnotherIncarnationIsToldToResumeAndNothingIsChanged) {
  TestSlot slot(1, false, Incarnation(3));
  slot.Make(Async());
  Player alice = slot.Join(0);
  PushOperation push = slot.Operation(alice, Sequence(1));
  for (Incarnation other : {Incarnation(2), Incarnation(4), Incarnation(0)}) {
    push.incarnation = other;
    push.placeholder = Outcome::kCancelled;
    const PartOutcome answer = slot.Send(alice, push);
    EXPECT_THAT(answer, Is(Outcome::kRetryResumeFirst));
    EXPECT_EQ(answer.incarnation, Incarnation(3));
    EXPECT_THAT(slot.core.AskRead(alice.caller, {1, other, Sequence(0), Clock(0), kTable}),
                HasDetail(Detail::kResumeFirst));
    EXPECT_THAT(slot.core.Resume(alice.caller, other), Is(Outcome::kRetryResumeFirst));
  }
  EXPECT_EQ(slot.View().sessions[0].last, Sequence(0));
  EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kOk));
}

TEST(SlotSessionsTest, AnUnknownSessionOfAnOlderIncarnationIsToldThatItIsLost) {
  TestSlot slot(1, false, Incarnation(2));
  slot.Make(Async());
  const Caller ghost{SessionId{7, 7}, Token(1), {"worker"}};
  EXPECT_THAT(slot.core.Resume(ghost, Incarnation(1)), Is(Outcome::kGoneSessionLost));
  EXPECT_THAT(slot.core.Resume(ghost, Incarnation(2)), Is(Outcome::kGoneSessionUnknown));
}

TEST(SlotSessionsTest, ResumeConfirmsTheSessionAndStatesItsLastOperation) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.Push(alice, 5, 1);
  slot.Tick(alice);
  const PartOutcome resumed = slot.core.Resume(alice.caller, TestSlot::kFirst);
  EXPECT_THAT(resumed, Is(Outcome::kOk));
  EXPECT_EQ(resumed.sequence, Sequence(2));
  slot.Fence(alice);
  EXPECT_THAT(slot.core.Resume(alice.caller, TestSlot::kFirst), Is(Outcome::kGoneFenced));
}

TEST(SlotSessionsTest, AFailedJobReleasesItsReadsAndRefusesItsOperations) {
  TestSlot slot(2);
  slot.Make(Ssp(0));
  Player alice = slot.Join(0);
  slot.Push(alice, 5, 1);
  ASSERT_THAT(slot.Ask(alice, 1), IsOkAndHolds(false));  // rank 1 has not joined
  slot.core.FailJob(kJob, "rank 1 did not join within start_timeout", slot.effects);
  const auto released = slot.Released();
  ASSERT_THAT(released, SizeIs(1));
  EXPECT_THAT(released[0].status, HasDetail(Detail::kJobFailed));
  EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kGoneJobFailed));
  EXPECT_THAT(slot.Ask(alice, 2), HasDetail(Detail::kJobFailed));
  EXPECT_EQ(slot.Value(5), -1);
}

}  // namespace
}  // namespace syncline
