#include "worker/dlrm/single.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/reference_dlrm.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"
#include "tests/worker/dlrm/test_batch.h"
#include "worker/dlrm/metrics.h"

namespace syncline {
namespace {

float TestInitial(std::string_view name, uint64_t key, uint64_t element) {
  return DrawInitialValue({InitializerSpec::Kind::kUniform, -0.5, 0.5, 9}, name, key, element);
}

void ExpectClose(const std::vector<float>& got, const std::vector<double>& want,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-5 * std::max(1.0, std::abs(want[i]))) << what << " " << i;
  }
}

void ExpectSameParameters(const SingleTrainer& trainer, ReferenceDlrm& reference) {
  const auto tensors = DenseTensorsOf(trainer.config());
  for (size_t t = 0; t < tensors.size(); ++t) {
    ExpectClose(trainer.dense(t), reference.Dense(tensors[t].name), tensors[t].name);
  }
  const auto tables = EmbeddingTablesOf(trainer.config());
  for (size_t t = 0; t < tables.size(); ++t) {
    const auto keys = reference.Keys(tables[t].name);
    EXPECT_EQ(trainer.row_count(t), keys.size());
    for (uint64_t key : keys) {
      ExpectClose(trainer.Row(t, key), reference.Row(tables[t].name, key), tables[t].name);
    }
  }
}

class SingleTrainerTest : public ::testing::TestWithParam<SingleOptimizer::Kind> {};

INSTANTIATE_TEST_SUITE_P(Optimizers, SingleTrainerTest,
                         ::testing::Values(SingleOptimizer::Kind::kSgd,
                                           SingleOptimizer::Kind::kAdagrad));

TEST_P(SingleTrainerTest, StaysWithTheDoubleReferenceOverManySteps) {
  const uint64_t seed = TestSeed(41);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (size_t dense_count : {size_t{0}, size_t{3}}) {
    const DlrmConfig config = SmallConfig(dense_count, Activation::kTanh);
    const bool adagrad = GetParam() == SingleOptimizer::Kind::kAdagrad;
    ASSERT_OK_AND_ASSIGN(
        const auto trainer,
        SingleTrainer::Create(config, {GetParam(), 0.1F, 0.1F, 1e-8F}, TestInitial));
    // The same float numbers, so that only arithmetic differs.
    ReferenceDlrm reference(config, {adagrad, 0.1F, 0.1F, 1e-8F}, TestInitial);
    for (int step = 0; step < 100; ++step) {
      const Batch batch = RandomBatch(config, 16, random);
      ASSERT_OK_AND_ASSIGN(const double loss, trainer->Step(batch));
      ASSERT_NEAR(loss, reference.Loss(batch) / 16, 1e-5);
      reference.Step(std::span(&batch, 1));
    }
    ExpectSameParameters(*trainer, reference);
  }
}

TEST(ReferenceDlrmTest, BatchesOfARoundTogetherAreOneBatch) {
  const DlrmConfig config = SmallConfig(2, Activation::kTanh);
  SplitMix64 random(2);
  const std::vector<Batch> parts = {RandomBatch(config, 3, random), RandomBatch(config, 0, random),
                                    RandomBatch(config, 5, random)};
  Batch whole = parts[0];
  whole.size = 8;
  whole.dense.insert(whole.dense.end(), parts[2].dense.begin(), parts[2].dense.end());
  whole.labels.insert(whole.labels.end(), parts[2].labels.begin(), parts[2].labels.end());
  for (size_t f = 0; f < whole.fields.size(); ++f) {
    const uint32_t shift = whole.fields[f].offsets.back();
    const auto& more = parts[2].fields[f];
    whole.fields[f].ids.insert(whole.fields[f].ids.end(), more.ids.begin(), more.ids.end());
    for (size_t i = 1; i < more.offsets.size(); ++i) {
      whole.fields[f].offsets.push_back(shift + more.offsets[i]);
    }
  }
  ReferenceDlrm by_parts(config, {}, TestInitial), at_once(config, {}, TestInitial);
  by_parts.Step(parts);
  at_once.Step(std::span(&whole, 1));
  for (const std::string& name : at_once.DenseNames()) {
    const auto& want = at_once.Dense(name);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(by_parts.Dense(name)[i], want[i], 1e-14) << name;
    }
  }
}

TEST(SingleTrainerTest, PredictMakesNoRowsAndTrainingDoes) {
  const DlrmConfig config = SmallConfig(0, Activation::kRelu);
  ASSERT_OK_AND_ASSIGN(const auto trainer, SingleTrainer::Create(config, {}));
  SplitMix64 random(3);
  const Batch batch = RandomBatch(config, 8, random);
  ASSERT_OK_AND_ASSIGN(const auto before, trainer->Predict(batch));
  EXPECT_EQ(trainer->row_count(0), 0u);
  ASSERT_OK(trainer->Step(batch));
  EXPECT_GT(trainer->row_count(0), 0u);
  ASSERT_OK_AND_ASSIGN(const auto after, trainer->Predict(batch));
  EXPECT_NE(before, after);
}

