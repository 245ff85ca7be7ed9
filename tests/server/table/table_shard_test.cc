#include "server/table/table_shard.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TableInfo Embedding(uint32_t dim = 2) {
  TableSpec spec;
  spec.name = "user";
  spec.dim = dim;
  spec.optimizer = {"sgd", {{"lr", 1}}};
  spec.initializer = {InitializerSpec::Kind::kConstant, 10};
  return {TableId(1), JobId(1), spec};
}

TableInfo Dense(uint64_t elements, uint32_t dim) {
  TableInfo info = Embedding(dim);
  info.spec.kind = TableKind::kDense;
  info.spec.elements = elements;
  return info;
}

TableInfo WithIds(IdPolicy::Kind kind, uint64_t vocabulary) {
  TableInfo info = Embedding();
  info.spec.ids = {kind, vocabulary};
  return info;
}

std::unique_ptr<TableShard> Make(const TableInfo& info) { return TableShard::Create(info).value(); }

using Keys = std::vector<Key>;
using Floats = std::vector<float>;

Floats Read(TableShard& shard, const Keys& keys, ReadMode mode = ReadMode::kTraining) {
  Floats out(keys.size() * shard.dim(), -99);
  shard.Read(keys, mode, out.data(), shard.dim());
  return out;
}

void Push(TableShard& shard, const Keys& keys, const Floats& gradient, const ApplyStep& step = {}) {
  ASSERT_OK(shard.CanApply(keys.size()));
  ASSERT_OK(shard.CheckKeys(keys));
  ASSERT_OK(shard.CheckGradients(keys, gradient));
  shard.Apply(keys, gradient, step);
}

uint64_t HashOf(const TableShard& shard) {
  StateHash hash;
  shard.Fold(hash);
  return hash.value();
}

TEST(TableShardTest, AnUntrainedKeyReadsAsInitializedAndMakesNoRow) {
  auto shard = Make(Embedding());
  EXPECT_THAT(Read(*shard, {1, 5}), Each(10.0f));
  EXPECT_THAT(Read(*shard, {1, 5}, ReadMode::kReadOnly), Each(10.0f));
  EXPECT_EQ(shard->rows(), 0u);
  EXPECT_EQ(shard->memory_bytes(), 0u);
  EXPECT_EQ(shard->counters().rows_pulled_training, 2u);
  EXPECT_EQ(shard->counters().rows_pulled_read_only, 2u);
}

TEST(TableShardTest, APushMakesTheRowFromItsInitializerAndSteps) {
  auto shard = Make(Embedding());
  Push(*shard, {3}, {1, 2});
  EXPECT_THAT(Read(*shard, {3, 4}), ElementsAre(9, 8, 10, 10));
  EXPECT_EQ(shard->rows(), 1u);
  EXPECT_EQ(shard->counters().rows_created, 1u);
  Push(*shard, {3}, {1, 2});
  EXPECT_EQ(shard->counters().rows_created, 1u);
  EXPECT_EQ(shard->counters().rows_pushed, 2u);
}

TEST(TableShardTest, ReadsIntoStridedMemoryAndLeavesTheGapsAlone) {
  auto shard = Make(Embedding());
  Push(*shard, {3}, {1, 2});
  Floats out(8, -1);
  shard->Read(Keys{3, 4}, ReadMode::kTraining, out.data(), 4);
  EXPECT_THAT(out, ElementsAre(9, 8, -1, -1, 10, 10, -1, -1));
}

TEST(TableShardTest, SumsAreDividedOnce) {
  auto shard = Make(Embedding());
  Push(*shard, {3}, {8, 4}, {.divisor = 4});
  EXPECT_THAT(Read(*shard, {3}), ElementsAre(8, 9));
}

TEST(TableShardTest, ARoundWithoutSamplesStepsNothing) {
  auto shard = Make(Embedding());
  Push(*shard, {3}, {8, 4}, {.divisor = 0});
  EXPECT_EQ(shard->rows(), 0u);
  EXPECT_THAT(Read(*shard, {3}), ElementsAre(10, 10));
}

TEST(TableShardTest, ClippingJudgesTheDividedGradient) {
  TableInfo info = Embedding();
  info.spec.optimizer.arguments["clip_norm"] = 5;
  auto shard = Make(info);
  Push(*shard, {1}, {30, 40}, {.divisor = 10});  // norm 5 after division
  Push(*shard, {2}, {30, 40}, {.divisor = 5});   // norm 10
  EXPECT_THAT(Read(*shard, {1, 2}), ElementsAre(7, 6, 7, 6));
}

