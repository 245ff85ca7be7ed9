// The part of one table that lives in one slot: its rows, and every way they are read and changed.
#ifndef SYNCLINE_SERVER_TABLE_TABLE_SHARD_H_
#define SYNCLINE_SERVER_TABLE_TABLE_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "common/types.h"
#include "server/optimizer/optimizer.h"
#include "server/storage/storage.h"
#include "server/table/initializer.h"
#include "server/table/learning_rate.h"
#include "server/table/state_hash.h"

namespace syncline {

// Counts since the shard was made; they only grow.
struct TableShardCounters {
  uint64_t rows_created = 0;
  uint64_t rows_pulled_training = 0;  // keys of Read by mode, zeroed ones included
  uint64_t rows_pulled_read_only = 0;
  uint64_t rows_pushed = 0;        // optimizer steps
  uint64_t zeroed_ids_pulled = 0;  // id policy `zero`: keys at or above the vocabulary
  uint64_t zeroed_ids_pushed = 0;
  uint64_t rejected_ids = 0;  // id policy `reject`: such keys in refused requests
};

// Both modes return the same values and make no rows; they are counted apart.
enum class ReadMode { kTraining, kReadOnly };

struct ApplyStep {
  Clock clock{0};      // of the push: picks the learning rate
  double divisor = 1;  // samples for `mean`, 1 for `sum` (R1); rounded to float once
};

// Rows exist from their first push on. A row that does not exist reads as its initializer says, so
// nobody can tell the difference.
//
// How a push is used: CanApply, CheckKeys and CheckGradients (nothing is changed by a refused push,
// except counters), then Apply, which cannot fail. For a round table the caller sums the
// contributions in rank order and calls Apply once per round.
//
// Ids: a dense table has the keys below TableSpec::DenseRows(); an embedding table obeys its
// IdPolicy. The padding of the last dense block is zeros and stays zeros: gradients there are
// dropped.
//
// Pure: no I/O, no time, no threads; results depend on the calls alone, and on no order inside a
// call. Not thread-safe: the slot's executor is the only caller.
class TableShard {
 public:
  using StorageFactory = std::function<std::unique_ptr<Storage>(const RowLayout&)>;

  // Everything a server needs of a spec beyond ValidateTableSpec: a known optimizer (or none) with
  // good arguments, an initializer whose values are floats. For the coordinator, before a table is
  // made. Errors: INVALID_ARGUMENT.
  static absl::Status Validate(const TableSpec& spec);

  // Errors: as Validate. REQUIRES: ValidateTableSpec(info.spec) is OK.
  static absl::StatusOr<std::unique_ptr<TableShard>> Create(const TableInfo& info);
  static absl::StatusOr<std::unique_ptr<TableShard>> Create(const TableInfo& info,
                                                            StorageFactory make_storage);

  const TableInfo& info() const { return info_; }
  uint32_t dim() const { return info_.spec.dim; }

  // Refuses a request by its keys. Errors:
  //   INVALID_ARGUMENT                keys not strictly ascending (S5), or at or above DenseRows()
  //   INVALID_ARGUMENT (ID_REJECTED)  id policy `reject`; counted
  absl::Status CheckKeys(std::span<const Key> keys);

  // Refuses gradients. `values` holds dim() floats for each key, in order. Errors:
  //   INVALID_ARGUMENT               wrong number of values
  //   INVALID_ARGUMENT (NON_FINITE)  NaN or infinity, the first such key named; never when the spec
  //                                  allows them
  absl::Status CheckGradients(std::span<const Key> keys, std::span<const float> values) const;

  // Whether a push of `keys` keys may be applied at all. Errors:
  //   FAILED_PRECONDITION (NO_OPTIMIZER)  see SetOptimizer
  //   RESOURCE_EXHAUSTED (OVERLOADED)     the shard would exceed kMaxRowsPerShard
  absl::Status CanApply(size_t keys = 0) const;

  // One optimizer step per key with gradient_sums / divisor: clipped (L2, per row), then decayed,
  // then stepped with the learning rate of step.clock. Missing rows are made. Keys that the policy
  // `zero` covers are dropped and counted. A divisor that is not above 0 (a round without samples)
  // steps nothing (R1).
  // REQUIRES: CanApply(keys.size()), CheckKeys(keys) and CheckGradients are OK.
  void Apply(std::span<const Key> keys, std::span<const float> gradient_sums,
             const ApplyStep& step);

  // Writes the weights of keys[i] to out[i * out_stride .. + dim()). Makes no rows: a key that was
  // never pushed gives its initial row. Keys that the policy `zero` covers give zeros, counted.
  // REQUIRES: CheckKeys(keys) is OK; out_stride >= dim(), in floats.
  void Read(std::span<const Key> keys, ReadMode mode, float* out, size_t out_stride);

  // Gives the table its optimizer. The row layout depends on it, so it is set once: at creation or
  // here, before the first row exists. Asking again for the same spec is OK.
  // Errors, nothing changed: INVALID_ARGUMENT as MakeOptimizer; FAILED_PRECONDITION (SPEC_DIFFERS)
  // when the table has another optimizer, FAILED_PRECONDITION when it has rows.
  absl::Status SetOptimizer(const OptimizerSpec& spec);

  // A rate for pushes issued at `from_clock` or later. Errors: as LearningRate::Change, and
  // FAILED_PRECONDITION (NO_OPTIMIZER).
  absl::Status ChangeLearningRate(Clock from_clock, double lr);

  size_t rows() const { return storage_->size(); }
  size_t memory_bytes() const { return storage_->memory_bytes(); }
  const TableShardCounters& counters() const { return counters_; }
  // The rows as they are kept, for views. Whoever changes them breaks the counters.
  Storage& storage() { return *storage_; }

  // Adds every row (weights and optimizer state), ascending by key.
  void Fold(StateHash& hash) const;

 private:
  TableShard(const TableInfo& info, StorageFactory make_storage,
             std::unique_ptr<Optimizer> optimizer);

  void UseOptimizer(std::unique_ptr<Optimizer> optimizer);
  // How many leading keys have rows (the rest are zeroed by policy). REQUIRES: keys ascend.
  size_t LegalPrefix(std::span<const Key> keys) const;
  // Elements of row `key` that are not padding.
  size_t UsedElements(Key key) const;
  void InitialWeights(Key key, std::span<float> weights) const;
  void ApplyBlock(std::span<const Key> keys, const float* gradient_sums, float divisor, float lr);
  void ReadBlock(std::span<const Key> keys, float* out, size_t out_stride);

  TableInfo info_;
  StorageFactory make_storage_;
  Initializer initializer_;
  std::unique_ptr<Optimizer> optimizer_;  // null: none yet
  LearningRate learning_rate_{1};         // of no meaning without an optimizer
  std::unique_ptr<Storage> storage_;
  std::vector<float> gradient_;  // scratch, dim() floats
  TableShardCounters counters_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_TABLE_TABLE_SHARD_H_
