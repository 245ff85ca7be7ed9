// What every optimizer can have around it: clipping and weight decay.
#ifndef SYNCLINE_SERVER_OPTIMIZER_MODIFIERS_H_
#define SYNCLINE_SERVER_OPTIMIZER_MODIFIERS_H_

#include <memory>
#include <utility>

#include "server/optimizer/optimizer.h"

namespace syncline {

struct Modifiers {
  float clip_norm = 0;     // 0: off
  float weight_decay = 0;  // 0: off
};

// Clips, then decays, then steps the optimizer inside:
//
//   1. norm = |g|_2 (double, lanes.h). If norm > clip_norm, the gradient is scaled by
//      clip_norm / norm, rounded to float. A norm that is not a number clips nothing.
//   2. w -= (lr * weight_decay) * w: decoupled decay (Loshchilov and Hutter 2019) of the touched
//      row, with the rate of the step; lr * weight_decay is rounded to float once.
//   3. The inner Apply.
class ModifiedOptimizer final : public Optimizer {
 public:
  ModifiedOptimizer(std::unique_ptr<Optimizer> inner, Modifiers modifiers)
      : inner_(std::move(inner)), modifiers_(modifiers) {}

  uint32_t StateFloats(uint32_t dim) const override { return inner_->StateFloats(dim); }
  void InitState(std::span<float> state) const override { inner_->InitState(state); }
  void Apply(RowSpan row, std::span<const float> gradient, const Step& step) const override;

 private:
  std::unique_ptr<Optimizer> inner_;
  Modifiers modifiers_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_MODIFIERS_H_
