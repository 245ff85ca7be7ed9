// What every implementation of EmbeddingOps and DenseOps must do, on any stream. Instantiate with
//   INSTANTIATE_TEST_SUITE_P(Cpu, KernelsSuite, ::testing::Values(...), KernelsName);
// Operands are ordinary host memory. Values are compared with plain double references, gradients
// with central differences of them; the tolerance, 2e-5 relative to max(1, |value|), is the one
// that implementations may differ by.
#ifndef SYNCLINE_TESTS_CONFORMANCE_KERNELS_SUITE_H_
#define SYNCLINE_TESTS_CONFORMANCE_KERNELS_SUITE_H_

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"
#include "worker/kernels/dense_ops.h"
#include "worker/kernels/embedding_ops.h"

namespace syncline {

struct KernelsUnderTest {
  std::string name;
  std::shared_ptr<const EmbeddingOps> embedding;
  std::shared_ptr<const DenseOps> dense;
  std::function<std::unique_ptr<Stream>()> make_stream;
};

inline std::string KernelsName(const ::testing::TestParamInfo<KernelsUnderTest>& info) {
  return info.param.name;
}

class KernelsSuite : public ::testing::TestWithParam<KernelsUnderTest> {
 protected:
  using Values = std::vector<double>;
  // A function of one operand, all others fixed, in double.
  using Function = std::function<Values(const Values&)>;

  const EmbeddingOps& embedding() const { return *GetParam().embedding; }
  const DenseOps& dense() const { return *GetParam().dense; }
  Stream& stream() { return *stream_; }
  SplitMix64& random() { return random_; }

  std::vector<float> RandomFloats(size_t n) {
    std::vector<float> values(n);
    for (float& v : values) v = static_cast<float>(2 * random_.Uniform() - 1);
    return values;
  }

  static Values Widen(const std::vector<float>& x) { return {x.begin(), x.end()}; }

  static void ExpectNear(const std::vector<float>& got, const Values& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], want[i], 2e-5 * std::max(1.0, std::abs(want[i]))) << "element " << i;
    }
  }

  // d/dx of sum_i upstream[i] * f(x)[i], by central differences.
  static Values NumericGradient(const Function& f, Values x, const std::vector<float>& upstream) {
    constexpr double kStep = 1e-6;
    Values gradient(x.size());
    for (size_t k = 0; k < x.size(); ++k) {
      const double center = x[k];
      x[k] = center + kStep;
      const Values above = f(x);
      x[k] = center - kStep;
      const Values below = f(x);
      x[k] = center;
      for (size_t i = 0; i < upstream.size(); ++i) {
        gradient[k] += upstream[i] * (above[i] - below[i]) / (2 * kStep);
      }
    }
    return gradient;
  }

 private:
  uint64_t seed_ = TestSeed(11);
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, SeedTrace(seed_)};
  SplitMix64 random_{seed_};
  std::unique_ptr<Stream> stream_ = GetParam().make_stream();
};

// --- Pooling ----------------------------------------------------------------------------------

// Five bags over four rows: two empty ones (first and in the middle), a repeated index.
class PoolingData {
 public:
  static constexpr size_t kDim = 3, kRows = 4, kBags = 5;
  Bags bags() const { return {indices_, offsets_}; }

  std::vector<double> Pool(Pooling pooling, const std::vector<double>& rows) const {
    std::vector<double> pooled(kBags * kDim);
    for (size_t b = 0; b < kBags; ++b) {
      const double n = offsets_[b + 1] - offsets_[b];
      const double divisor = pooling == Pooling::kSum    ? 1
                             : pooling == Pooling::kMean ? n
                                                         : std::sqrt(n);
      for (size_t k = offsets_[b]; k < offsets_[b + 1]; ++k) {
        for (size_t d = 0; d < kDim; ++d) {
          pooled[b * kDim + d] += rows[indices_[k] * kDim + d] / divisor;
        }
      }
    }
    return pooled;
  }

 private:
  std::vector<uint32_t> indices_ = {2, 0, 1, 1, 3, 0, 2};
  std::vector<uint32_t> offsets_ = {0, 0, 1, 4, 4, 7};
};

