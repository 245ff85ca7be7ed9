#include "worker/data/zipf.h"

#include <algorithm>
#include <cmath>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {

Zipf::Zipf(uint64_t n, double exponent) {
  SYNCLINE_CHECK(n > 0 && n <= kMaxSyntheticIds, "a Zipf law has ids, and not too many");
  cumulative_.reserve(n);
  double total = 0;
  for (uint64_t k = 1; k <= n; ++k) {
    total += std::pow(static_cast<double>(k), -exponent);
    cumulative_.push_back(total);
  }
  for (double& value : cumulative_) value /= total;
}

uint64_t Zipf::Draw(SplitMix64& random) const {
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.Uniform());
  // The last sum may be a rounding below 1.
  return std::min<uint64_t>(static_cast<uint64_t>(found - cumulative_.begin()),
                            cumulative_.size() - 1);
}

}  // namespace syncline
