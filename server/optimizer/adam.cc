#include "server/optimizer/adam.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace syncline {
namespace {

// base^n with multiplications alone, in a fixed order; std::pow differs between C libraries.
double Power(double base, uint32_t n) {
  double power = 1;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) power *= base;
    base *= base;
  }
  return power;
}

uint32_t CountStep(std::span<float> state) {
  const uint32_t before = Adam::StepCount(state);
  const uint32_t count = before == UINT32_MAX ? before : before + 1;
  state.back() = std::bit_cast<float>(count);
  return count;
}

}  // namespace

Adam::Adam(Options options)
    : options_(options),
      keep1_(static_cast<float>(options.beta1)),
      take1_(static_cast<float>(1 - options.beta1)),
      keep2_(static_cast<float>(options.beta2)),
      take2_(static_cast<float>(1 - options.beta2)) {}

void Adam::InitState(std::span<float> state) const { std::fill(state.begin(), state.end(), 0.0f); }

uint32_t Adam::StepCount(std::span<const float> state) {
  return std::bit_cast<uint32_t>(state.back());
}

void Adam::Apply(RowSpan row, std::span<const float> gradient, const Step& step) const {
  const size_t dim = gradient.size();
  const std::span<float> m = row.state.subspan(0, dim);
  const std::span<float> v = row.state.subspan(dim, dim);
  const uint32_t t = CountStep(row.state);
  const float rate = static_cast<float>(step.lr / (1 - Power(options_.beta1, t)));
  const float root = static_cast<float>(std::sqrt(1 - Power(options_.beta2, t)));
  for (size_t i = 0; i < dim; ++i) {
    const float g = step.gradient_scale * gradient[i];
    m[i] = keep1_ * m[i] + take1_ * g;
    v[i] = keep2_ * v[i] + take2_ * (g * g);
    row.weights[i] -= rate * m[i] / (std::sqrt(v[i]) / root + options_.eps);
  }
}

}  // namespace syncline
