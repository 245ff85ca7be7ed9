#include "server/optimizer/adagrad.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "server/optimizer/lanes.h"

namespace syncline {

void Adagrad::InitState(std::span<float> state) const {
  std::fill(state.begin(), state.end(), options_.initial_accumulator);
}

void Adagrad::Apply(RowSpan row, std::span<const float> gradient, const Step& step) const {
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float g = step.gradient_scale * gradient[i];
    row.state[i] += g * g;
    row.weights[i] -= step.lr * g / (std::sqrt(row.state[i]) + options_.eps);
  }
}

void RowwiseAdagrad::InitState(std::span<float> state) const {
  state[0] = options_.initial_accumulator;
}

void RowwiseAdagrad::Apply(RowSpan row, std::span<const float> gradient, const Step& step) const {
  const double sum = SumOfSquares(gradient, step.gradient_scale);
  row.state[0] += static_cast<float>(sum / static_cast<double>(gradient.size()));
  const float denominator = std::sqrt(row.state[0]) + options_.eps;
  for (size_t i = 0; i < gradient.size(); ++i) {
    row.weights[i] -= step.lr * (step.gradient_scale * gradient[i]) / denominator;
  }
}

}  // namespace syncline
