#include <algorithm>
#include <cmath>

// One thread, whatever Eigen was built with: one order of addition.
#define EIGEN_DONT_PARALLELIZE
#include "Eigen/Core"

#include "common/status/status.h"
#include "worker/kernels/cpu_kernels.h"

namespace syncline {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<Eigen::Dynamic>;
using Map = Eigen::Map<RowMajor, Eigen::Unaligned, Stride>;
using ConstMap = Eigen::Map<const RowMajor, Eigen::Unaligned, Stride>;

Map AsEigen(Matrix x) {
  return {x.data, static_cast<Eigen::Index>(x.rows), static_cast<Eigen::Index>(x.cols),
          Stride(static_cast<Eigen::Index>(x.stride))};
}
ConstMap AsEigen(ConstMatrix x) {
  return {x.data, static_cast<Eigen::Index>(x.rows), static_cast<Eigen::Index>(x.cols),
          Stride(static_cast<Eigen::Index>(x.stride))};
}

void Scale(float factor, Matrix x) {
  for (size_t r = 0; r < x.rows; ++r) {
    float* row = x.row(r);
    for (size_t c = 0; c < x.cols; ++c) row[c] = factor == 0.0F ? 0.0F : factor * row[c];
  }
}

// Below this sum of sizes Eigen takes another way, whose order of addition depends on where the
// result lies in memory.
constexpr size_t kTinyProduct = 24;

void TinyProduct(bool transpose_a, bool transpose_b, size_t inner, float alpha, ConstMatrix a,
                 ConstMatrix b, Matrix c) {
  for (size_t i = 0; i < c.rows; ++i) {
    for (size_t j = 0; j < c.cols; ++j) {
      float sum = 0;
      for (size_t k = 0; k < inner; ++k) {
        const float left = transpose_a ? a.row(k)[i] : a.row(i)[k];
        const float right = transpose_b ? b.row(j)[k] : b.row(k)[j];
        sum += left * right;
      }
      c.row(i)[j] += alpha * sum;
    }
  }
}

void AddProduct(bool transpose_a, bool transpose_b, float alpha, ConstMatrix a, ConstMatrix b,
                Matrix c) {
  const ConstMap left = AsEigen(a);
  const ConstMap right = AsEigen(b);
  Map out = AsEigen(c);
  if (transpose_a && transpose_b) {
    out.noalias() += alpha * left.transpose() * right.transpose();
  } else if (transpose_a) {
    out.noalias() += alpha * left.transpose() * right;
  } else if (transpose_b) {
    out.noalias() += alpha * left * right.transpose();
  } else {
    out.noalias() += alpha * left * right;
  }
}

float ApplyActivation(Activation activation, float x) {
  return activation == Activation::kRelu ? std::max(x, 0.0F) : std::tanh(x);
}

float ActivationSlope(Activation activation, float output) {
  if (activation == Activation::kRelu) return output > 0 ? 1.0F : 0.0F;
  return 1.0F - output * output;
}

double Loss(double logit, double label) {
  return std::max(logit, 0.0) - logit * label + std::log1p(std::exp(-std::abs(logit)));
}

float Sigmoid(float logit) {
  // The exponent is never positive, so it cannot overflow.
  const float e = std::exp(-std::abs(logit));
  return logit >= 0 ? 1.0F / (1.0F + e) : e / (1.0F + e);
}

}  // namespace

