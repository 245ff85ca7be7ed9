#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "server/optimizer/adam.h"
#include "server/optimizer/factory.h"
#include "server/optimizer/lanes.h"
#include "tests/server/optimizer/reference.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

using Arguments = std::map<std::string, double>;

OptimizerSpec Spec(const std::string& name, Arguments arguments = {}) {
  arguments.emplace("lr", 0.1);
  return {name, std::move(arguments)};
}

struct Row {
  Row(const Optimizer& optimizer, std::vector<float> initial)
      : weights(std::move(initial)),
        state(optimizer.StateFloats(static_cast<uint32_t>(weights.size()))) {
    optimizer.InitState(state);
  }
  RowSpan span() { return {weights, state}; }

  std::vector<float> weights;
  std::vector<float> state;
};

const std::vector<OptimizerSpec>& SpecsToCompare() {
  static const auto* specs = new std::vector<OptimizerSpec>{
      Spec("sgd"),
      Spec("momentum"),
      Spec("momentum", {{"mu", 0.5}, {"nesterov", 1}}),
      Spec("adagrad"),
      Spec("adagrad", {{"initial_accumulator", 0}, {"eps", 1e-3}}),
      Spec("rowwise_adagrad"),
      Spec("adam"),
      Spec("adam", {{"beta1", 0}, {"beta2", 0.9}, {"eps", 1e-4}}),
      Spec("sgd", {{"weight_decay", 0.01}, {"clip_norm", 0.5}}),
      Spec("momentum", {{"clip_norm", 2}}),
      Spec("adagrad", {{"weight_decay", 0.1}}),
      Spec("rowwise_adagrad", {{"clip_norm", 1}, {"weight_decay", 0.01}}),
      Spec("adam", {{"clip_norm", 1}, {"weight_decay", 0.01}})};
  return *specs;
}

TEST(OptimizerTest, AgreesWithAFloat64ReferenceOverRandomSequences) {
  const uint64_t seed = TestSeed(1'234);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (const OptimizerSpec& spec : SpecsToCompare()) {
    for (size_t dim : {1u, 3u, 16u, 50u}) {
      auto optimizer = MakeOptimizer(spec).value();
      std::vector<float> weights(dim);
      for (float& w : weights) w = static_cast<float>(random.Normal());
      Row row(*optimizer, weights);
      ReferenceRow reference(spec, {weights.begin(), weights.end()});
      for (int step = 0; step < 300; ++step) {
        std::vector<float> gradient(dim);
        const double size = std::exp(2 * random.Normal() - 2);
        for (float& g : gradient) g = static_cast<float>(size * random.Normal());
        const float lr = static_cast<float>(0.05 * random.Uniform() + 1e-4);
        optimizer->Apply(row.span(), gradient, {.lr = lr});
        reference.Apply({gradient.begin(), gradient.end()}, lr);
        for (size_t i = 0; i < dim; ++i) {
          ASSERT_NEAR(row.weights[i], reference.w[i],
                      1e-5 * std::max(1.0, std::abs(reference.w[i])))
              << spec.name << " dim " << dim << " step " << step << " element " << i;
        }
      }
    }
  }
}

struct Golden {
  std::string name;
  Arguments arguments;
  std::array<uint32_t, 3> bits;
};

// Computed by a program that rounds every operation of the documented formulas to float by itself.
TEST(OptimizerTest, ThreeStepsGiveTheGoldenBits) {
  const Golden cases[] = {
      {"sgd", {}, {0x3f828f5c, 0xbf053f7d, 0x3e8ed917}},
      {"momentum", {}, {0x3f809a03, 0xbf032ca5, 0x3e88a090}},
      {"momentum", {{"mu", 0.5}, {"nesterov", 1}}, {0x3f835c29, 0xbf078d4f, 0x3e954fdf}},
      {"adagrad", {}, {0x3f800112, 0xbf053ed8, 0x3e857e95}},
      {"adagrad",
       {{"initial_accumulator", 0}, {"eps", 0.001}},
       {0x3f67eda5, 0xbefb5178, 0x3e73dea2}},
      {"rowwise_adagrad", {}, {0x3f81f713, 0xbf04e4a7, 0x3e8d645d}},
      {"adam", {}, {0x3f55284c, 0xbee7273d, 0x3e4c98c9}},
      {"adam", {{"beta1", 0.5}, {"beta2", 0.9}}, {0x3f5b870e, 0xbef5da86, 0x3e69075e}},
      {"sgd", {{"weight_decay", 0.01}}, {0x3f823e14, 0xbf04ee4a, 0x3e8e8933}},
      {"adagrad", {{"clip_norm", 0.25}}, {0x3f8094bc, 0xbeff744c, 0x3e79f6f2}},
      {"rowwise_adagrad",
       {{"clip_norm", 0.25}, {"weight_decay", 0.1}},
       {0x3f7b915f, 0xbef936d4, 0x3e76c0e6}},
      {"adam", {{"clip_norm", 0.25}, {"weight_decay", 0.1}}, {0x3f50d7f6, 0xbecc77ae, 0x3e1dddd2}},
  };
  const std::vector<std::vector<float>> gradients = {
      {0.1f, -0.2f, 0.3f}, {0.05f, 0.4f, -0.6f}, {-0.7f, 0.01f, 0.02f}};
  const float rates[] = {0.1f, 0.1f, 0.05f};
  for (const Golden& golden : cases) {
    auto optimizer = MakeOptimizer(Spec(golden.name, golden.arguments)).value();
    Row row(*optimizer, {1.0f, -0.5f, 0.25f});
    for (size_t s = 0; s < 3; ++s) optimizer->Apply(row.span(), gradients[s], {.lr = rates[s]});
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(std::bit_cast<uint32_t>(row.weights[i]), golden.bits[i])
          << golden.name << " element " << i;
    }
  }
}

