// Adagrad, per element and per row.
#ifndef SYNCLINE_SERVER_OPTIMIZER_ADAGRAD_H_
#define SYNCLINE_SERVER_OPTIMIZER_ADAGRAD_H_

#include "server/optimizer/optimizer.h"

namespace syncline {

struct AdagradOptions {
  float initial_accumulator;  // at least 0
  float eps;                  // above 0: it keeps a zero accumulator from dividing by zero
};

// Duchi, Hazan and Singer, JMLR 12 (2011), diagonal form:
//
//   a += g * g;   w -= lr * g / (sqrt(a) + eps)
//
// State: a (dim floats), from initial_accumulator.
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(AdagradOptions options) : options_(options) {}

  uint32_t StateFloats(uint32_t dim) const override { return dim; }
  void InitState(std::span<float> state) const override;
  void Apply(RowSpan row, std::span<const float> gradient, const Step& step) const override;

 private:
  AdagradOptions options_;
};

// One accumulator for the whole row (the row-wise form of Mudigere et al., ISCA 2022, 4.1):
//
//   a += (g[0]^2 + ... + g[dim-1]^2) / dim;   w[i] -= lr * g[i] / (sqrt(a) + eps)
//
// The mean is taken in double (lanes.h) and rounded to float once. State: a (1 float).
class RowwiseAdagrad final : public Optimizer {
 public:
  explicit RowwiseAdagrad(AdagradOptions options) : options_(options) {}

  uint32_t StateFloats(uint32_t) const override { return 1; }
  void InitState(std::span<float> state) const override;
  void Apply(RowSpan row, std::span<const float> gradient, const Step& step) const override;

 private:
  AdagradOptions options_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_ADAGRAD_H_
