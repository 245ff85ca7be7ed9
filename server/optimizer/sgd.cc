#include "server/optimizer/sgd.h"

#include <algorithm>
#include <cstddef>

namespace syncline {

void Sgd::Apply(RowSpan row, std::span<const float> gradient, const Step& step) const {
  for (size_t i = 0; i < gradient.size(); ++i) {
    row.weights[i] -= step.lr * (step.gradient_scale * gradient[i]);
  }
}

void Momentum::InitState(std::span<float> state) const {
  std::fill(state.begin(), state.end(), 0.0f);
}

void Momentum::Apply(RowSpan row, std::span<const float> gradient, const Step& step) const {
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float g = step.gradient_scale * gradient[i];
    const float v = options_.mu * row.state[i] + g;
    row.state[i] = v;
    row.weights[i] -= step.lr * (options_.nesterov ? g + options_.mu * v : v);
  }
}

}  // namespace syncline
