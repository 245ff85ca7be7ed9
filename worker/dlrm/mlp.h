// A multilayer perceptron over kernels: the piece that both halves of a DLRM are made of.
#ifndef SYNCLINE_WORKER_DLRM_MLP_H_
#define SYNCLINE_WORKER_DLRM_MLP_H_

#include <cstddef>
#include <span>
#include <vector>

#include "worker/kernels/dense_ops.h"

namespace syncline {

// Layer l computes f(x W^T + b), W [widths[l + 1]][widths[l]]; f is the activation, or nothing for
// the last layer when it is linear. Parameters and their gradients are two spans per layer: weight,
// bias. Holds shapes only; all memory is the caller's, under the contract of `stream`.
class Mlp {
 public:
  // REQUIRES: at least two widths, or none: then there are no layers and nothing may be called.
  Mlp(std::vector<size_t> widths, Activation activation, bool linear_output);

  size_t layers() const { return widths_.empty() ? 0 : widths_.size() - 1; }
  size_t output_width(size_t layer) const { return widths_[layer + 1]; }

  // Enqueues the layers. outputs[l] is [batch][output_width(l)] and gets what layer l gives.
  void Forward(Stream& stream, const DenseOps& ops, ConstMatrix input,
               std::span<const std::span<const float>> parameters,
               std::span<const Matrix> outputs) const;

  // Enqueues the gradients of all parameters (overwritten, sums over the batch), and of the input
  // when `input_gradient` has data. gradients[l] has the shape of outputs[l]; the last one comes in
  // as the gradient of the output; all are used up as scratch.
  void Backward(Stream& stream, const DenseOps& ops, ConstMatrix input,
                std::span<const std::span<const float>> parameters, std::span<const Matrix> outputs,
                std::span<const Matrix> gradients,
                std::span<const std::span<float>> parameter_gradients, Matrix input_gradient) const;

 private:
  bool Activates(size_t layer) const { return !linear_output_ || layer + 1 < layers(); }
  ConstMatrix Weight(std::span<const std::span<const float>> parameters, size_t layer) const;

  std::vector<size_t> widths_;
  Activation activation_;
  bool linear_output_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_MLP_H_