TEST_P(KernelsSuite, PoolsBagsAndGivesZerosForEmptyOnes) {
  const PoolingData data;
  const auto rows = RandomFloats(data.kRows * data.kDim);
  for (Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN}) {
    std::vector<float> pooled(data.kBags * data.kDim, 99.0F);
    embedding().Pool(stream(), pooling, data.bags(), ConstMatrix(rows, data.kRows, data.kDim),
                     Matrix(pooled, data.kBags, data.kDim));
    stream().Synchronize();
    ExpectNear(pooled, data.Pool(pooling, Widen(rows)));
  }
}

TEST_P(KernelsSuite, PoolGradientIsTheDerivativeOfPool) {
  const PoolingData data;
  const auto rows = RandomFloats(data.kRows * data.kDim);
  const auto upstream = RandomFloats(data.kBags * data.kDim);
  for (Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN}) {
    std::vector<float> gradient(rows.size(), 0.0F);
    embedding().PoolGradient(stream(), pooling, data.bags(),
                             ConstMatrix(upstream, data.kBags, data.kDim),
                             Matrix(gradient, data.kRows, data.kDim));
    stream().Synchronize();
    const Function pool = [&](const Values& x) { return data.Pool(pooling, x); };
    ExpectNear(gradient, NumericGradient(pool, Widen(rows), upstream));
  }
}

TEST_P(KernelsSuite, PoolGradientAddsToWhatIsThere) {
  const std::vector<uint32_t> indices = {0}, offsets = {0, 1};
  const std::vector<float> upstream = {2, 3};
  std::vector<float> gradient = {10, 20};
  for (int field = 0; field < 2; ++field) {
    embedding().PoolGradient(stream(), Pooling::kSum, {indices, offsets},
                             ConstMatrix(upstream, 1, 2), Matrix(gradient, 1, 2));
  }
  stream().Synchronize();
  EXPECT_EQ(gradient, (std::vector<float>{14, 26}));
}

TEST_P(KernelsSuite, PoolsIntoColumnsOfAWiderMatrix) {
  const std::vector<uint32_t> indices = {1, 0}, offsets = {0, 1, 2};
  const std::vector<float> rows = {1, 2, 3, 4};
  std::vector<float> wide(2 * 5, -1.0F);
  embedding().Pool(stream(), Pooling::kSum, {indices, offsets}, ConstMatrix(rows, 2, 2),
                   Matrix(wide, 2, 5).Columns(2, 2));
  stream().Synchronize();
  EXPECT_EQ(wide, (std::vector<float>{-1, -1, 3, 4, -1, -1, -1, 1, 2, -1}));
}

// --- Dot interaction --------------------------------------------------------------------------

inline std::vector<double> ReferenceInteract(size_t batch, size_t vectors, size_t dim,
                                             const std::vector<double>& x) {
  std::vector<double> dots;
  for (size_t b = 0; b < batch; ++b) {
    for (size_t i = 0; i < vectors; ++i) {
      for (size_t j = i + 1; j < vectors; ++j) {
        double sum = 0;
        for (size_t d = 0; d < dim; ++d) {
          sum += x[(b * vectors + i) * dim + d] * x[(b * vectors + j) * dim + d];
        }
        dots.push_back(sum);
      }
    }
  }
  return dots;
}

TEST_P(KernelsSuite, InteractionIsAllPairwiseDotsInOrder) {
  for (size_t vectors : {1u, 2u, 5u}) {
    const size_t batch = 3, dim = 4;
    const auto x = RandomFloats(batch * vectors * dim);
    std::vector<float> dots(batch * PairCount(vectors), 99.0F);
    embedding().Interact(stream(), dim, ConstMatrix(x, batch, vectors * dim),
                         Matrix(dots, batch, PairCount(vectors)));
    stream().Synchronize();
    ExpectNear(dots, ReferenceInteract(batch, vectors, dim, Widen(x)));
  }
}

TEST_P(KernelsSuite, InteractionGradientIsItsDerivativeAddedToWhatIsThere) {
  const size_t batch = 2, vectors = 4, dim = 3, pairs = PairCount(vectors);
  const auto x = RandomFloats(batch * vectors * dim);
  const auto upstream = RandomFloats(batch * pairs);
  std::vector<float> gradient(x.size(), 0.5F);
  embedding().InteractGradient(stream(), dim, ConstMatrix(x, batch, vectors * dim),
                               ConstMatrix(upstream, batch, pairs),
                               Matrix(gradient, batch, vectors * dim));
  stream().Synchronize();
  const Function interact = [&](const Values& v) {
    return ReferenceInteract(batch, vectors, dim, v);
  };
  Values want = NumericGradient(interact, Widen(x), upstream);
  for (double& w : want) w += 0.5;
  ExpectNear(gradient, want);
}

