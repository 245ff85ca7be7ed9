// The DLRM (Naumov and others, "Deep Learning Recommendation Model for Personalization and
// Recommendation Systems", 2019), as functions of a batch and of parameters that the caller holds.
#ifndef SYNCLINE_WORKER_DLRM_MODEL_H_
#define SYNCLINE_WORKER_DLRM_MODEL_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "worker/data/batch.h"
#include "worker/dlrm/config.h"
#include "worker/dlrm/lookup.h"
#include "worker/dlrm/mlp.h"
#include "worker/kernels/arena.h"
#include "worker/kernels/dense_ops.h"
#include "worker/kernels/embedding_ops.h"
#include "worker/kernels/stream.h"

namespace syncline {

// Parameters of one call, not owned.
struct ModelParameters {
  std::vector<std::span<const float>> dense;  // per dense tensor, all its elements
  std::vector<std::span<const float>> rows;   // per table, [keys of the lookup][dim]
};

// Where gradients go, not owned: the same shapes. They are overwritten.
struct ModelGradients {
  std::vector<std::span<float>> dense;
  std::vector<std::span<float>> rows;
};

// Parameters or gradients with their memory: what a caller without buffers of its own uses.
struct ModelBuffers {
  std::vector<std::vector<float>> dense;
  std::vector<std::vector<float>> rows;

  // Shapes for a lookup, all zeros. Keeps capacity when called again.
  void Resize(const DlrmConfig& config, const Lookup& lookup);
  ModelParameters parameters() const;
  ModelGradients gradients();
};

// One model, without parameters. With F categorical fields and embeddings of dim D, per sample:
//
//   e_f  = pool of the field's bag (zeros when it is empty), f = 0 .. F-1
//   with dense features                        without
//     b    = bottom MLP(dense)  (D values)       -
//     v    = b, e_0, ..., e_F-1                  v    = e_0, ..., e_F-1
//     top input = b, dots(v)                     top input = e_0, ..., e_F-1, dots(v)
//   dots(v) = <v_i, v_j> for all i < j, (0,1), (0,2), ..., (1,2), ...
//   logit = top MLP(top input)
//
// Every layer is followed by the activation, the bottom MLP's last one included, except the last
// layer of the top MLP, which is linear. Without dense features the embeddings go to the top MLP
// themselves: dots alone lose what one field says by itself (MovieLens test AUC over 3 seeds: 0.777
// to 0.782 with dots only, 0.785 to 0.791 with both). The loss is the binary cross-entropy of
// sigmoid(logit) with the label.
//
// Gradients and losses are sums over the samples of the batch, never divided: servers divide
// (PROTOCOL.md R1).
//
// Calls return when their work is done (they end with Synchronize). Memory: one arena, grown to the
// largest batch seen. Not thread-safe.
class Dlrm {
 public:
  // REQUIRES: stream and operations outlive the model and take host memory.
  // Errors: INVALID_ARGUMENT, from ValidateDlrmConfig.
  static absl::StatusOr<std::unique_ptr<Dlrm>> Create(DlrmConfig config, Stream& stream,
                                                      const EmbeddingOps& embedding_ops,
                                                      const DenseOps& dense_ops);

  const DlrmConfig& config() const { return config_; }
  const std::vector<DenseTensor>& dense_tensors() const { return dense_tensors_; }
  const std::vector<EmbeddingTable>& tables() const { return tables_; }

  // What the batch needs of each table. Errors: those of MakeLookup.
  absl::StatusOr<Lookup> LookUp(const Batch& batch) const { return MakeLookup(config_, batch); }

  // Writes a logit per sample. REQUIRES: `lookup` is the batch's own.
  // Errors: INVALID_ARGUMENT when a span has not the size that its tensor, the lookup or the batch
  // asks for.
  absl::Status Predict(const Batch& batch, const Lookup& lookup, const ModelParameters& parameters,
                       std::span<float> logits);

  // Writes logits and gradients; returns the loss, summed over samples.
  // Errors: as Predict.
  absl::StatusOr<double> Train(const Batch& batch, const Lookup& lookup,
                               const ModelParameters& parameters, const ModelGradients& gradients,
                               std::span<float> logits);

 private:
  // Scratch of one call: views into the arena.
  struct Activations {
    Matrix top_input;
    Matrix vectors;  // with dense features a block of its own, else columns of top_input
    std::vector<Matrix> bottom;  // outputs by layer; the last is the first vector
    std::vector<Matrix> top;     // outputs by layer
  };

  Dlrm(DlrmConfig config, Stream& stream, const EmbeddingOps& embedding_ops,
       const DenseOps& dense_ops);

  bool has_bottom() const { return config_.dense_count > 0; }
  size_t ScratchBytes(size_t batch_size) const;
  void PrepareArena(size_t batch_size);
  Matrix Scratch(size_t rows, size_t cols);
  Activations MakeActivations(size_t batch_size);
  Matrix FieldColumns(const Activations& a, size_t field) const;

  absl::Status CheckSizes(const Batch& batch, const Lookup& lookup,
                          const ModelParameters& parameters, std::span<float> logits) const;
  absl::Status CheckGradients(const Lookup& lookup, const ModelGradients& gradients) const;
  std::span<const std::span<const float>> BottomOf(const ModelParameters& parameters) const;
  std::span<const std::span<const float>> TopOf(const ModelParameters& parameters) const;

  void EnqueueForward(const Batch& batch, const Lookup& lookup, const ModelParameters& parameters,
                      const Activations& a, std::span<float> logits);
  void EnqueueBackward(const Batch& batch, const Lookup& lookup, const ModelParameters& parameters,
                       const ModelGradients& gradients, const Activations& a,
                       const Activations& da);

  const DlrmConfig config_;
  const std::vector<DenseTensor> dense_tensors_;
  const std::vector<EmbeddingTable> tables_;
  const std::vector<size_t> table_of_field_;
  const Mlp bottom_;
  const Mlp top_;
  Stream& stream_;
  const EmbeddingOps& embedding_ops_;
  const DenseOps& dense_ops_;
  Arena arena_{0};
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_MODEL_H_