TEST(TableShardTest, ALearningRateChangeGoesByTheClockOfThePush) {
  auto shard = Make(Embedding());
  ASSERT_OK(shard->ChangeLearningRate(Clock(5), 0.5));
  Push(*shard, {1}, {1, 1}, {.clock = Clock(5)});
  Push(*shard, {2}, {1, 1}, {.clock = Clock(4)});  // arrives later, but was issued before
  EXPECT_THAT(Read(*shard, {1, 2}), ElementsAre(9.5, 9.5, 9, 9));
  EXPECT_THAT(shard->ChangeLearningRate(Clock(6), -1), StatusIs(kInvalid, HasSubstr("user")));
}

TEST(TableShardTest, KeysMustAscendStrictly) {
  auto shard = Make(Embedding());
  EXPECT_OK(shard->CheckKeys(Keys{}));
  EXPECT_OK(shard->CheckKeys(Keys{0, 1, UINT64_MAX}));
  EXPECT_THAT(shard->CheckKeys(Keys{1, 1}), StatusIs(kInvalid, HasSubstr("ascend")));
  EXPECT_THAT(shard->CheckKeys(Keys{0, 7, 3}), StatusIs(kInvalid, HasSubstr("key 3 follows")));
}

TEST(TableShardTest, EveryKeyIsARowOfItsOwn) {
  auto shard = Make(Embedding(1));
  const Keys keys = {0,
                     (1u << 24) - 1,
                     1u << 24,
                     (1u << 24) + 1,
                     (uint64_t{1} << 53) - 1,
                     uint64_t{1} << 53,
                     (uint64_t{1} << 53) + 1,
                     uint64_t{1} << 63,
                     UINT64_MAX};
  Push(*shard, keys, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(Read(*shard, keys), ElementsAre(9, 8, 7, 6, 5, 4, 3, 2, 1));
}

TEST(TableShardTest, GradientsMustHaveTheRightSizeAndBeFinite) {
  auto shard = Make(Embedding());
  const Keys keys = {4, 6};
  EXPECT_THAT(shard->CheckGradients(keys, Floats(3)), StatusIs(kInvalid, HasSubstr("need 4")));
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    const auto status = shard->CheckGradients(keys, Floats{0, 0, 1, bad});
    EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("key 6")));
    EXPECT_THAT(status, HasDetail(Detail::kNonFinite));
  }
  TableInfo info = Embedding();
  info.spec.allow_non_finite = true;
  EXPECT_OK(Make(info)->CheckGradients(keys, Floats{0, 0, 1, NAN}));
  EXPECT_THAT(Make(info)->CheckGradients(keys, Floats(3)), StatusIs(kInvalid));
}

TEST(TableShardTest, PolicyZeroReadsZerosDropsGradientsAndCounts) {
  auto shard = Make(WithIds(IdPolicy::Kind::kZero, 100));
  const Keys keys = {99, 100, UINT64_MAX};
  Push(*shard, keys, {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(shard->rows(), 1u);
  EXPECT_EQ(shard->counters().zeroed_ids_pushed, 2u);
  EXPECT_THAT(Read(*shard, keys), ElementsAre(9, 9, 0, 0, 0, 0));
  EXPECT_EQ(shard->counters().zeroed_ids_pulled, 2u);
}

TEST(TableShardTest, PolicyRejectRefusesTheWholeRequestAndCounts) {
  auto shard = Make(WithIds(IdPolicy::Kind::kReject, 100));
  EXPECT_OK(shard->CheckKeys(Keys{0, 99}));
  const auto status = shard->CheckKeys(Keys{5, 100, 200});
  EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("key 100")));
  EXPECT_THAT(status, HasDetail(Detail::kIdRejected));
  EXPECT_EQ(shard->counters().rejected_ids, 2u);
}

