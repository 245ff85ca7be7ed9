#include "worker/data/dataset.h"

#include <utility>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {

Dataset::Dataset(DataSchema schema) : schema_(std::move(schema)), columns_(schema_.fields.size()) {}

void Dataset::Append(const DataRow& row) {
  SYNCLINE_CHECK(size() < kMaxDatasetRows, "a data set numbers its rows with 32 bits");
  SYNCLINE_CHECK(
      row.dense.size() == schema_.dense.size() && row.bags.size() == schema_.fields.size(),
      "a row has its data set's shape");
  labels_.push_back(row.label);
  dense_.insert(dense_.end(), row.dense.begin(), row.dense.end());
  for (size_t field = 0; field < columns_.size(); ++field) {
    Column& column = columns_[field];
    column.ids.insert(column.ids.end(), row.bags[field].begin(), row.bags[field].end());
    column.offsets.push_back(column.ids.size());
  }
}

Batch Dataset::MakeBatch(std::span<const uint32_t> rows) const {
  Batch batch;
  MakeBatch(rows, batch);
  return batch;
}

void Dataset::MakeBatch(std::span<const uint32_t> rows, Batch& batch) const {
  batch.size = rows.size();
  batch.dense_count = schema_.dense.size();
  batch.labels.clear();
  batch.dense.clear();
  for (const uint32_t row : rows) {
    SYNCLINE_CHECK(row < size(), "a batch names rows of its data set");
    batch.labels.push_back(labels_[row]);
    const std::span<const float> values = dense(row);
    batch.dense.insert(batch.dense.end(), values.begin(), values.end());
  }
  batch.fields.resize(columns_.size());
  for (size_t field = 0; field < columns_.size(); ++field) {
    Batch::Field& out = batch.fields[field];
    out.ids.clear();
    out.offsets.assign(1, 0);
    for (const uint32_t row : rows) {
      const std::span<const uint64_t> ids = bag(row, field);
      out.ids.insert(out.ids.end(), ids.begin(), ids.end());
      out.offsets.push_back(static_cast<uint32_t>(out.ids.size()));
    }
  }
}

}  // namespace syncline
