// The seam for randomness: seeded generators whose values are part of stored results, so their
// formulas never change, and a source of unguessable ids.
#ifndef SYNCLINE_COMMON_RANDOM_H_
#define SYNCLINE_COMMON_RANDOM_H_

#include <cstdint>

#include "common/hash.h"

namespace syncline {

// SplitMix64: a counter through Mix64. The same seed gives the same numbers on every machine.
// Satisfies UniformRandomBitGenerator. Not thread-safe.
class SplitMix64 {
 public:
  using result_type = uint64_t;

  constexpr explicit SplitMix64(uint64_t seed) : state_(seed) {}

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  constexpr uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15u;
    return Mix64(state_);
  }

  // Uniform in [0, 1): the top 53 bits.
  constexpr double Uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  // Uniform in [0, n). REQUIRES: n > 0. The bias is below n / 2^64.
  constexpr uint64_t Below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>((*this)()) * n) >> 64);
  }
  // Standard normal (Box and Muller 1958, the cosine half). Uses the C library's log and cos: for
  // tests and generated data, never for stored rows.
  double Normal();

 private:
  uint64_t state_;
};

// Source of ids that nobody can guess, or of the same ids each run under test. Thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;
};

// getrandom(2).
class SystemRandom final : public Random {
 public:
  uint64_t Next() override;
};

// For tests and simulation. Not thread-safe.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : generator_(seed) {}
  uint64_t Next() override { return generator_(); }

 private:
  SplitMix64 generator_;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_RANDOM_H_
