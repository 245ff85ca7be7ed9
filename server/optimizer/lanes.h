// Reductions in a fixed order, so that scalar and vector code give the same bits.
#ifndef SYNCLINE_SERVER_OPTIMIZER_LANES_H_
#define SYNCLINE_SERVER_OPTIMIZER_LANES_H_

#include <array>
#include <cstddef>
#include <span>

namespace syncline {

// Sum of (scale * v[i])^2 in double. scale * v[i] is rounded to float; its square is exact in
// double and cannot overflow. Lane j of 8 adds the elements j, j + 8, j + 16, ... in that order;
// then lanes j and j + 4 are added, then j and j + 2, then j and j + 1.
inline double SumOfSquares(std::span<const float> v, float scale = 1) {
  constexpr size_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  for (size_t i = 0; i < v.size(); ++i) {
    const double x = scale * v[i];
    lanes[i % kLanes] += x * x;
  }
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_LANES_H_
