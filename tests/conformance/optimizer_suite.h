// What every Optimizer must do. An implementation registers itself with
//
//   INSTANTIATE_TEST_SUITE_P(Sgd, OptimizerSuite, ::testing::Values(OptimizerCase{"Sgd", make}));
//
// in a binary that includes this header once.
#ifndef SYNCLINE_TESTS_CONFORMANCE_OPTIMIZER_SUITE_H_
#define SYNCLINE_TESTS_CONFORMANCE_OPTIMIZER_SUITE_H_

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "server/optimizer/optimizer.h"
#include "tests/support/seed.h"

namespace syncline {

struct OptimizerCase {
  std::string name;
  std::function<std::unique_ptr<Optimizer>()> make;
};

inline void PrintTo(const OptimizerCase& c, std::ostream* out) { *out << c.name; }

class OptimizerSuite : public ::testing::TestWithParam<OptimizerCase> {
 protected:
  // A row between canaries, starting `offset` floats into its buffer.
  struct Row {
    static constexpr float kCanary = 1234.5f;

    Row(const Optimizer& optimizer, uint32_t row_dim, size_t row_offset = 1)
        : dim(row_dim),
          offset(row_offset),
          state_floats(optimizer.StateFloats(dim)),
          floats(offset + dim + state_floats + 1, kCanary) {
      for (float& w : span().weights) w = 0.5f;
      optimizer.InitState(span().state);
    }
    RowSpan span() {
      float* row = floats.data() + offset;
      return {{row, dim}, {row + dim, state_floats}};
    }
    std::vector<uint32_t> Bits() {
      std::vector<uint32_t> bits;
      for (float w : span().weights) bits.push_back(std::bit_cast<uint32_t>(w));
      for (float s : span().state) bits.push_back(std::bit_cast<uint32_t>(s));
      return bits;
    }

    uint32_t dim;
    size_t offset;
    uint32_t state_floats;
    std::vector<float> floats;
  };

  static std::vector<float> RandomGradient(SplitMix64& random, uint32_t dim) {
    std::vector<float> gradient(dim);
    for (float& g : gradient) g = static_cast<float>(random.Normal());
    return gradient;
  }

  std::unique_ptr<Optimizer> optimizer_ = GetParam().make();
};

TEST_P(OptimizerSuite, WritesNothingOutsideTheRow) {
  for (uint32_t dim : {1u, 7u, 8u, 9u, 64u}) {
    Row row(*optimizer_, dim);
    optimizer_->Apply(row.span(), std::vector<float>(dim, 0.25f), {.lr = 0.1f});
    EXPECT_EQ(row.floats.front(), Row::kCanary);
    EXPECT_EQ(row.floats.back(), Row::kCanary);
  }
}

TEST_P(OptimizerSuite, AFreshRowMovesAgainstItsGradient) {
  Row row(*optimizer_, 4);
  optimizer_->Apply(row.span(), std::vector<float>{1, -1, 2, -2}, {.lr = 0.1f});
  const auto w = row.span().weights;
  EXPECT_LT(w[0], 0.5f);
  EXPECT_GT(w[1], 0.4f);
  EXPECT_LT(w[0], w[1]);
  EXPECT_LT(w[2], w[3]);
}

TEST_P(OptimizerSuite, ZeroWeightsUnderZeroGradientsStayZero) {
  Row row(*optimizer_, 9);
  for (float& w : row.span().weights) w = 0;
  for (int step = 0; step < 10; ++step) {
    optimizer_->Apply(row.span(), std::vector<float>(9, 0.0f), {.lr = 0.1f});
  }
  EXPECT_THAT(row.span().weights, ::testing::Each(0.0f));
}

TEST_P(OptimizerSuite, PaddingWithZerosStaysZeroWhileOtherElementsMove) {
  Row row(*optimizer_, 9);
  row.span().weights[8] = 0;
  for (int step = 0; step < 10; ++step) {
    std::vector<float> gradient(9, 0.5f);
    gradient[8] = 0;
    optimizer_->Apply(row.span(), gradient, {.lr = 0.1f});
  }
  EXPECT_EQ(row.span().weights[8], 0.0f);
  EXPECT_NE(row.span().weights[7], 0.5f);
}

TEST_P(OptimizerSuite, TheSameStepsGiveTheSameBitsAtAnyAlignment) {
  const uint64_t seed = TestSeed(31);
  SCOPED_TRACE(SeedTrace(seed));
  for (uint32_t dim : {1u, 8u, 13u, 64u}) {
    SplitMix64 random(seed);
    Row aligned(*optimizer_, dim, 0);
    Row shifted(*optimizer_, dim, 3);
    auto twin = GetParam().make();
    for (int step = 0; step < 100; ++step) {
      const auto gradient = RandomGradient(random, dim);
      const float lr = static_cast<float>(random.Uniform() * 0.1);
      optimizer_->Apply(aligned.span(), gradient, {.lr = lr});
      twin->Apply(shifted.span(), gradient, {.lr = lr});
    }
    EXPECT_EQ(aligned.Bits(), shifted.Bits());
  }
}

TEST_P(OptimizerSuite, RowsDoNotInfluenceEachOther) {
  SplitMix64 random(5);
  Row alone(*optimizer_, 8);
  Row together(*optimizer_, 8);
  Row other(*optimizer_, 8);
  for (int step = 0; step < 20; ++step) {
    const auto gradient = RandomGradient(random, 8);
    optimizer_->Apply(alone.span(), gradient, {.lr = 0.1f});
    optimizer_->Apply(together.span(), gradient, {.lr = 0.1f});
    optimizer_->Apply(other.span(), RandomGradient(random, 8), {.lr = 0.3f});
  }
  EXPECT_EQ(alone.Bits(), together.Bits());
}

// Powers of two scale without rounding, so the two ways agree in every bit.
TEST_P(OptimizerSuite, GradientScaleIsTheSameAsScaledGradients) {
  SplitMix64 random(6);
  Row scaled(*optimizer_, 8);
  Row plain(*optimizer_, 8);
  for (int step = 0; step < 20; ++step) {
    auto gradient = RandomGradient(random, 8);
    optimizer_->Apply(scaled.span(), gradient, {.lr = 0.1f, .gradient_scale = 0.25f});
    for (float& g : gradient) g *= 0.25f;
    optimizer_->Apply(plain.span(), gradient, {.lr = 0.1f});
  }
  EXPECT_EQ(scaled.Bits(), plain.Bits());
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_CONFORMANCE_OPTIMIZER_SUITE_H_