// --- Matrix product ---------------------------------------------------------------------------

struct GemmShape {
  size_t m, n, k;
};

// One entry of op(x), x stored row-major with `cols` columns.
inline double OpAt(const std::vector<float>& x, size_t cols, Transpose transpose, size_t r,
                   size_t c) {
  return transpose == Transpose::kYes ? x[c * cols + r] : x[r * cols + c];
}

inline std::vector<double> ReferenceGemm(GemmShape s, Transpose ta, Transpose tb, double alpha,
                                         const std::vector<float>& a, const std::vector<float>& b,
                                         double beta, const std::vector<float>& c) {
  std::vector<double> out(s.m * s.n);
  for (size_t i = 0; i < s.m; ++i) {
    for (size_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (size_t k = 0; k < s.k; ++k) {
        sum += OpAt(a, ta == Transpose::kYes ? s.m : s.k, ta, i, k) *
               OpAt(b, tb == Transpose::kYes ? s.k : s.n, tb, k, j);
      }
      out[i * s.n + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * s.n + j]);
    }
  }
  return out;
}

TEST_P(KernelsSuite, GemmMatchesADoubleReferenceForAllTransposesAndShapes) {
  for (GemmShape s : {GemmShape{1, 1, 1}, {3, 2, 4}, {1, 9, 33}, {17, 1, 40}, {31, 29, 23}}) {
    for (Transpose ta : {Transpose::kNo, Transpose::kYes}) {
      for (Transpose tb : {Transpose::kNo, Transpose::kYes}) {
        const auto a = RandomFloats(s.m * s.k), b = RandomFloats(s.k * s.n);
        auto c = RandomFloats(s.m * s.n);
        const auto want = ReferenceGemm(s, ta, tb, 0.5, a, b, -2, c);
        const bool yes_a = ta == Transpose::kYes, yes_b = tb == Transpose::kYes;
        dense().Gemm(stream(), ta, tb, 0.5F, ConstMatrix(a, yes_a ? s.k : s.m, yes_a ? s.m : s.k),
                     ConstMatrix(b, yes_b ? s.n : s.k, yes_b ? s.k : s.n), -2.0F,
                     Matrix(c, s.m, s.n));
        stream().Synchronize();
        SCOPED_TRACE(::testing::Message() << s.m << "x" << s.n << "x" << s.k);
        ExpectNear(c, want);
      }
    }
  }
}

TEST_P(KernelsSuite, GemmWithBetaZeroIgnoresWhatWasThere) {
  const std::vector<float> a = {1, 2}, b = {3, 4};
  std::vector<float> c = {std::numeric_limits<float>::quiet_NaN()};
  dense().Gemm(stream(), Transpose::kNo, Transpose::kNo, 1, ConstMatrix(a, 1, 2),
               ConstMatrix(b, 2, 1), 0, Matrix(c, 1, 1));
  stream().Synchronize();
  EXPECT_EQ(c[0], 11);
}

TEST_P(KernelsSuite, GemmGivesTheSameBitsWhereverItsOperandsLie) {
  for (GemmShape s : {GemmShape{4, 3, 5}, {7, 7, 7}, {20, 1, 33}, {1, 20, 33}, {40, 24, 31}}) {
    const auto a = RandomFloats(s.m * s.k), b = RandomFloats(s.k * s.n);
    std::vector<std::vector<float>> results;
    for (size_t shift = 0; shift < 4; ++shift) {
      std::vector<float> at(a.size() + shift), bt(b.size() + shift), c(s.m * s.n + shift);
      std::copy(a.begin(), a.end(), at.begin() + static_cast<std::ptrdiff_t>(shift));
      std::copy(b.begin(), b.end(), bt.begin() + static_cast<std::ptrdiff_t>(shift));
      dense().Gemm(stream(), Transpose::kNo, Transpose::kNo, 1,
                   ConstMatrix(at.data() + shift, s.m, s.k, s.k),
                   ConstMatrix(bt.data() + shift, s.k, s.n, s.n), 0,
                   Matrix(c.data() + shift, s.m, s.n, s.n));
      stream().Synchronize();
      results.emplace_back(c.begin() + static_cast<std::ptrdiff_t>(shift), c.end());
      EXPECT_EQ(results.back(), results.front()) << s.m << "x" << s.n << "x" << s.k;
    }
  }
}