TEST(SingleTrainerTest, RefusesNumbersThatNoOptimizerTakes) {
  SingleOptimizer optimizer;
  optimizer.learning_rate = -1;
  EXPECT_THAT(SingleTrainer::Create(SmallConfig(0, Activation::kRelu), optimizer),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("rate -1")));
}

TEST(SingleTrainerTest, TheSameSeedGivesTheSameBits) {
  const DlrmConfig config = SmallConfig(2, Activation::kRelu);
  std::vector<std::vector<float>> results;
  for (int run = 0; run < 2; ++run) {
    SplitMix64 random(4);
    ASSERT_OK_AND_ASSIGN(const auto trainer, SingleTrainer::Create(config, {}));
    for (int step = 0; step < 20; ++step) ASSERT_OK(trainer->Step(RandomBatch(config, 7, random)));
    ASSERT_OK_AND_ASSIGN(results.emplace_back(), trainer->Predict(RandomBatch(config, 9, random)));
  }
  EXPECT_EQ(results[0], results[1]);
}

// Clicks planted by a hidden score per user and item, more likely than not when they agree in sign.
Batch PlantedBatch(size_t size, SplitMix64& random) {
  Batch batch;
  batch.size = size;
  batch.fields.resize(2);
  for (auto& field : batch.fields) field.offsets.push_back(0);
  for (size_t s = 0; s < size; ++s) {
    double agreement = 1;
    for (auto& field : batch.fields) {
      field.ids.push_back(random.Below(20));
      field.offsets.push_back(static_cast<uint32_t>(s + 1));
      agreement *= (Mix64(field.ids.back() + 1) & 1) != 0 ? 1 : -1;
    }
    batch.labels.push_back(random.Uniform() < (agreement > 0 ? 0.9 : 0.1) ? 1.0F : 0.0F);
  }
  return batch;
}

TEST(SingleTrainerTest, LearnsAPlantedInteraction) {
  DlrmConfig config;
  config.dim = 4;
  config.top_hidden = {16};
  config.fields = {{"user", Pooling::kSum, {InitializerSpec::Kind::kNormal, 0, 0.3, 1}},
                   {"item", Pooling::kSum, {InitializerSpec::Kind::kNormal, 0, 0.3, 2}}};
  // Small first steps would leave the saddle at zero slowly.
  const SingleOptimizer quick{SingleOptimizer::Kind::kAdagrad, 0.1F, 1e-4F, 1e-8F};
  ASSERT_OK_AND_ASSIGN(const auto trainer, SingleTrainer::Create(config, quick));
  SplitMix64 random(5);
  double first = 0, last = 0;
  for (int step = 0; step < 300; ++step) {
    ASSERT_OK_AND_ASSIGN(last, trainer->Step(PlantedBatch(64, random)));
    if (step == 0) first = last;
  }
  EXPECT_NEAR(first, 0.69, 0.1);
  EXPECT_LT(last, 0.5);
  const Batch test = PlantedBatch(2000, random);
  ASSERT_OK_AND_ASSIGN(const auto logits, trainer->Predict(test));
  EXPECT_GT(Auc(logits, test.labels).value_or(0), 0.87);  // 0.9 is what the noise leaves
}

TEST(DrawInitialValueTest, EachKindHasItsRangeOrMoments) {
  const auto draw = [](InitializerSpec::Kind kind, double a, double b) {
    std::vector<double> values;
    for (uint64_t i = 0; i < 4000; ++i) {
      values.push_back(DrawInitialValue({kind, a, b, 7}, "t", i / 8, i % 8));
    }
    return values;
  };
  using Kind = InitializerSpec::Kind;
  for (double v : draw(Kind::kZeros, 0, 0)) EXPECT_EQ(v, 0);
  for (double v : draw(Kind::kConstant, 2, 0)) EXPECT_EQ(v, 2);
  const auto [low, high] = std::ranges::minmax(draw(Kind::kInverseSqrt, 4, 0));
  EXPECT_NEAR(low, -0.5, 0.01);
  EXPECT_NEAR(high, 0.5, 0.01);
  for (double v : draw(Kind::kTruncatedNormal, 1, 0.5)) EXPECT_NEAR(v, 1, 1.0001);
  double sum = 0, square = 0;
  for (double v : draw(Kind::kNormal, 1, 0.5)) {
    sum += v;
    square += (v - 1) * (v - 1);
  }
  EXPECT_NEAR(sum / 4000, 1, 0.05);
  EXPECT_NEAR(square / 4000, 0.25, 0.03);
}

}  // namespace
}  // namespace syncline
