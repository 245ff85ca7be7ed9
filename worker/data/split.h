// Random parts of a data set for training, validation and test.
#ifndef SYNCLINE_WORKER_DATA_SPLIT_H_
#define SYNCLINE_WORKER_DATA_SPLIT_H_

#include <cstdint>
#include <vector>

namespace syncline {

// The split that published figures use; split k of a series has kPinnedSplitSeed + k.
inline constexpr uint64_t kPinnedSplitSeed = 20'240'229;

// Row numbers of each part: disjoint, together all rows, in random order.
struct Split {
  std::vector<uint32_t> train;
  std::vector<uint32_t> validation;
  std::vector<uint32_t> test;
};

// 80/10/10: the first 8/10 of a seeded permutation (rounded down) train, up to 9/10 validate, the
// rest test. The same (rows, seed) gives the same split on every machine.
Split SplitRows(uint32_t rows, uint64_t seed);

// 0 .. n-1 shuffled (Fisher and Yates, as in Knuth, TAOCP vol. 2, 3.4.2, algorithm P) by
// SplitMix64: a pure function that never changes, because pieces and splits are built on it.
std::vector<uint32_t> SeededPermutation(uint32_t n, uint64_t seed);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_SPLIT_H_