TEST(TableShardTest, PolicyAcceptTakesEveryKeyEvenWithAVocabulary) {
  auto shard = Make(WithIds(IdPolicy::Kind::kAccept, 100));
  EXPECT_OK(shard->CheckKeys(Keys{1'000}));
  EXPECT_THAT(Read(*shard, {1'000}), Each(10.0f));
}

TEST(TableShardTest, ADenseTableHasTheKeysOfItsBlocks) {
  auto shard = Make(Dense(10, 4));
  EXPECT_OK(shard->CheckKeys(Keys{0, 1, 2}));
  EXPECT_THAT(shard->CheckKeys(Keys{0, 3}), StatusIs(kInvalid, HasSubstr("block 3")));
}

TEST(TableShardTest, PaddingOfTheLastDenseBlockIsAndStaysZero) {
  for (const char* name : {"sgd", "momentum", "adagrad", "rowwise_adagrad", "adam"}) {
    TableInfo info = Dense(10, 4);
    info.spec.optimizer = {name, {{"lr", 0.5}, {"weight_decay", 0.1}, {"clip_norm", 1}}};
    auto shard = Make(info);
    EXPECT_THAT(Read(*shard, {2}), ElementsAre(10, 10, 0, 0));
    for (int i = 0; i < 5; ++i) Push(*shard, {1, 2}, {1, 1, 1, 1, 1, 1, 1, 1});
    const Floats row = Read(*shard, {2});
    EXPECT_NE(row[1], 10.0f) << name;
    EXPECT_EQ(row[2], 0.0f) << name;
    EXPECT_EQ(row[3], 0.0f) << name;
  }
}

TEST(TableShardTest, PushingWithoutAnOptimizerIsATypedError) {
  TableInfo info = Embedding();
  info.spec.optimizer = {};
  auto shard = Make(info);
  EXPECT_THAT(shard->CanApply(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(shard->CanApply(), HasDetail(Detail::kNoOptimizer));
  EXPECT_THAT(shard->ChangeLearningRate(Clock(0), 1), HasDetail(Detail::kNoOptimizer));
  EXPECT_THAT(Read(*shard, {1}), Each(10.0f));
}

TEST(TableShardTest, AnOptimizerCanBeSetOnce) {
  TableInfo info = Embedding();
  info.spec.optimizer = {};
  auto shard = Make(info);
  const OptimizerSpec adagrad{"adagrad", {{"lr", 0.1}}};
  EXPECT_THAT(shard->SetOptimizer({"lamb", {}}), StatusIs(kInvalid));
  EXPECT_THAT(shard->CanApply(), HasDetail(Detail::kNoOptimizer));
  ASSERT_OK(shard->SetOptimizer(adagrad));
  EXPECT_EQ(shard->info().spec.optimizer, adagrad);
  Push(*shard, {1}, {1, 1});
  EXPECT_OK(shard->SetOptimizer(adagrad));
  const auto status = shard->SetOptimizer({"sgd", {{"lr", 1}}});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(status, HasDetail(Detail::kSpecDiffers));
}

TEST(TableShardTest, BadSpecsAreRefusedByName) {
  TableInfo info = Embedding();
  info.spec.optimizer.arguments["beta1"] = 0.5;
  EXPECT_THAT(TableShard::Create(info), StatusIs(kInvalid, HasSubstr("table user: optimizer sgd")));
  info = Embedding();
  info.spec.optimizer = {"", {{"lr", 1}}};
  EXPECT_THAT(TableShard::Validate(info.spec), StatusIs(kInvalid));
  info = Embedding();
  info.spec.initializer = {InitializerSpec::Kind::kConstant, 1e300};
  EXPECT_THAT(TableShard::Create(info), StatusIs(kInvalid, HasSubstr("table user: initializer")));
}

TEST(TableShardTest, TheStateHashSeesEveryRowAndNothingElse) {
  auto shard = Make(Embedding());
  EXPECT_EQ(HashOf(*shard), 0u);
  Push(*shard, {3}, {1, 2});
  const uint64_t one = HashOf(*shard);
  EXPECT_NE(one, 0u);
  Read(*shard, {1, 2, 3});
  EXPECT_EQ(HashOf(*shard), one);
  Push(*shard, {3}, {1, 0});
  EXPECT_NE(HashOf(*shard), one);
}

TEST(TableShardTest, TheStateHashDoesNotDependOnHowRowsAreSplit) {
  auto whole = Make(Embedding());
  auto left = Make(Embedding());
  auto right = Make(Embedding());
  Push(*whole, {9}, {1, 2});
  Push(*whole, {3}, {4, 5});
  Push(*left, {3}, {4, 5});
  Push(*right, {9}, {1, 2});
  StateHash parts;
  left->Fold(parts);
  right->Fold(parts);
  EXPECT_EQ(parts.value(), HashOf(*whole));
}

}  // namespace
}  // namespace syncline
