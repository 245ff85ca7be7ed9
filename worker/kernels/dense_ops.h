// The seam for dense arithmetic: matrix product and the few elementwise operations of an MLP with a
// binary cross-entropy on top.
#ifndef SYNCLINE_WORKER_KERNELS_DENSE_OPS_H_
#define SYNCLINE_WORKER_KERNELS_DENSE_OPS_H_

#include <span>

#include "worker/kernels/matrix_view.h"
#include "worker/kernels/stream.h"

namespace syncline {

enum class Transpose { kNo = 0, kYes = 1 };
enum class Activation { kRelu = 1, kTanh = 2 };
enum class LossReduction { kSum = 1, kMean = 2 };

// The same contract as EmbeddingOps: calls enqueue, shapes must agree, results are the same bits
// each time on the same machine, implementations are stateless and thread-safe.
class DenseOps {
 public:
  virtual ~DenseOps() = default;

  // c = alpha * op(a) * op(b) + beta * c, op(x) = x or its transpose. With beta 0, c is only
  // written: what it held, NaN included, does not matter. An inner size of 0 leaves beta * c.
  // `c` overlaps neither input.
  virtual void Gemm(Stream& stream, Transpose transpose_a, Transpose transpose_b, float alpha,
                    ConstMatrix a, ConstMatrix b, float beta, Matrix c) const = 0;

  // x[r][c] = value.
  virtual void Fill(Stream& stream, float value, Matrix x) const = 0;

  // out = x; both of one shape.
  virtual void Copy(Stream& stream, ConstMatrix x, Matrix out) const = 0;

  // x[r][c] += bias[c].
  virtual void AddBias(Stream& stream, std::span<const float> bias, Matrix x) const = 0;

  // The gradient of AddBias: bias_gradient[c] = sum over r of gradient[r][c], in the order of r.
  virtual void BiasGradient(Stream& stream, ConstMatrix gradient,
                            std::span<float> bias_gradient) const = 0;

  // x = f(x) in place.
  virtual void Activate(Stream& stream, Activation activation, Matrix x) const = 0;

  // The gradient of Activate, from its *output*: gradient[r][c] *= f'. relu: 1 where the output is
  // above 0, else 0. tanh: 1 - output^2.
  virtual void ActivateGradient(Stream& stream, Activation activation, ConstMatrix output,
                                Matrix gradient) const = 0;

  // Binary cross-entropy of sigmoid(logit) with a label in [0, 1], in the form that does not
  // overflow: max(z, 0) - z * y + log(1 + exp(-|z|)). *loss gets the sum (in double, in order) or
  // the mean; gradient[i] its derivative by logits[i], sigmoid(z) - y, divided by the count under
  // kMean. `gradient` may be empty (evaluation), or else has the size of logits.
  virtual void BceWithLogits(Stream& stream, LossReduction reduction, std::span<const float> logits,
                             std::span<const float> labels, double* loss,
                             std::span<float> gradient) const = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_KERNELS_DENSE_OPS_H_
