#include "server/optimizer/modifiers.h"

#include <cmath>

#include "server/optimizer/lanes.h"

namespace syncline {
namespace {

float ClipScale(std::span<const float> gradient, float scale, float clip_norm) {
  if (clip_norm == 0) return scale;
  const double norm = std::sqrt(SumOfSquares(gradient, scale));
  if (!(norm > clip_norm)) return scale;
  return static_cast<float>(scale * (clip_norm / norm));
}

}  // namespace

void ModifiedOptimizer::Apply(RowSpan row, std::span<const float> gradient,
                              const Step& step) const {
  Step modified = step;
  modified.gradient_scale = ClipScale(gradient, step.gradient_scale, modifiers_.clip_norm);
  if (modifiers_.weight_decay != 0) {
    const float decay = step.lr * modifiers_.weight_decay;
    for (float& w : row.weights) w -= decay * w;
  }
  inner_->Apply(row, gradient, modified);
}

}  // namespace syncline
