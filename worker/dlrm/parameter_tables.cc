#include "worker/dlrm/parameter_tables.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

// Waits for a number of asynchronous calls; keeps the first error.
class Join {
 public:
  explicit Join(size_t calls) : left_(calls) {}

  Done Callback() {
    return [this](const absl::Status& status) {
      // Notify under the lock: the waiter destroys this object as soon as it may leave.
      const std::lock_guard lock(mutex_);
      if (status_.ok()) status_ = status;
      --left_;
      all_done_.notify_all();
    };
  }

  absl::Status Wait() {
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return left_ == 0; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_done_;
  size_t left_;
  absl::Status status_;
};

TableSpec CommonSpec(const ParameterTableOptions& options) {
  TableSpec spec;
  spec.consistency = options.consistency;
  spec.reduce = options.reduce;
  return spec;
}

}  // namespace

std::vector<TableSpec> TableSpecsOf(const DlrmConfig& config,
                                    const ParameterTableOptions& options) {
  std::vector<TableSpec> specs;
  for (const DenseTensor& tensor : DenseTensorsOf(config)) {
    TableSpec spec = CommonSpec(options);
    spec.name = tensor.name;
    spec.kind = TableKind::kDense;
    spec.elements = tensor.size();
    spec.dim = static_cast<uint32_t>(std::min<uint64_t>(tensor.size(), kDefaultDenseBlock));
    spec.initializer = tensor.initializer;
    spec.optimizer = options.dense_optimizer;
    specs.push_back(std::move(spec));
  }
  for (const EmbeddingTable& table : EmbeddingTablesOf(config)) {
    TableSpec spec = CommonSpec(options);
    spec.name = table.name;
    spec.dim = table.dim;
    spec.initializer = table.initializer;
    spec.optimizer = options.embedding_optimizer;
    specs.push_back(std::move(spec));
  }
  return specs;
}

absl::StatusOr<ParameterTables> ParameterTables::Create(PsClient& client, const DlrmConfig& config,
                                                        const ParameterTableOptions& options) {
  ParameterTables tables(client, config);
  for (const TableSpec& spec : TableSpecsOf(config, options)) {
    absl::StatusOr<TableInfo> info = client.CreateTable(spec);
    if (!info.ok()) return Annotate(info.status(), "creating table " + spec.name);
    (spec.kind == TableKind::kDense ? tables.dense_ : tables.embeddings_)
        .push_back(*std::move(info));
  }
  return tables;
}

absl::Status ParameterTables::Pull(const Lookup& lookup, const PullOptions& options,
                                   ModelBuffers& buffers) {
  buffers.Resize(config_, lookup);
  Join join(dense_.size() + embeddings_.size());
  for (size_t i = 0; i < dense_.size(); ++i) {
    client_->PullDenseAsync(dense_[i], 0, buffers.dense[i], options, join.Callback());
  }
  for (size_t i = 0; i < embeddings_.size(); ++i) {
    client_->PullAsync(embeddings_[i], lookup.keys[i], {.data = buffers.rows[i].data()}, options,
                       join.Callback());
  }
  return join.Wait();
}

void ParameterTables::Push(const Lookup& lookup, const ModelBuffers& gradients, uint64_t samples) {
  for (size_t i = 0; i < dense_.size(); ++i) {
    client_->PushDenseAsync(dense_[i], 0, gradients.dense[i], samples, nullptr);
  }
  for (size_t i = 0; i < embeddings_.size(); ++i) {
    client_->PushAsync(embeddings_[i], lookup.keys[i], {.data = gradients.rows[i].data()}, samples,
                       nullptr);
  }
}

}  // namespace syncline
