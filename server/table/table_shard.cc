#include "server/table/table_shard.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "server/optimizer/factory.h"
#include "server/storage/memory_storage.h"

namespace syncline {
namespace {

// Keys looked up at once; their row pointers live on the stack.
constexpr size_t kBlockKeys = 128;

absl::StatusOr<std::unique_ptr<Optimizer>> OptimizerOrNone(const OptimizerSpec& spec) {
  if (spec.name.empty() && spec.arguments.empty()) return std::unique_ptr<Optimizer>();
  return MakeOptimizer(spec);
}

absl::Status NoOptimizer(const TableSpec& spec) {
  return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNoOptimizer,
                   "table {} has no optimizer yet; set one before pushing", spec.name);
}

std::unique_ptr<Storage> MakeMemoryStorage(const RowLayout& layout) {
  return std::make_unique<MemoryStorage>(layout);
}

}  // namespace

absl::Status TableShard::Validate(const TableSpec& spec) {
  const std::string where = "table " + spec.name;
  RETURN_IF_ERROR(Annotate(OptimizerOrNone(spec.optimizer).status(), where));
  return Annotate(Initializer::Validate(spec.initializer), where);
}

absl::StatusOr<std::unique_ptr<TableShard>> TableShard::Create(const TableInfo& info) {
  return Create(info, MakeMemoryStorage);
}

absl::StatusOr<std::unique_ptr<TableShard>> TableShard::Create(const TableInfo& info,
                                                               StorageFactory make_storage) {
  RETURN_IF_ERROR(Validate(info.spec));
  ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer, OptimizerOrNone(info.spec.optimizer));
  return std::unique_ptr<TableShard>(
      new TableShard(info, std::move(make_storage), std::move(optimizer)));
}

TableShard::TableShard(const TableInfo& info, StorageFactory make_storage,
                       std::unique_ptr<Optimizer> optimizer)
    : info_(info),
      make_storage_(std::move(make_storage)),
      initializer_(info.spec.initializer, info.id) {
  UseOptimizer(std::move(optimizer));
}

void TableShard::UseOptimizer(std::unique_ptr<Optimizer> optimizer) {
  optimizer_ = std::move(optimizer);
  if (optimizer_ != nullptr) learning_rate_ = LearningRate(BaseLearningRate(info_.spec.optimizer));
  const uint32_t state = optimizer_ == nullptr ? 0 : optimizer_->StateFloats(dim());
  storage_ = make_storage_(RowLayout(dim(), state));
}

absl::Status TableShard::CheckKeys(std::span<const Key> keys) {
  const TableSpec& spec = info_.spec;
  for (size_t i = 1; i < keys.size(); ++i) {
    if (keys[i - 1] < keys[i]) continue;
    return InvalidArgument(
        "table {}: key {} follows key {}; the keys of a slot part must ascend strictly, so sort "
        "them and sum duplicates",
        spec.name, keys[i], keys[i - 1]);
  }
  if (keys.empty()) return absl::OkStatus();
  if (spec.kind == TableKind::kDense && keys.back() >= spec.DenseRows()) {
    return InvalidArgument("table {}: block {} does not exist; {} elements in blocks of {} make {}",
                           spec.name, keys.back(), spec.elements, spec.dim, spec.DenseRows());
  }
  if (spec.ids.kind == IdPolicy::Kind::kReject && keys.back() >= spec.ids.vocabulary) {
    const auto first = std::lower_bound(keys.begin(), keys.end(), spec.ids.vocabulary);
    counters_.rejected_ids += static_cast<uint64_t>(keys.end() - first);
    return MakeError(absl::StatusCode::kInvalidArgument, Detail::kIdRejected,
                     "table {}: key {} is outside the vocabulary of {} ids; map ids below it, or "
                     "create the table with id policy accept or zero",
                     spec.name, *first, spec.ids.vocabulary);
  }
  return absl::OkStatus();
}

absl::Status TableShard::CheckGradients(std::span<const Key> keys,
                                        std::span<const float> values) const {
  const TableSpec& spec = info_.spec;
  if (values.size() != keys.size() * dim()) {
    return InvalidArgument("table {}: {} keys of dim {} need {} gradient values, got {}", spec.name,
                           keys.size(), dim(), keys.size() * dim(), values.size());
  }
  if (spec.allow_non_finite) return absl::OkStatus();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return MakeError(absl::StatusCode::kInvalidArgument, Detail::kNonFinite,
                     "table {}: the gradient of key {} is {} at element {}; skip the batch, or "
                     "create the table with allow_non_finite",
                     spec.name, keys[i / dim()], values[i], i % dim());
  }
  return absl::OkStatus();
}

absl::Status TableShard::CanApply(size_t keys) const {
  if (optimizer_ == nullptr) return NoOptimizer(info_.spec);
  if (rows() + keys > kMaxRowsPerShard) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "table {} holds {} rows in this slot, at most {} fit; use more slots",
                     info_.spec.name, rows(), kMaxRowsPerShard);
  }
  return absl::OkStatus();
}

