// Adam for sparse rows.
#ifndef SYNCLINE_SERVER_OPTIMIZER_ADAM_H_
#define SYNCLINE_SERVER_OPTIMIZER_ADAM_H_

#include <cstdint>

#include "server/optimizer/optimizer.h"

namespace syncline {

// Kingma and Ba 2015, algorithm 1, with lazy moments: a row that is not touched keeps its moments,
// and t counts the steps of this row alone.
//
//   t += 1
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g * g
//   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
//
// The powers are taken in double by repeated squaring; both corrections are rounded to float once.
//
// State: m (dim), v (dim), then t as the bits of a uint32 in one float: a float would stop counting
// at 2^24. t stays at 2^32 - 1 when it gets there; no beta below 1 that a float can hold (the
// largest is 1 - 2^-24) leaves anything of beta^t by then (e^-128 at most).
class Adam final : public Optimizer {
 public:
  struct Options {
    double beta1;  // [0, 1)
    double beta2;  // [0, 1)
    float eps;     // above 0
  };
  explicit Adam(Options options);

  uint32_t StateFloats(uint32_t dim) const override { return 2 * dim + 1; }
  void InitState(std::span<float> state) const override;
  void Apply(RowSpan row, std::span<const float> gradient, const Step& step) const override;

  // The step count of a row. REQUIRES: `state` is a state of this optimizer.
  static uint32_t StepCount(std::span<const float> state);

 private:
  Options options_;
  float keep1_, take1_;  // beta1 and 1 - beta1, each rounded once
  float keep2_, take2_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_ADAM_H_
