#include "worker/dlrm/model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/deferred_stream.h"
#include "tests/support/reference_dlrm.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"
#include "tests/worker/dlrm/test_batch.h"
#include "worker/dlrm/single.h"
#include "worker/kernels/cpu_kernels.h"

namespace syncline {
namespace {

struct ModelCase {
  std::string name;
  size_t dense_count;
  bool deferred;
};

class DlrmTest : public ::testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    if (GetParam().deferred) {
      stream_ = std::make_unique<DeferredStream>();
    } else {
      stream_ = std::make_unique<CpuStream>();
    }
    config_ = SmallConfig(GetParam().dense_count, Activation::kTanh);
    auto model = Dlrm::Create(config_, *stream_, embedding_ops_, dense_ops_);
    ASSERT_OK(model);
    model_ = *std::move(model);
  }

  // The value both the float model and the double reference start from.
  double Initial(const std::string& name, uint64_t key, uint64_t element) const {
    const InitializerSpec spec{InitializerSpec::Kind::kUniform, -0.7, 0.7, 9};
    return DrawInitialValue(spec, name, key, element);
  }
  ReferenceDlrm MakeReference() const {
    return {config_, {}, [this](const std::string& name, uint64_t key, uint64_t element) {
              return Initial(name, key, element);
            }};
  }

  ModelBuffers InitialParameters(const Lookup& lookup) const {
    ModelBuffers buffers;
    buffers.Resize(config_, lookup);
    for (size_t t = 0; t < buffers.dense.size(); ++t) {
      for (size_t i = 0; i < buffers.dense[t].size(); ++i) {
        buffers.dense[t][i] = static_cast<float>(Initial(model_->dense_tensors()[t].name, 0, i));
      }
    }
    for (size_t t = 0; t < buffers.rows.size(); ++t) {
      for (size_t i = 0; i < buffers.rows[t].size(); ++i) {
        buffers.rows[t][i] = static_cast<float>(
            Initial(model_->tables()[t].name, lookup.keys[t][i / config_.dim], i % config_.dim));
      }
    }
    return buffers;
  }

  CpuEmbeddingOps embedding_ops_;
  CpuDenseOps dense_ops_;
  std::unique_ptr<Stream> stream_;
  DlrmConfig config_;
  std::unique_ptr<Dlrm> model_;
};

INSTANTIATE_TEST_SUITE_P(Shapes, DlrmTest,
                         ::testing::Values(ModelCase{"WithDense", 3, false},
                                           ModelCase{"WithoutDense", 0, false},
                                           ModelCase{"WithDenseDeferred", 3, true},
                                           ModelCase{"WithoutDenseDeferred", 0, true}),
                         [](const auto& test) { return test.param.name; });

// Central differences of the reference's loss by one of its parameters.
double NumericDerivative(ReferenceDlrm& reference, const Batch& batch, double& parameter) {
  constexpr double kStep = 1e-5;
  const double center = parameter;
  parameter = center + kStep;
  const double above = reference.Loss(batch);
  parameter = center - kStep;
  const double below = reference.Loss(batch);
  parameter = center;
  return (above - below) / (2 * kStep);
}

TEST_P(DlrmTest, LogitsLossAndAllGradientsMatchNumericDerivativesOfTheReference) {
  const uint64_t seed = TestSeed(21);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  const Batch batch = RandomBatch(config_, 6, random);
  ASSERT_OK_AND_ASSIGN(const Lookup lookup, model_->LookUp(batch));
  const ModelBuffers parameters = InitialParameters(lookup);
  ModelBuffers gradients;
  gradients.Resize(config_, lookup);
  std::vector<float> logits(batch.size);
  ASSERT_OK_AND_ASSIGN(const double loss, model_->Train(batch, lookup, parameters.parameters(),
                                                        gradients.gradients(), logits));

  ReferenceDlrm reference = MakeReference();
  EXPECT_NEAR(loss, reference.Loss(batch), 1e-5);
  for (size_t s = 0; s < batch.size; ++s) {
    EXPECT_NEAR(logits[s], reference.Logit(batch, s), 1e-5);
  }
  for (size_t t = 0; t < gradients.dense.size(); ++t) {
    const std::string& name = model_->dense_tensors()[t].name;
    for (size_t i = 0; i < gradients.dense[t].size(); ++i) {
      EXPECT_NEAR(gradients.dense[t][i],
                  NumericDerivative(reference, batch, reference.Dense(name)[i]), 1e-5)
          << name << " element " << i;
    }
  }
  for (size_t t = 0; t < gradients.rows.size(); ++t) {
    const std::string& table = model_->tables()[t].name;
    for (size_t i = 0; i < gradients.rows[t].size(); ++i) {
      const uint64_t key = lookup.keys[t][i / config_.dim];
      EXPECT_NEAR(gradients.rows[t][i],
                  NumericDerivative(reference, batch, reference.Row(table, key)[i % config_.dim]),
                  1e-5)
          << table << " key " << key;
    }
  }
}

