// The model's parameters as tables of a cluster: a dense table per tensor, an embedding table per
// name.
#ifndef SYNCLINE_WORKER_DLRM_PARAMETER_TABLES_H_
#define SYNCLINE_WORKER_DLRM_PARAMETER_TABLES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "worker/client/ps_client.h"
#include "worker/dlrm/lookup.h"
#include "worker/dlrm/model.h"

namespace syncline {

// What all tables of one model share.
struct ParameterTableOptions {
  ConsistencyPolicy consistency;
  Reduce reduce = Reduce::kMean;
  OptimizerSpec dense_optimizer;
  OptimizerSpec embedding_optimizer;
};

// The specs that a model's tables get; dense tensors first, both in the model's order.
std::vector<TableSpec> TableSpecsOf(const DlrmConfig& config, const ParameterTableOptions& options);

// Moves the parameters of a batch between a model's buffers and its tables. Not thread-safe; the
// client outlives it.
class ParameterTables {
 public:
  // Creates what is absent. Errors: those of PsClient::CreateTable, with the table's name.
  static absl::StatusOr<ParameterTables> Create(PsClient& client, const DlrmConfig& config,
                                                const ParameterTableOptions& options);

  // Fills `buffers` (resized for the lookup) with the dense tensors and the lookup's rows. Blocks
  // until all are there; parked reads wait for the staleness bound. Errors: the first of
  // PsClient::Pull.
  absl::Status Pull(const Lookup& lookup, const PullOptions& options, ModelBuffers& buffers);

  // Pushes gradients, summed over `samples`. Returns once everything is accepted for sending; the
  // client's next Flush reports what a server refused. `gradients` may be reused at once.
  void Push(const Lookup& lookup, const ModelBuffers& gradients, uint64_t samples);

  const std::vector<TableInfo>& dense() const { return dense_; }
  const std::vector<TableInfo>& embeddings() const { return embeddings_; }

 private:
  ParameterTables(PsClient& client, DlrmConfig config)
      : client_(&client), config_(std::move(config)) {}

  PsClient* client_;
  DlrmConfig config_;
  std::vector<TableInfo> dense_;
  std::vector<TableInfo> embeddings_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_PARAMETER_TABLES_H_
