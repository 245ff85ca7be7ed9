#include "server/executor/slot_host.h"

#include <atomic>
#include <thread>

#include "gmock/gmock.h"

#include "common/status/status.h"
#include "tests/server/executor/host_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

auto AllAre(Outcome outcome) { return Each(Field("outcome", &PartOutcome::outcome, outcome)); }

TEST(SlotHostTest, APushOverAllSlotsIsReadBack) {
  ManualTimeSource time;
  TestHost test(time);
  HostPlayer alice = test.Join(0);
  const std::vector<Key> keys = TestHost::OurKeys(50);
  EXPECT_THAT(test.Push(alice, keys, 0.5f), AllAre(Outcome::kOk));

  PullAnswer answer =
      PullTicket::Start(test, alice, TestHost::FrameOf(TestHost::MakePull(alice, keys)))->Wait();
  ASSERT_OK(answer.reply.error);
  size_t rows = 0;
  for (const PullPartReply& part : answer.reply.parts) {
    EXPECT_EQ(part.sequence, Sequence(1));
    EXPECT_THAT(Floats(part.values), Each(-0.5f));  // 0 - 1 * 0.5
    rows += Floats(part.values).size() / kDim;
  }
  EXPECT_EQ(rows, 50u);
}

TEST(SlotHostTest, ASlotOfAnotherServerAnswersWrongOwnerAndTheOthersAreApplied) {
  ManualTimeSource time;
  TestHost test(time);
  HostPlayer alice = test.Join(0);
  Key foreign = 0;
  while (TestHost::Ours(foreign)) ++foreign;
  const Key ours = TestHost::OurKeys(1)[0];
  for (const PartOutcome& outcome : test.Push(alice, {ours, foreign}, 1)) {
    const bool is_ours = outcome.slot == SlotOf(kHostTable, ours, TestHost::kSlots);
    EXPECT_EQ(outcome.outcome, is_ours ? Outcome::kOk : Outcome::kRetryWrongOwner);
    EXPECT_EQ(DetailOf(outcome.error), is_ours ? Detail::kNone : Detail::kWrongOwner);
  }
  const PullAnswer answer =
      PullTicket::Start(test, alice, TestHost::FrameOf(TestHost::MakePull(alice, {foreign})))
          ->Wait();
  EXPECT_THAT(answer.reply.error, HasDetail(Detail::kWrongOwner));
}

TEST(SlotHostTest, BeforeTheFirstMapOperationsAreToBeRetried) {
  ManualTimeSource time;
  TimerQueue timers(time, TimerQueue::Threading::kNone);
  SlotHost host({.executors = 1}, timers);
  std::vector<PartOutcome> outcomes;
  host.Leave({}, {{SlotId(3), Incarnation(1), Sequence(1)}},
             [&](std::vector<PartOutcome> answer) { outcomes = std::move(answer); });
  EXPECT_THAT(outcomes, AllAre(Outcome::kRetryUnavailable));
}

TEST(SlotHostTest, AReadThatIsTooFarAheadParksUntilTheOthersTick) {
  ManualTimeSource time;
  TestHost test(time, /*executors=*/2, /*ranks=*/2);
  HostPlayer alice = test.Join(0);
  HostPlayer bob = test.Join(1);
  const std::vector<Key> keys = TestHost::OurKeys(20);
  test.Push(alice, keys, 1);
  EXPECT_THAT(test.Tick(alice), AllAre(Outcome::kOk));
  std::vector<bool> parked;  // touched on executors only, one after the other
  auto ticket = PullTicket::Start(test, alice, TestHost::FrameOf(TestHost::MakePull(alice, keys)),
                                  [&](bool is_parked) { parked.push_back(is_parked); });
  EXPECT_EQ(test.host.parked_reads(), 1u);  // in one slot at a time (S6)
  test.Push(bob, keys, 2);
  test.Tick(bob);
  const PullAnswer answer = ticket->Wait();
  ASSERT_OK(answer.reply.error);
  for (const PullPartReply& part : answer.reply.parts) {
    EXPECT_THAT(Floats(part.values), Each(-3.0f));  // both pushes
    EXPECT_EQ(part.min_clock, Clock(1));
  }
  EXPECT_EQ(test.host.parked_reads(), 0u);
  EXPECT_THAT(parked, SizeIs(::testing::Ge(2u)));
  EXPECT_EQ(parked.size() % 2, 0u);
}