void CpuDenseOps::Gemm(Stream& stream, Transpose transpose_a, Transpose transpose_b, float alpha,
                       ConstMatrix a, ConstMatrix b, float beta, Matrix c) const {
  const bool ta = transpose_a == Transpose::kYes;
  const bool tb = transpose_b == Transpose::kYes;
  const size_t inner = ta ? a.rows : a.cols;
  SYNCLINE_CHECK((ta ? a.cols : a.rows) == c.rows && (tb ? b.rows : b.cols) == c.cols &&
                     (tb ? b.cols : b.rows) == inner,
                 "gemm: shapes do not agree");
  stream.Enqueue([=] {
    if (beta != 1.0F) Scale(beta, c);
    if (c.rows == 0 || c.cols == 0 || inner == 0) return;
    if (c.rows + c.cols + inner < kTinyProduct || (c.rows == 1 && c.cols == 1)) {
      TinyProduct(ta, tb, inner, alpha, a, b, c);
    } else {
      AddProduct(ta, tb, alpha, a, b, c);
    }
  });
}

void CpuDenseOps::Fill(Stream& stream, float value, Matrix x) const {
  stream.Enqueue([=] {
    for (size_t r = 0; r < x.rows; ++r) std::fill_n(x.row(r), x.cols, value);
  });
}

void CpuDenseOps::Copy(Stream& stream, ConstMatrix x, Matrix out) const {
  SYNCLINE_CHECK(x.rows == out.rows && x.cols == out.cols, "copy: shapes differ");
  stream.Enqueue([=] {
    for (size_t r = 0; r < x.rows; ++r) std::copy_n(x.row(r), x.cols, out.row(r));
  });
}

void CpuDenseOps::AddBias(Stream& stream, std::span<const float> bias, Matrix x) const {
  SYNCLINE_CHECK(bias.size() == x.cols, "bias: one value per column is needed");
  stream.Enqueue([=] {
    for (size_t r = 0; r < x.rows; ++r) {
      float* row = x.row(r);
      for (size_t c = 0; c < x.cols; ++c) row[c] += bias[c];
    }
  });
}

void CpuDenseOps::BiasGradient(Stream& stream, ConstMatrix gradient,
                               std::span<float> bias_gradient) const {
  SYNCLINE_CHECK(bias_gradient.size() == gradient.cols, "bias: one value per column is needed");
  stream.Enqueue([=] {
    std::fill(bias_gradient.begin(), bias_gradient.end(), 0.0F);
    for (size_t r = 0; r < gradient.rows; ++r) {
      const float* row = gradient.row(r);
      for (size_t c = 0; c < gradient.cols; ++c) bias_gradient[c] += row[c];
    }
  });
}

void CpuDenseOps::Activate(Stream& stream, Activation activation, Matrix x) const {
  stream.Enqueue([=] {
    for (size_t r = 0; r < x.rows; ++r) {
      float* row = x.row(r);
      for (size_t c = 0; c < x.cols; ++c) row[c] = ApplyActivation(activation, row[c]);
    }
  });
}

void CpuDenseOps::ActivateGradient(Stream& stream, Activation activation, ConstMatrix output,
                                   Matrix gradient) const {
  SYNCLINE_CHECK(output.rows == gradient.rows && output.cols == gradient.cols,
                 "activation gradient: shapes differ");
  stream.Enqueue([=] {
    for (size_t r = 0; r < output.rows; ++r) {
      const float* value = output.row(r);
      float* row = gradient.row(r);
      for (size_t c = 0; c < output.cols; ++c) row[c] *= ActivationSlope(activation, value[c]);
    }
  });
}

void CpuDenseOps::BceWithLogits(Stream& stream, LossReduction reduction,
                                std::span<const float> logits, std::span<const float> labels,
                                double* loss, std::span<float> gradient) const {
  SYNCLINE_CHECK(
      logits.size() == labels.size() && (gradient.empty() || gradient.size() == logits.size()),
      "bce: logits, labels and gradient differ in size");
  stream.Enqueue([=] {
    const bool mean = reduction == LossReduction::kMean && !logits.empty();
    const double divisor = mean ? static_cast<double>(logits.size()) : 1.0;
    double sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) sum += Loss(logits[i], labels[i]);
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = (Sigmoid(logits[i]) - labels[i]) / static_cast<float>(divisor);
    }
    *loss = sum / divisor;
  });
}

}  // namespace syncline
