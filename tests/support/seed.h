// Seeds for property tests: printed with every failure, taken back from the environment.
#ifndef SYNCLINE_TESTS_SUPPORT_SEED_H_
#define SYNCLINE_TESTS_SUPPORT_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace syncline {

// The seed of a property test: SYNCLINE_SEED when set, else `default_seed`. Use with
//   SCOPED_TRACE(SeedTrace(seed));
inline uint64_t TestSeed(uint64_t default_seed) {
  const char* text = std::getenv("SYNCLINE_SEED");
  return text == nullptr ? default_seed : std::strtoull(text, nullptr, 10);
}

inline std::string SeedTrace(uint64_t seed) {
  return "rerun with SYNCLINE_SEED=" + std::to_string(seed);
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_SEED_H_
