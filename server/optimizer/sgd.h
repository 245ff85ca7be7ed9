// Gradient descent, plain and with momentum.
#ifndef SYNCLINE_SERVER_OPTIMIZER_SGD_H_
#define SYNCLINE_SERVER_OPTIMIZER_SGD_H_

#include "server/optimizer/optimizer.h"

namespace syncline {

// w -= lr * g. No state.
class Sgd final : public Optimizer {
 public:
  uint32_t StateFloats(uint32_t) const override { return 0; }
  void InitState(std::span<float>) const override {}
  void Apply(RowSpan row, std::span<const float> gradient, const Step& step) const override;
};

// Heavy ball (Polyak 1964), in the form of Sutskever et al. 2013 as PyTorch writes it:
//
//   v = mu * v + g;   w -= lr * v                  nesterov off
//   v = mu * v + g;   w -= lr * (g + mu * v)       nesterov on
//
// v starts at 0; it decays only when its row is touched. State: v (dim floats).
class Momentum final : public Optimizer {
 public:
  struct Options {
    float mu;  // [0, 1)
    bool nesterov = false;
  };
  explicit Momentum(Options options) : options_(options) {}

  uint32_t StateFloats(uint32_t dim) const override { return dim; }
  void InitState(std::span<float> state) const override;
  void Apply(RowSpan row, std::span<const float> gradient, const Step& step) const override;

 private:
  Options options_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_SGD_H_
