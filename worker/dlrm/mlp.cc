#include "worker/dlrm/mlp.h"

#include <utility>

#include "common/status/status.h"

namespace syncline {

Mlp::Mlp(std::vector<size_t> widths, Activation activation, bool linear_output)
    : widths_(std::move(widths)), activation_(activation), linear_output_(linear_output) {
  SYNCLINE_CHECK(widths_.size() != 1, "an MLP needs an input and an output width");
}

ConstMatrix Mlp::Weight(std::span<const std::span<const float>> parameters, size_t layer) const {
  return {parameters[2 * layer], widths_[layer + 1], widths_[layer]};
}

void Mlp::Forward(Stream& stream, const DenseOps& ops, ConstMatrix input,
                  std::span<const std::span<const float>> parameters,
                  std::span<const Matrix> outputs) const {
  for (size_t l = 0; l < layers(); ++l) {
    const ConstMatrix in = l == 0 ? input : ConstMatrix(outputs[l - 1]);
    ops.Gemm(stream, Transpose::kNo, Transpose::kYes, 1, in, Weight(parameters, l), 0, outputs[l]);
    ops.AddBias(stream, parameters[2 * l + 1], outputs[l]);
    if (Activates(l)) ops.Activate(stream, activation_, outputs[l]);
  }
}

void Mlp::Backward(Stream& stream, const DenseOps& ops, ConstMatrix input,
                   std::span<const std::span<const float>> parameters,
                   std::span<const Matrix> outputs, std::span<const Matrix> gradients,
                   std::span<const std::span<float>> parameter_gradients,
                   Matrix input_gradient) const {
  for (size_t l = layers(); l-- > 0;) {
    if (Activates(l)) ops.ActivateGradient(stream, activation_, outputs[l], gradients[l]);
    const ConstMatrix in = l == 0 ? input : ConstMatrix(outputs[l - 1]);
    const Matrix weight_gradient(parameter_gradients[2 * l], widths_[l + 1], widths_[l]);
    ops.Gemm(stream, Transpose::kYes, Transpose::kNo, 1, gradients[l], in, 0, weight_gradient);
    ops.BiasGradient(stream, gradients[l], parameter_gradients[2 * l + 1]);
    const Matrix below = l == 0 ? input_gradient : gradients[l - 1];
    if (below.data == nullptr) continue;
    ops.Gemm(stream, Transpose::kNo, Transpose::kNo, 1, gradients[l], Weight(parameters, l), 0,
             below);
  }
}

}  // namespace syncline
