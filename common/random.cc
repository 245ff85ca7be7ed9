#include "common/random.h"

#include <cmath>
#include <numbers>

#include <sys/random.h>

#include "common/status/status.h"

namespace syncline {

double SplitMix64::Normal() {
  const double u = 1.0 - Uniform();  // in (0, 1], so that the logarithm is finite
  const double v = Uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

uint64_t SystemRandom::Next() {
  uint64_t value = 0;
  const ssize_t got = getrandom(&value, sizeof(value), 0);
  SYNCLINE_CHECK(got == sizeof(value), "getrandom failed: the kernel gives no random numbers");
  return value;
}

}  // namespace syncline
