#include "worker/data/split.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "common/random.h"

namespace syncline {

std::vector<uint32_t> SeededPermutation(uint32_t n, uint64_t seed) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  SplitMix64 random(seed);
  for (uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

Split SplitRows(uint32_t rows, uint64_t seed) {
  const std::vector<uint32_t> order = SeededPermutation(rows, seed);
  const auto train_end = order.begin() + static_cast<ptrdiff_t>(uint64_t{rows} * 8 / 10);
  const auto validation_end = order.begin() + static_cast<ptrdiff_t>(uint64_t{rows} * 9 / 10);
  return {.train = {order.begin(), train_end},
          .validation = {train_end, validation_end},
          .test = {validation_end, order.end()}};
}

}  // namespace syncline
