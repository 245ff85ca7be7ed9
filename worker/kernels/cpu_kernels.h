// The kernels on the CPU: plain loops, and Eigen's matrix product on one thread.
#ifndef SYNCLINE_WORKER_KERNELS_CPU_KERNELS_H_
#define SYNCLINE_WORKER_KERNELS_CPU_KERNELS_H_

#include <cstddef>
#include <span>

#include "worker/kernels/dense_ops.h"
#include "worker/kernels/embedding_ops.h"

namespace syncline {

// All memory is host memory. Work reaches the stream by Stream::Enqueue, so any stream does. One
// thread a call: parallel training runs more workers, and one order of addition keeps runs
// bit-identical.
class CpuEmbeddingOps final : public EmbeddingOps {
 public:
  void Pool(Stream& stream, Pooling pooling, const Bags& bags, ConstMatrix rows,
            Matrix pooled) const override;
  void PoolGradient(Stream& stream, Pooling pooling, const Bags& bags, ConstMatrix pooled_gradient,
                    Matrix row_gradients) const override;
  void Interact(Stream& stream, size_t dim, ConstMatrix vectors, Matrix dots) const override;
  void InteractGradient(Stream& stream, size_t dim, ConstMatrix vectors, ConstMatrix dot_gradients,
                        Matrix vector_gradients) const override;
};

class CpuDenseOps final : public DenseOps {
 public:
  void Gemm(Stream& stream, Transpose transpose_a, Transpose transpose_b, float alpha,
            ConstMatrix a, ConstMatrix b, float beta, Matrix c) const override;
  void Fill(Stream& stream, float value, Matrix x) const override;
  void Copy(Stream& stream, ConstMatrix x, Matrix out) const override;
  void AddBias(Stream& stream, std::span<const float> bias, Matrix x) const override;
  void BiasGradient(Stream& stream, ConstMatrix gradient,
                    std::span<float> bias_gradient) const override;
  void Activate(Stream& stream, Activation activation, Matrix x) const override;
  void ActivateGradient(Stream& stream, Activation activation, ConstMatrix output,
                        Matrix gradient) const override;
  void BceWithLogits(Stream& stream, LossReduction reduction, std::span<const float> logits,
                     std::span<const float> labels, double* loss,
                     std::span<float> gradient) const override;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_KERNELS_CPU_KERNELS_H_
