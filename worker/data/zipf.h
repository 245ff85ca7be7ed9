// Draws ids whose frequencies follow Zipf's law.
#ifndef SYNCLINE_WORKER_DATA_ZIPF_H_
#define SYNCLINE_WORKER_DATA_ZIPF_H_

#include <cstdint>
#include <vector>

#include "common/random.h"

namespace syncline {

// Id k of 0 .. n-1 with probability proportional to 1 / (k + 1)^exponent: id 0 is the most
// frequent. Exact, by search in the table of cumulative probabilities: 8 B per id, O(log n) a draw.
// Immutable.
class Zipf {
 public:
  // REQUIRES: 0 < n <= kMaxSyntheticIds; exponent >= 0 (0 is uniform).
  Zipf(uint64_t n, double exponent);

  uint64_t Draw(SplitMix64& random) const;
  double probability(uint64_t id) const {
    return cumulative_[id] - (id == 0 ? 0 : cumulative_[id - 1]);
  }

 private:
  std::vector<double> cumulative_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_ZIPF_H_
