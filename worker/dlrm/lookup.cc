#include "worker/dlrm/lookup.h"

#include <algorithm>

#include "common/status/status.h"

namespace syncline {
namespace {

absl::Status CheckField(const Batch& batch, size_t f) {
  const Batch::Field& field = batch.fields[f];
  if (field.offsets.size() != batch.size + 1) {
    return InvalidArgument("batch: field {} has {} offsets, {} samples need {}", f,
                           field.offsets.size(), batch.size, batch.size + 1);
  }
  if (field.offsets.front() != 0 || field.offsets.back() != field.ids.size() ||
      !std::is_sorted(field.offsets.begin(), field.offsets.end())) {
    return InvalidArgument("batch: field {}: offsets must rise from 0 to the {} ids", f,
                           field.ids.size());
  }
  return absl::OkStatus();
}

absl::Status CheckBatch(const DlrmConfig& config, const Batch& batch) {
  if (batch.fields.size() != config.fields.size() || batch.dense_count != config.dense_count) {
    return InvalidArgument(
        "batch: {} fields and {} dense features, the model takes {} and {}; use the model of this "
        "data set",
        batch.fields.size(), batch.dense_count, config.fields.size(), config.dense_count);
  }
  if (batch.dense.size() != batch.size * batch.dense_count || batch.labels.size() != batch.size) {
    return InvalidArgument("batch: {} dense values and {} labels do not fit {} samples",
                           batch.dense.size(), batch.labels.size(), batch.size);
  }
  for (size_t f = 0; f < batch.fields.size(); ++f) RETURN_IF_ERROR(CheckField(batch, f));
  return absl::OkStatus();
}

std::vector<uint32_t> IndicesOf(const std::vector<uint64_t>& ids,
                                const std::vector<uint64_t>& sorted_keys) {
  std::vector<uint32_t> indices;
  indices.reserve(ids.size());
  for (uint64_t id : ids) {
    const auto found = std::lower_bound(sorted_keys.begin(), sorted_keys.end(), id);
    indices.push_back(static_cast<uint32_t>(found - sorted_keys.begin()));
  }
  return indices;
}

}  // namespace

absl::StatusOr<Lookup> MakeLookup(const DlrmConfig& config, const Batch& batch) {
  RETURN_IF_ERROR(CheckBatch(config, batch));
  const auto table_of_field = TableOfField(config);
  Lookup lookup;
  lookup.keys.resize(EmbeddingTablesOf(config).size());
  for (size_t f = 0; f < batch.fields.size(); ++f) {
    auto& keys = lookup.keys[table_of_field[f]];
    keys.insert(keys.end(), batch.fields[f].ids.begin(), batch.fields[f].ids.end());
  }
  for (auto& keys : lookup.keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  }
  for (size_t f = 0; f < batch.fields.size(); ++f) {
    lookup.indices.push_back(IndicesOf(batch.fields[f].ids, lookup.keys[table_of_field[f]]));
  }
  return lookup;
}

}  // namespace syncline
