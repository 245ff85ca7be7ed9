// Training in one process, without servers: what distributed training is measured against.
#ifndef SYNCLINE_WORKER_DLRM_SINGLE_H_
#define SYNCLINE_WORKER_DLRM_SINGLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "worker/data/batch.h"
#include "worker/dlrm/model.h"
#include "worker/kernels/cpu_kernels.h"

namespace syncline {

// The optimizer of all parameters. With g the mean gradient of a batch:
//   sgd      w -= rate * g
//   adagrad  a += g^2;  w -= rate * g / (sqrt(a) + epsilon)    (a starts at initial_accumulator;
//            Duchi, Hazan, Singer 2011)
// Rows that a batch does not name are not touched. The defaults train a small model well
// (README.md): mean gradients of single rows are small, and a large first accumulator would hold
// them back.
struct SingleOptimizer {
  enum class Kind { kSgd = 1, kAdagrad = 2 };
  Kind kind = Kind::kAdagrad;
  float learning_rate = 0.05F;
  float initial_accumulator = 1e-4F;
  float epsilon = 1e-8F;
};

// Value of an element before training. `table` is the name of an embedding table, `key` its row and
// `element` counts within the row; or of a dense tensor, key 0 and `element` counts row-major.
using InitialValue = std::function<float(std::string_view table, uint64_t key, uint64_t element)>;

// The value that `spec` gives at a place: a pure function of (seed, name, key, element). Drawn from
// the same distribution as the server's initial rows, but not the same numbers.
float DrawInitialValue(const InitializerSpec& spec, std::string_view name, uint64_t key,
                       uint64_t element);

// A DLRM with its parameters in plain memory, on CPU kernels and one thread. Embedding rows are
// made when a training batch first names them; Predict makes none. Independent of the server's
// code, so that the two check each other. The same calls give the same bits. Not thread-safe.
class SingleTrainer {
 public:
  // `initial` empty: each tensor's and table's own initializer (DrawInitialValue).
  // Errors: INVALID_ARGUMENT, from ValidateDlrmConfig, or for an optimizer's number that is not
  // finite or is negative.
  static absl::StatusOr<std::unique_ptr<SingleTrainer>> Create(DlrmConfig config,
                                                               SingleOptimizer optimizer,
                                                               InitialValue initial = nullptr);

  const DlrmConfig& config() const { return model_->config(); }

  // One step on the mean gradient of the batch; returns the mean loss before it (0 for an empty
  // batch, which changes nothing). Errors: those of MakeLookup, and then nothing has changed.
  absl::StatusOr<double> Step(const Batch& batch);

  // A logit per sample. Errors: those of MakeLookup.
  absl::StatusOr<std::vector<float>> Predict(const Batch& batch);

  // Present weights: of a dense tensor (order of DenseTensorsOf); of a row, initial ones when it
  // was never trained (order of EmbeddingTablesOf).
  const std::vector<float>& dense(size_t tensor) const { return dense_[tensor].weights; }
  std::vector<float> Row(size_t table, uint64_t key) const;
  size_t row_count(size_t table) const { return rows_[table].size(); }

 private:
  struct Parameter {
    std::vector<float> weights;
    std::vector<float> accumulator;  // empty for sgd
  };
  using Rows = std::unordered_map<uint64_t, Parameter>;

  SingleTrainer(SingleOptimizer optimizer, InitialValue initial);
  Parameter MakeParameter(std::vector<float> weights) const;
  std::vector<float> InitialRow(size_t table, uint64_t key) const;
  void MakeDense();
  void Gather(const Lookup& lookup);
  void Apply(const Lookup& lookup, float samples);
  void ApplyTo(Parameter& parameter, std::span<const float> gradient_sum, float samples) const;
  ModelParameters Parameters() const;

  const SingleOptimizer optimizer_;
  InitialValue initial_;
  CpuStream stream_;
  CpuEmbeddingOps embedding_ops_;
  CpuDenseOps dense_ops_;
  std::unique_ptr<Dlrm> model_;
  std::vector<Parameter> dense_;              // per tensor
  std::vector<Rows> rows_;                    // per table; never iterated
  std::vector<std::vector<float>> gathered_;  // per table, rows of the present batch
  ModelBuffers gradients_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_SINGLE_H_
