// What a DLRM is made of, and which tables hold its parameters.
#ifndef SYNCLINE_WORKER_DLRM_CONFIG_H_
#define SYNCLINE_WORKER_DLRM_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "common/table_spec.h"
#include "worker/kernels/dense_ops.h"
#include "worker/kernels/embedding_ops.h"

namespace syncline {

// One categorical field: which table its ids name, how a bag becomes one vector. Fields may share a
// table; they must then agree on its initializer.
struct FieldConfig {
  std::string table;
  Pooling pooling = Pooling::kSum;
  InitializerSpec initializer{InitializerSpec::Kind::kNormal, 0.0, 0.05, 0};
};

// Sizes of the model of model.h. The defaults are those of a small model (MovieLens, Criteo-8k).
struct DlrmConfig {
  size_t dense_count = 0;  // dense features per sample; 0: there is no bottom MLP
  uint32_t dim = 16;       // of every embedding, and of the bottom MLP's output
  // Widths between input and output: of the bottom MLP between dense_count and dim, of the top MLP
  // between the interaction and the one logit. May be empty: one layer then.
  std::vector<size_t> bottom_hidden = {64};
  std::vector<size_t> top_hidden = {64, 32};
  Activation activation = Activation::kRelu;
  std::vector<FieldConfig> fields;
  // Seed of the dense tensors' initializers; those of embeddings carry their own.
  uint64_t seed = 0;
};

// A dense parameter, row-major [rows][cols]: a dense table of rows * cols elements.
struct DenseTensor {
  std::string name;             // "bottom.0.weight", "bottom.0.bias", ..., "top.2.bias"
  size_t rows = 0;              // weights: outputs; biases: 1
  size_t cols = 0;              // weights: inputs; biases: outputs
  InitializerSpec initializer;  // uniform in +-1/sqrt(inputs of the layer)

  size_t size() const { return rows * cols; }
};

// An embedding table: a row of `dim` per id.
struct EmbeddingTable {
  std::string name;
  uint32_t dim = 0;
  InitializerSpec initializer;
};

// Checks sizes and names. All problems are in one message.
// Errors: INVALID_ARGUMENT.
absl::Status ValidateDlrmConfig(const DlrmConfig& config);

// Shapes that follow from a valid config.
size_t VectorCount(const DlrmConfig& config);    // bottom output, when there is one, and fields
size_t TopInputWidth(const DlrmConfig& config);  // model.h says what it holds
std::vector<size_t> BottomWidths(const DlrmConfig& config);  // input to output; empty without dense
std::vector<size_t> TopWidths(const DlrmConfig& config);

// Dense parameters in the order in which Dlrm takes them: per layer weight, then bias; bottom
// first.
std::vector<DenseTensor> DenseTensorsOf(const DlrmConfig& config);
// Distinct tables in the order of their first field.
std::vector<EmbeddingTable> EmbeddingTablesOf(const DlrmConfig& config);
// For each field, its place in EmbeddingTablesOf.
std::vector<size_t> TableOfField(const DlrmConfig& config);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_CONFIG_H_