TEST(OptimizerTest, StateSizesAreAsDocumented) {
  const std::map<std::string, uint32_t> sizes = {
      {"sgd", 0}, {"momentum", 16}, {"adagrad", 16}, {"rowwise_adagrad", 1}, {"adam", 33}};
  for (const auto& [name, floats] : sizes) {
    EXPECT_EQ(MakeOptimizer(Spec(name)).value()->StateFloats(16), floats) << name;
  }
}

TEST(OptimizerTest, IntegerSumsUnderSgdAreExact) {
  auto optimizer = MakeOptimizer(Spec("sgd")).value();
  Row row(*optimizer, {0.0f});
  for (int i = 1; i <= 5'000; ++i) {
    optimizer->Apply(row.span(), std::vector<float>{static_cast<float>(-i % 7)}, {.lr = 1.0f});
  }
  int sum = 0;
  for (int i = 1; i <= 5'000; ++i) sum += i % 7;
  EXPECT_EQ(row.weights[0], static_cast<float>(sum));
}

TEST(AdamTest, CountsStepsExactlyBeyondWhatAFloatCanCount) {
  auto optimizer = MakeOptimizer(Spec("adam")).value();
  Row row(*optimizer, {1.0f});
  row.state.back() = std::bit_cast<float>(uint32_t{(1u << 24) + 1});
  for (int i = 0; i < 5; ++i) optimizer->Apply(row.span(), std::vector<float>{1}, {.lr = 0.1f});
  EXPECT_EQ(Adam::StepCount(row.state), (1u << 24) + 6);
}

TEST(AdamTest, TheStepCountStopsAtItsEndInsteadOfStartingAnew) {
  auto optimizer = MakeOptimizer(Spec("adam")).value();
  Row row(*optimizer, {1.0f});
  row.state.back() = std::bit_cast<float>(UINT32_MAX - 1);
  for (int i = 0; i < 3; ++i) optimizer->Apply(row.span(), std::vector<float>{1}, {.lr = 0.1f});
  EXPECT_EQ(Adam::StepCount(row.state), UINT32_MAX);
}

TEST(AdamTest, TheFirstStepOfARowHasTheSizeOfTheRate) {
  auto optimizer = MakeOptimizer(Spec("adam")).value();
  for (float g : {1e-3f, 1.0f, 1e3f}) {
    Row row(*optimizer, {0.0f});
    optimizer->Apply(row.span(), std::vector<float>{g}, {.lr = 0.1f});
    EXPECT_NEAR(row.weights[0], -0.1f, 1e-5f);
  }
}

TEST(ModifiersTest, ClippingLimitsTheNormOfTheRowAndKeepsItsDirection) {
  auto optimizer = MakeOptimizer(Spec("sgd", {{"clip_norm", 1}})).value();
  Row row(*optimizer, {0.0f, 0.0f});
  optimizer->Apply(row.span(), std::vector<float>{30, -40}, {.lr = 1.0f});
  EXPECT_FLOAT_EQ(row.weights[0], -0.6f);
  EXPECT_FLOAT_EQ(row.weights[1], 0.8f);
}

TEST(ModifiersTest, AGradientWithinTheNormIsNotTouched) {
  auto clipped = MakeOptimizer(Spec("sgd", {{"clip_norm", 5}})).value();
  Row row(*clipped, {0.0f, 0.0f});
  clipped->Apply(row.span(), std::vector<float>{3, -4}, {.lr = 1.0f});
  EXPECT_THAT(row.weights, ::testing::ElementsAre(-3, 4));
}

TEST(ModifiersTest, TheNormOfHugeGradientsDoesNotOverflow) {
  auto optimizer = MakeOptimizer(Spec("sgd", {{"clip_norm", 1}})).value();
  Row row(*optimizer, {0.0f, 0.0f});
  optimizer->Apply(row.span(), std::vector<float>{3e38f, 0}, {.lr = 1.0f});
  EXPECT_FLOAT_EQ(row.weights[0], -1.0f);
}

TEST(ModifiersTest, DecayComesAfterClippingAndBeforeTheStepAndUsesTheRate) {
  auto optimizer = MakeOptimizer(Spec("sgd", {{"clip_norm", 1}, {"weight_decay", 0.5}})).value();
  Row row(*optimizer, {8.0f});
  optimizer->Apply(row.span(), std::vector<float>{100}, {.lr = 0.5f});
  // Clipped to 1; decayed by 0.25 * 8; stepped by 0.5 * 1. Decay would not be clipped away.
  EXPECT_FLOAT_EQ(row.weights[0], 8.0f - 2.0f - 0.5f);
}

// The order of additions is part of the contract; added one after the other these differ.
TEST(LanesTest, AddsInTheDocumentedOrder) {
  SplitMix64 random(4);
  std::vector<float> v(1'003);
  double in_sequence = 0;
  for (float& x : v) {
    x = static_cast<float>(std::exp(4 * random.Normal()));
    in_sequence += double{x} * double{x};
  }
  double lane[8];
  for (size_t j = 0; j < 8; ++j) {
    lane[j] = 0;
    for (size_t i = j; i < v.size(); i += 8) lane[j] += double{v[i]} * double{v[i]};
  }
  const double expected =
      ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  EXPECT_EQ(SumOfSquares(v), expected);
  EXPECT_NE(SumOfSquares(v), in_sequence);
}

}  // namespace
}  // namespace syncline