void TableShard::Apply(std::span<const Key> keys, std::span<const float> gradient_sums,
                       const ApplyStep& step) {
  SYNCLINE_CHECK(optimizer_ != nullptr, "CanApply comes before Apply");
  SYNCLINE_CHECK(gradient_sums.size() == keys.size() * dim(), "CheckGradients comes before Apply");
  if (!(step.divisor > 0)) return;
  const size_t legal = LegalPrefix(keys);
  counters_.zeroed_ids_pushed += keys.size() - legal;
  counters_.rows_pushed += legal;
  gradient_.resize(dim());
  const float lr = learning_rate_.At(step.clock);
  for (size_t begin = 0; begin < legal; begin += kBlockKeys) {
    const size_t n = std::min(kBlockKeys, legal - begin);
    ApplyBlock(keys.subspan(begin, n), gradient_sums.data() + begin * dim(),
               static_cast<float>(step.divisor), lr);
  }
}

void TableShard::ApplyBlock(std::span<const Key> keys, const float* gradient_sums, float divisor,
                            float lr) {
  std::array<float*, kBlockKeys> rows;
  std::array<uint8_t, kBlockKeys> created;
  storage_->FindOrCreate(keys, {rows.data(), keys.size()}, {created.data(), keys.size()});
  const RowLayout& layout = storage_->layout();
  for (size_t i = 0; i < keys.size(); ++i) {
    const RowSpan row{layout.Weights(rows[i]), layout.State(rows[i])};
    if (created[i] != 0) {
      InitialWeights(keys[i], row.weights);
      optimizer_->InitState(row.state);
      ++counters_.rows_created;
    }
    const float* sums = gradient_sums + i * dim();
    const size_t used = UsedElements(keys[i]);
    for (size_t j = 0; j < used; ++j) gradient_[j] = sums[j] / divisor;
    std::fill(gradient_.begin() + static_cast<std::ptrdiff_t>(used), gradient_.end(), 0.0f);
    optimizer_->Apply(row, gradient_, {.lr = lr});
  }
}

void TableShard::Read(std::span<const Key> keys, ReadMode mode, float* out, size_t out_stride) {
  SYNCLINE_CHECK(out_stride >= dim(), "rows must not overlap");
  const size_t legal = LegalPrefix(keys);
  counters_.zeroed_ids_pulled += keys.size() - legal;
  (mode == ReadMode::kTraining ? counters_.rows_pulled_training
                               : counters_.rows_pulled_read_only) += keys.size();
  for (size_t begin = 0; begin < legal; begin += kBlockKeys) {
    const size_t n = std::min(kBlockKeys, legal - begin);
    ReadBlock(keys.subspan(begin, n), out + begin * out_stride, out_stride);
  }
  for (size_t i = legal; i < keys.size(); ++i) std::fill_n(out + i * out_stride, dim(), 0.0f);
}

void TableShard::ReadBlock(std::span<const Key> keys, float* out, size_t out_stride) {
  std::array<float*, kBlockKeys> rows;
  storage_->Find(keys, {rows.data(), keys.size()});
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::span<float> weights(out + i * out_stride, dim());
    if (rows[i] == nullptr) {
      InitialWeights(keys[i], weights);
    } else {
      const std::span<const float> stored = storage_->layout().Weights(rows[i]);
      std::copy(stored.begin(), stored.end(), weights.begin());
    }
  }
}

absl::Status TableShard::SetOptimizer(const OptimizerSpec& spec) {
  if (optimizer_ != nullptr) {
    if (spec == info_.spec.optimizer) return absl::OkStatus();
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kSpecDiffers,
                     "table {} already has optimizer {}; it is set once, so create another table",
                     info_.spec.name, info_.spec.optimizer.name);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer, MakeOptimizer(spec));
  if (rows() != 0) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "table {} has {} rows in this slot; its optimizer is set before the first row",
                     info_.spec.name, rows());
  }
  info_.spec.optimizer = spec;
  UseOptimizer(std::move(optimizer));
  return absl::OkStatus();
}

absl::Status TableShard::ChangeLearningRate(Clock from_clock, double lr) {
  if (optimizer_ == nullptr) return NoOptimizer(info_.spec);
  return Annotate(learning_rate_.Change(from_clock, lr), "table " + info_.spec.name);
}

void TableShard::Fold(StateHash& hash) const {
  storage_->ForEachSorted(
      [&](Key key, std::span<const float> row) { hash.AddRow(info_.id, key, row); });
}

size_t TableShard::LegalPrefix(std::span<const Key> keys) const {
  const IdPolicy& ids = info_.spec.ids;
  if (ids.kind != IdPolicy::Kind::kZero) return keys.size();
  return static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), ids.vocabulary) -
                             keys.begin());
}

size_t TableShard::UsedElements(Key key) const {
  const TableSpec& spec = info_.spec;
  if (spec.kind != TableKind::kDense) return spec.dim;
  return static_cast<size_t>(std::min<uint64_t>(spec.dim, spec.elements - key * spec.dim));
}

void TableShard::InitialWeights(Key key, std::span<float> weights) const {
  const size_t used = UsedElements(key);
  initializer_.Fill(key, weights.first(used));
  std::fill(weights.begin() + static_cast<std::ptrdiff_t>(used), weights.end(), 0.0f);
}

}  // namespace syncline