TEST(SlotHostTest, AParkedReadEndsAtItsDeadline) {
  ManualTimeSource time;
  TestHost test(time, 2, /*ranks=*/2);
  HostPlayer alice = test.Join(0);
  test.Join(1);
  test.Tick(alice);
  auto pull = TestHost::MakePull(alice, TestHost::OurKeys(3));
  pull->frame.deadline_ms = 100;
  auto ticket = PullTicket::Start(test, alice, TestHost::FrameOf(pull));
  time.Advance(milliseconds(99));
  EXPECT_EQ(test.timers.RunDue(), 0u);
  time.Advance(milliseconds(1));
  EXPECT_EQ(test.timers.RunDue(), 1u);
  EXPECT_THAT(ticket->Wait().reply.error, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(test.host.parked_reads(), 0u);
}

TEST(SlotHostTest, AParkedReadWhoseCallerLeavesIsCancelled) {
  ManualTimeSource time;
  TestHost test(time, 2, /*ranks=*/2);
  HostPlayer alice = test.Join(0);
  test.Join(1);
  test.Tick(alice);
  auto ticket = PullTicket::Start(
      test, alice, TestHost::FrameOf(TestHost::MakePull(alice, TestHost::OurKeys(3))));
  ticket->handle->Cancel();
  ticket->handle->Cancel();
  EXPECT_THAT(ticket->Wait().reply.error, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(test.host.parked_reads(), 0u);
}

TEST(SlotHostTest, AFenceAnswersTheSessionsParkedReads) {
  ManualTimeSource time;
  TestHost test(time, 2, /*ranks=*/2);
  HostPlayer alice = test.Join(0);
  test.Join(1);
  test.Tick(alice);
  auto ticket = PullTicket::Start(
      test, alice, TestHost::FrameOf(TestHost::MakePull(alice, TestHost::OurKeys(3))));
  test.host.Fence(alice.caller.session);
  EXPECT_THAT(ticket->Wait().reply.error, HasDetail(Detail::kFenced));
}

TEST(SlotHostTest, BagsArePooledOverAllSlotsIntoOneSumPerBag) {
  ManualTimeSource time;
  TestHost test(time);
  HostPlayer alice = test.Join(0);
  const std::vector<Key> keys = TestHost::OurKeys(30);
  for (size_t i = 0; i < keys.size(); ++i) {
    test.Push(alice, {keys[i]}, static_cast<float>(i));
  }
  // Bag 0 holds all keys, bag 1 none, bag 2 the first key twice.
  auto pull = TestHost::MakePull(alice, keys);
  pull->frame.bag_count = 3;
  pull->numbers.reserve(2 * pull->keys.size());
  for (size_t p = 0; p < pull->keys.size(); ++p) {
    std::vector<uint32_t> offsets = {0};
    std::vector<uint32_t> ids;
    for (const Key key : pull->keys[p]) {
      ids.push_back(0);
      if (key == keys[0]) ids.insert(ids.end(), 2, 2);
      offsets.push_back(static_cast<uint32_t>(ids.size()));
    }
    pull->numbers.push_back(offsets);
    pull->frame.parts[p].bag_offsets = BytesOf(pull->numbers.back());
    pull->numbers.push_back(ids);
    pull->frame.parts[p].bag_ids = BytesOf(pull->numbers.back());
  }
  const PullAnswer answer = PullTicket::Start(test, alice, TestHost::FrameOf(pull))->Wait();
  ASSERT_OK(answer.reply.error);
  const float all = -29.0f * 30 / 2;  // -(0 + 1 + ... + 29)
  EXPECT_THAT(Floats(answer.reply.bag_values), ElementsAre(all, all, 0, 0, 0, 0));
}

TEST(SlotHostTest, AnAnswerLargerThanAFrameIsRefusedBeforeMemoryIsTaken) {
  ManualTimeSource time;
  TestHost test(time);
  TableInfo wide{TableId(2), kHostJob, {}};
  wide.spec.name = "wide";
  wide.spec.dim = kMaxDim;
  wide.spec.optimizer = {"sgd", {{"lr", 1.0}}};
  ASSERT_OK(test.host.CreateTable(wide));
  HostPlayer alice = test.Join(0);
  auto pull = TestHost::MakePull(alice, TestHost::OurKeys(100));  // 100 * 256 KiB
  pull->frame.table = TableId(2);
  EXPECT_THAT(PullTicket::Start(test, alice, TestHost::FrameOf(pull))->Wait().reply.error,
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SlotHostTest, ANewIncarnationStartsEmptyWithTheTablesDeclaredBefore) {
  ManualTimeSource time;
  TestHost test(time);
  HostPlayer alice = test.Join(0);
  const std::vector<Key> keys = TestHost::OurKeys(3);
  test.Push(alice, keys, 1);
  ASSERT_OK(test.host.Assign(TestHost::Map(Epoch(2), Incarnation(2)), kSelf));
  EXPECT_EQ(test.host.epoch(), Epoch(2));
  EXPECT_THAT(test.host.Assign(TestHost::Map(Epoch(1), Incarnation(1)), kSelf),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  for (const SlotHost::SlotSnapshot& slot : test.host.Snapshot()) {
    EXPECT_EQ(slot.incarnation, Incarnation(2));
    ASSERT_THAT(slot.tables, SizeIs(1));
    EXPECT_EQ(slot.tables[0].rows, 0u);
  }
  for (const PartOutcome& outcome : test.Push(alice, keys, 1)) {
    EXPECT_TRUE(IsGone(outcome.outcome) || IsRetry(outcome.outcome));
  }
}

TEST(SlotHostTest, APullOfATableNotKnownYetTellsALostSessionSoFirst) {
  ManualTimeSource time;
  TestHost test(time);
  const HostPlayer alice = test.Join(0);
  const auto pull_of_unknown = [&](const HostPlayer& who) {
    auto pull = TestHost::MakePull(who, TestHost::OurKeys(3));
    pull->frame.table = TableId(77);
    return PullTicket::Start(test, who, TestHost::FrameOf(pull))->Wait().reply.error;
  };
  EXPECT_THAT(pull_of_unknown(alice), HasDetail(Detail::kUnknownTable));
  HostPlayer stranger = alice;
  stranger.caller.session = {7, 7};
  EXPECT_THAT(pull_of_unknown(stranger), HasDetail(Detail::kSessionUnknown));
  // The server restarted: it has its map, and the table's declaration is still to come.
  ASSERT_OK(test.host.Assign(TestHost::Map(Epoch(2), Incarnation(2)), kSelf));
  EXPECT_THAT(pull_of_unknown(alice), HasDetail(Detail::kSessionLost));
}

TEST(SlotHostTest, EveryPushIsAppliedOnceUnderManyThreadsPullsAndCancellations) {
  SystemTimeSource time;
  constexpr int kWorkers = 3;
  constexpr int kClocks = 60;
  TestHost test(time, /*executors=*/2, kWorkers, /*staleness=*/1,
                TimerQueue::Threading::kOwnThread);
  const std::vector<Key> keys = TestHost::OurKeys(64);
  std::vector<HostPlayer> players;
  for (int i = 0; i < kWorkers; ++i) players.push_back(test.Join(i));
  std::vector<std::thread> threads;
  for (HostPlayer& player : players) {
    threads.emplace_back([&] {
      for (int c = 0; c < kClocks; ++c) {
        auto dropped =
            PullTicket::Start(test, player, TestHost::FrameOf(TestHost::MakePull(player, keys)));
        if (c % 3 == 0) dropped->handle->Cancel();
        const PullAnswer answer = dropped->Wait();
        EXPECT_TRUE(c % 3 == 0 || answer.reply.error.ok());
        EXPECT_THAT(test.Push(player, keys, 1), AllAre(Outcome::kOk));
        EXPECT_THAT(test.Tick(player), AllAre(Outcome::kOk));
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(test.host.Snapshot(), SizeIs(TestHost::kSlots / 2));
  for (std::thread& thread : threads) thread.join();
  const PullAnswer answer =
      PullTicket::Start(test, players[0], TestHost::FrameOf(TestHost::MakePull(players[0], keys)))
          ->Wait();
  ASSERT_OK(answer.reply.error);
  for (const PullPartReply& part : answer.reply.parts) {
    EXPECT_THAT(Floats(part.values), Each(-1.0f * kWorkers * kClocks));
  }
  EXPECT_EQ(test.host.parked_reads(), 0u);
}

}  // namespace
}  // namespace syncline
