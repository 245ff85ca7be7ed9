// What a push must look like, and what a read of rows gives: S5, B1, R1 on immediate tables.
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/hash.h"
#include "common/limits.h"
#include "common/status/status.h"
#include "tests/server/executor/slot_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(SlotPushTest, R1MeanOnAnImmediateTableDividesByThePushesOwnSamples) {
  TestSlot slot;
  slot.Make(Async(), Reduce::kMean);
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.Push(alice, 5, 12, kTable, 4), Is(Outcome::kOk));
  EXPECT_EQ(slot.Value(5), -3);
  EXPECT_THAT(slot.Push(alice, 5, 12, kTable, 0), Is(Outcome::kInvalid));
  EXPECT_EQ(slot.Value(5), -3);
}

TEST(SlotPushTest, ThePushesClockPicksTheLearningRate) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  ASSERT_OK(slot.core.ChangeLearningRate(kTable, Clock(2), 0.25));
  slot.Push(alice, 5, 4);
  EXPECT_EQ(slot.Value(5), -4);
  slot.TickTo(alice, Clock(2));
  slot.Push(alice, 5, 4);
  EXPECT_EQ(slot.Value(5), -5);
}

TEST(SlotPushTest, APushWithoutAnOptimizerIsInvalidUntilOneIsSet) {
  TestSlot slot;
  TableInfo info = TestSlot::Spec(kTable, Async());
  info.spec.optimizer = {};
  slot.Make(info);
  Player alice = slot.Join(0);
  const PartOutcome refused = slot.Push(alice, 5, 1);
  EXPECT_THAT(refused, Is(Outcome::kInvalid));
  EXPECT_THAT(refused.error, HasDetail(Detail::kNoOptimizer));
  ASSERT_OK(slot.core.SetOptimizer(kTable, {"sgd", {{"lr", 1.0}}}));
  EXPECT_THAT(slot.Push(alice, 5, 1), Is(Outcome::kOk));
  EXPECT_EQ(slot.Value(5), -1);
}

struct BadPush {
  const char* name;
  std::vector<Key> keys;
  std::vector<float> values;
  TableId table = kTable;
  Detail detail = Detail::kNone;
};

TEST(SlotPushTest, ABadPushIsRefusedWithItsReasonAndChangesNothing) {
  TestSlot slot;
  TableInfo info = TestSlot::Spec(kTable, Async());
  info.spec.ids = {IdPolicy::Kind::kReject, 100};
  slot.Make(info);
  Player alice = slot.Join(0);
  const float inf = std::numeric_limits<float>::infinity();
  for (const BadPush& bad : {BadPush{"descending", {2, 1}, {1, 1}},
                             {"equal keys", {1, 1}, {1, 1}},
                             {"too few values", {1, 2}, {1}},
                             {"too many values", {1}, {1, 1}},
                             {"values without keys", {}, {1}},
                             {"infinite", {1}, {inf}, kTable, Detail::kNonFinite},
                             {"id outside", {99, 100}, {1, 1}, kTable, Detail::kIdRejected},
                             {"no such table", {1}, {1}, TableId(9), Detail::kUnknownTable}}) {
    SCOPED_TRACE(bad.name);
    const PartOutcome answer =
        slot.PushAt(alice, alice.last.Next(), bad.keys, bad.values, bad.table);
    EXPECT_THAT(answer, Is(Outcome::kInvalid));
    EXPECT_THAT(answer.error, HasDetail(bad.detail));
    EXPECT_EQ(slot.core.Tables()[0].rows, 0u);
  }
  PushOperation unknown_codec = slot.Operation(alice, alice.last.Next());
  unknown_codec.codec = nullptr;
  EXPECT_THAT(slot.Send(alice, unknown_codec), Is(Outcome::kInvalid));
}

TEST(SlotPushTest, AnEmptyPushIsAnOperationLikeAnyOther) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  EXPECT_THAT(slot.PushAt(alice, Sequence(1), {}, {}), Is(Outcome::kOk));
  EXPECT_EQ(alice.last, Sequence(1));
}