// --- Elementwise ------------------------------------------------------------------------------

TEST_P(KernelsSuite, FillsAndCopiesViews) {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> out(6, 0.0F);
  dense().Fill(stream(), 7, Matrix(out, 2, 3));
  dense().Copy(stream(), ConstMatrix(x, 2, 2), Matrix(out, 2, 3).Columns(1, 2));
  stream().Synchronize();
  EXPECT_EQ(out, (std::vector<float>{7, 1, 2, 7, 3, 4}));
}

TEST_P(KernelsSuite, BiasIsAddedToEachRowAndItsGradientIsTheColumnSum) {
  const std::vector<float> bias = {10, 20};
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, gradient = {99, 99};
  dense().AddBias(stream(), bias, Matrix(x, 3, 2));
  dense().BiasGradient(stream(), Matrix(x, 3, 2), gradient);
  stream().Synchronize();
  EXPECT_EQ(x, (std::vector<float>{11, 22, 13, 24, 15, 26}));
  EXPECT_EQ(gradient, (std::vector<float>{39, 72}));
}

inline double ReferenceActivate(Activation activation, double x) {
  return activation == Activation::kRelu ? std::max(x, 0.0) : std::tanh(x);
}

TEST_P(KernelsSuite, ActivationsAndTheirGradientsMatchTheReference) {
  const auto x = RandomFloats(40), upstream = RandomFloats(40);
  for (Activation activation : {Activation::kRelu, Activation::kTanh}) {
    auto output = x, gradient = upstream;
    dense().Activate(stream(), activation, Matrix(output, 8, 5));
    dense().ActivateGradient(stream(), activation, Matrix(output, 8, 5), Matrix(gradient, 8, 5));
    stream().Synchronize();
    const Function f = [&](Values v) {
      for (double& value : v) value = ReferenceActivate(activation, value);
      return v;
    };
    ExpectNear(output, f(Widen(x)));
    ExpectNear(gradient, NumericGradient(f, Widen(x), upstream));
  }
}

TEST_P(KernelsSuite, BceLossAndGradientMatchTheReferenceForSumAndMean) {
  const size_t n = 16;
  auto logits = RandomFloats(n), labels = RandomFloats(n);
  for (float& z : logits) z *= 6;
  for (float& y : labels) y = y > 0 ? 1.0F : 0.0F;
  for (LossReduction reduction : {LossReduction::kSum, LossReduction::kMean}) {
    const double divisor = reduction == LossReduction::kMean ? static_cast<double>(n) : 1.0;
    const Function f = [&](const Values& z) {
      double sum = 0;
      for (size_t i = 0; i < z.size(); ++i) {
        const double p = 1 / (1 + std::exp(-z[i]));
        sum -= labels[i] * std::log(p) + (1 - labels[i]) * std::log(1 - p);
      }
      return Values{sum / divisor};
    };
    double loss = 0;
    std::vector<float> gradient(n);
    dense().BceWithLogits(stream(), reduction, logits, labels, &loss, gradient);
    stream().Synchronize();
    EXPECT_NEAR(loss, f(Widen(logits))[0], 1e-6);
    ExpectNear(gradient, NumericGradient(f, Widen(logits), {1.0F}));
  }
}

TEST_P(KernelsSuite, BceStaysFiniteForExtremeLogits) {
  const std::vector<float> logits = {1000, -1000, 1000}, labels = {1, 0, 0};
  std::vector<float> gradient(3);
  double loss = -1;
  dense().BceWithLogits(stream(), LossReduction::kSum, logits, labels, &loss, gradient);
  stream().Synchronize();
  EXPECT_DOUBLE_EQ(loss, 1000);
  EXPECT_EQ(gradient, (std::vector<float>{0, 0, 1}));
}

// --- Order ------------------------------------------------------------------------------------

TEST_P(KernelsSuite, LaterOperationsSeeWhatEarlierOnesWrote) {
  std::vector<float> x = {0, 0}, out = {0, 0};
  dense().Fill(stream(), 3, Matrix(x, 1, 2));
  dense().Copy(stream(), Matrix(x, 1, 2), Matrix(out, 1, 2));
  dense().Fill(stream(), 5, Matrix(x, 1, 2));
  stream().Synchronize();
  EXPECT_EQ(out, (std::vector<float>{3, 3}));
  EXPECT_EQ(x, (std::vector<float>{5, 5}));
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_CONFORMANCE_KERNELS_SUITE_H_
