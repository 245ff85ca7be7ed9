// The seam for optimizers: how one gradient changes one row.
#ifndef SYNCLINE_SERVER_OPTIMIZER_OPTIMIZER_H_
#define SYNCLINE_SERVER_OPTIMIZER_OPTIMIZER_H_

#include <cstdint>
#include <span>

namespace syncline {

// One row: `dim` weights and the optimizer's state, which only the optimizer understands.
struct RowSpan {
  std::span<float> weights;
  std::span<float> state;
};

// What an update needs besides the gradient.
struct Step {
  float lr = 0;
  // Multiplies each gradient element before any use. Modifiers (modifiers.h) set it; 1 changes no
  // bit.
  float gradient_scale = 1;
};

// Applies gradients to rows.
//
// Deterministic: the new row is a pure function of row, gradient and step, and has the same bits on
// every machine and in every later vectorised form. Hence the rules of this folder: only + - * /
// and sqrt, each rounded once (no fused multiply-add, no approximate reciprocal), operands in float
// unless the header of the optimizer says double, and reductions over the fixed lanes of lanes.h.
//
// State is floats, but may hold other bits (a step count): copy it as bytes, never compute with it.
//
// Immutable after construction, so const calls may run on many threads with different rows.
// tests/conformance/optimizer_suite.h states this contract as tests.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Floats of state that a row of `dim` weights needs.
  virtual uint32_t StateFloats(uint32_t dim) const = 0;

  // Writes the state of a row that was never stepped. REQUIRES: state.size() == StateFloats(dim).
  virtual void InitState(std::span<float> state) const = 0;

  // One step on one row. A zero gradient is a step too: it decays moments and counts.
  // REQUIRES: gradient.size() == row.weights.size(), row.state.size() == StateFloats(of that);
  // gradient overlaps neither.
  virtual void Apply(RowSpan row, std::span<const float> gradient, const Step& step) const = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_OPTIMIZER_H_