TEST(SlotPushTest, AKeyOfAnotherSlotIsRefused) {
  constexpr uint32_t kSlots = 4;
  Key mine = 0;
  while (SlotOf(kTable, mine, kSlots) != SlotId(2)) ++mine;
  Key other = 0;
  while (SlotOf(kTable, other, kSlots) == SlotId(2)) ++other;
  SlotCore core(SlotId(2), Incarnation(1), kSlots);
  core.DeclareJob({kJob, "job", 1, false});
  ASSERT_OK(core.CreateTable(TestSlot::Spec(kTable, Async())));
  Effects effects;
  const Caller caller{SessionId{0, 1}, Token(1), {"worker"}};
  core.InstallSession({caller.session, caller.token, kJob, Rank(0), true, caller.principal},
                      Clock(0), effects);
  const std::vector<uint8_t> one = {0, 0, 0x80, 0x3f};
  PushOperation push;
  push.incarnation = Incarnation(1);
  push.table = kTable;
  push.codec = &kPlain;
  push.samples = 1;
  push.values = ByteView(one);
  push.sequence = Sequence(1);
  push.keys = {&other, 1};
  EXPECT_THAT(core.Push(caller, push, effects), Is(Outcome::kInvalid));
  push.sequence = Sequence(2);
  push.keys = {&mine, 1};
  EXPECT_THAT(core.Push(caller, push, effects), Is(Outcome::kOk));
  std::vector<float> out(1);
  EXPECT_THAT(core.Gather(caller.session, kTable, {&other, 1}, false, out, 1),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

class SlotBagsTest : public ::testing::Test {
 protected:
  SlotBagsTest() {
    slot_.Make(TestSlot::Spec(kTable, Async(), Reduce::kSum, 2));
    alice_ = slot_.Join(0);
    bytes_.resize(vectors_.size() * 4);
    kPlain.Encode(vectors_, 2, bytes_);
  }
  PartOutcome Push(std::vector<Key> keys, std::vector<uint32_t> offsets, std::vector<uint32_t> ids,
                   uint32_t bags = 3) {
    PushOperation push = slot_.Operation(alice_, alice_.last.Next());
    push.keys = keys;
    push.bag_offsets = offsets;
    push.bag_ids = ids;
    push.bag_vectors = ByteView(bytes_);
    push.bag_count = bags;
    return slot_.Send(alice_, push);
  }
  std::vector<float> Row(Key key) { return slot_.core.FindRow(kTable, key)->weights; }

  TestSlot slot_;
  Player alice_;
  std::vector<float> vectors_ = {1, 10, 2, 20, 4, 40};
  std::vector<uint8_t> bytes_;
};

TEST_F(SlotBagsTest, B1AKeysGradientIsTheSumOfItsBagVectors) {
  EXPECT_THAT(Push({5, 6, 7}, {0, 2, 5, 5}, {0, 2, 1, 1, 0}), Is(Outcome::kOk));
  EXPECT_THAT(Row(5), ElementsAre(-5, -50));
  EXPECT_THAT(Row(6), ElementsAre(-5, -50));  // bag 1 twice
  EXPECT_THAT(Row(7), ElementsAre(0, 0));     // an empty list
}

TEST_F(SlotBagsTest, B1BadBagsAreInvalid) {
  EXPECT_THAT(Push({5}, {0, 1}, {3}), Is(Outcome::kInvalid));        // no bag 3
  EXPECT_THAT(Push({5}, {0, 2}, {0}), Is(Outcome::kInvalid));        // beyond the ids
  EXPECT_THAT(Push({5, 6}, {0, 1}, {0}), Is(Outcome::kInvalid));     // one offset too few
  EXPECT_THAT(Push({5, 6}, {0, 2, 1}, {0}), Is(Outcome::kInvalid));  // descending
  EXPECT_THAT(Push({5}, {1, 1}, {0}), Is(Outcome::kInvalid));        // does not start at 0
  EXPECT_THAT(Push({5}, {0, 1}, {0}, 2), Is(Outcome::kInvalid));     // 3 vectors for 2 bags
  EXPECT_EQ(slot_.core.Tables()[0].rows, 0u);
}

TEST(SlotPushTest, OneBagCannotExpandIntoMoreThanTheCap) {
  TestSlot slot;
  slot.Make(TestSlot::Spec(kTable, Async(), Reduce::kSum, kMaxDim));
  Player alice = slot.Join(0);
  const size_t rows = kMaxExpandedPushBytes / (kMaxDim * sizeof(float)) + 1;
  std::vector<Key> keys(rows);
  std::vector<uint32_t> offsets(rows + 1);
  std::vector<uint32_t> ids(rows, 0);
  for (uint32_t i = 0; i < rows; ++i) {
    keys[i] = i;
    offsets[i + 1] = i + 1;
  }
  const std::vector<uint8_t> vector(size_t{kMaxDim} * 4);
  PushOperation push = slot.Operation(alice, Sequence(1));
  push.keys = keys;
  push.bag_offsets = offsets;
  push.bag_ids = ids;
  push.bag_vectors = ByteView(vector);
  push.bag_count = 1;
  EXPECT_THAT(slot.Send(alice, push), Is(Outcome::kInvalid));
}

TEST(SlotPushTest, GatherFollowsTheOrderOfTheKeysAndRepeatsDuplicates) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  slot.PushAt(alice, Sequence(1), {1, 2, 3}, {-1, -2, -3});
  const std::vector<Key> keys = {3, 1, 9, 3, 2};
  std::vector<float> out(10, 7.0f);
  ASSERT_OK(slot.core.Gather(alice.caller.session, kTable, keys, false, out, 2).status());
  EXPECT_THAT(out, ElementsAre(3, 7, 1, 7, 0, 7, 3, 7, 2, 7));
  EXPECT_EQ(slot.core.Tables()[0].rows, 3u);  // reading made none
  EXPECT_EQ(slot.core.Tables()[0].keys_pulled, 5u);
}

TEST(SlotPushTest, RowsAreVisitedInKeyOrder) {
  TestSlot slot;
  slot.Make(Async());
  Player alice = slot.Join(0);
  for (Key key : {Key{3}, Key{0}, ~Key{0}}) slot.Push(alice, key, 1);
  std::vector<Key> seen;
  slot.core.ForEachRow(kTable,
                       [&](Key key, std::span<const float> weights, std::span<const float>) {
                         EXPECT_THAT(weights[0], FloatEq(-1));
                         seen.push_back(key);
                       });
  EXPECT_THAT(seen, ElementsAre(0, 3, ~Key{0}));
  EXPECT_EQ(slot.core.DimOf(kTable), 1u);
  EXPECT_EQ(slot.core.DimOf(TableId(9)), std::nullopt);
  EXPECT_EQ(slot.core.FindRow(kTable, 1), std::nullopt);
}

}  // namespace
}  // namespace syncline