TEST_P(DlrmTest, PredictGivesTheLogitsThatTrainGives) {
  SplitMix64 random(4);
  const Batch batch = RandomBatch(config_, 5, random);
  ASSERT_OK_AND_ASSIGN(const Lookup lookup, model_->LookUp(batch));
  const ModelBuffers parameters = InitialParameters(lookup);
  ModelBuffers gradients;
  gradients.Resize(config_, lookup);
  std::vector<float> trained(batch.size), predicted(batch.size);
  ASSERT_OK(model_->Train(batch, lookup, parameters.parameters(), gradients.gradients(), trained));
  ASSERT_OK(model_->Predict(batch, lookup, parameters.parameters(), predicted));
  EXPECT_EQ(trained, predicted);
}

TEST_P(DlrmTest, GradientsAreSumsOverSamplesAndTheSameBitsEachTime) {
  SplitMix64 random(5);
  const Batch batch = RandomBatch(config_, 9, random);
  ASSERT_OK_AND_ASSIGN(const Lookup lookup, model_->LookUp(batch));
  const ModelBuffers parameters = InitialParameters(lookup);
  std::vector<float> logits(batch.size);
  ModelBuffers first, again;
  first.Resize(config_, lookup);
  again.Resize(config_, lookup);
  again.dense[0][0] = again.rows[0][0] = 77;  // overwritten, not added to
  ASSERT_OK(model_->Train(batch, lookup, parameters.parameters(), first.gradients(), logits));
  ASSERT_OK(model_->Train(batch, lookup, parameters.parameters(), again.gradients(), logits));
  EXPECT_EQ(first.dense, again.dense);
  EXPECT_EQ(first.rows, again.rows);
}

TEST_P(DlrmTest, AnEmptyBatchHasNoLossAndZeroGradients) {
  SplitMix64 random(6);
  const Batch batch = RandomBatch(config_, 0, random);
  ASSERT_OK_AND_ASSIGN(const Lookup lookup, model_->LookUp(batch));
  const ModelBuffers parameters = InitialParameters(lookup);
  ModelBuffers gradients;
  gradients.Resize(config_, lookup);
  for (auto& tensor : gradients.dense) std::fill(tensor.begin(), tensor.end(), 5.0F);
  ASSERT_OK_AND_ASSIGN(const double loss, model_->Train(batch, lookup, parameters.parameters(),
                                                        gradients.gradients(), {}));
  EXPECT_EQ(loss, 0);
  for (const auto& tensor : gradients.dense) EXPECT_THAT(tensor, ::testing::Each(0.0F));
}

TEST_P(DlrmTest, WrongSizesAreErrorsThatNameTheTensor) {
  SplitMix64 random(7);
  const Batch batch = RandomBatch(config_, 3, random);
  ASSERT_OK_AND_ASSIGN(const Lookup lookup, model_->LookUp(batch));
  ModelBuffers parameters = InitialParameters(lookup);
  std::vector<float> logits(batch.size);
  EXPECT_THAT(model_->Predict(batch, lookup, parameters.parameters(), std::span(logits).first(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("logits")));
  parameters.dense.back().push_back(0);
  EXPECT_THAT(model_->Predict(batch, lookup, parameters.parameters(), logits),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("top.2.bias")));
}

TEST(DlrmOneFieldTest, AModelWithoutPairsWorks) {
  DlrmConfig config;
  config.fields = {{"only", Pooling::kSum, {}}};
  EXPECT_EQ(TopInputWidth(config), config.dim);
  ASSERT_OK_AND_ASSIGN(const auto trainer, SingleTrainer::Create(config, {}));
  SplitMix64 random(8);
  EXPECT_OK(trainer->Step(RandomBatch(config, 4, random)));
}

}  // namespace
}  // namespace syncline
