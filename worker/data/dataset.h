// Labelled samples in memory, from which batches are cut.
#ifndef SYNCLINE_WORKER_DATA_DATASET_H_
#define SYNCLINE_WORKER_DATA_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "worker/data/batch.h"

namespace syncline {

// The columns of a data set. Each field has ids of its own: id 7 of one field is not id 7 of
// another (a model keeps a table per field, or salts ids: StableHash(TableId(field), id)).
struct DataSchema {
  std::vector<std::string> dense;   // names of the dense features
  std::vector<std::string> fields;  // names of the categorical fields
  bool operator==(const DataSchema&) const = default;
};

// One sample, for filling a data set.
struct DataRow {
  float label = 0;                          // 0 or 1
  std::vector<float> dense;                 // [schema.dense.size()]
  std::vector<std::vector<uint64_t>> bags;  // [schema.fields.size()]; each may be empty
};

// Rows are numbered 0, 1, ... in the order they were appended, at most kMaxDatasetRows. Memory: 4 B
// per dense feature, 8 B per id and 8 B per bag. Reading is thread-safe while nobody appends.
class Dataset {
 public:
  explicit Dataset(DataSchema schema);

  // REQUIRES: the row has the schema's shape; size() < kMaxDatasetRows.
  void Append(const DataRow& row);

  const DataSchema& schema() const { return schema_; }
  size_t size() const { return labels_.size(); }
  float label(uint32_t row) const { return labels_[row]; }
  std::span<const float> dense(uint32_t row) const {
    return std::span(dense_).subspan(row * schema_.dense.size(), schema_.dense.size());
  }
  std::span<const uint64_t> bag(uint32_t row, size_t field) const {
    const Column& column = columns_[field];
    return std::span(column.ids)
        .subspan(column.offsets[row], column.offsets[row + 1] - column.offsets[row]);
  }

  // The samples of these rows, in this order; a row may occur more than once. Empty rows give a
  // batch of size 0 with the schema's shape. REQUIRES: every index < size(); fewer than 2^32 ids
  // per field.
  Batch MakeBatch(std::span<const uint32_t> rows) const;
  // The same into a batch whose memory is used again.
  void MakeBatch(std::span<const uint32_t> rows, Batch& batch) const;

 private:
  struct Column {
    std::vector<uint64_t> ids;
    std::vector<size_t> offsets = {0};  // [size() + 1]
  };

  DataSchema schema_;
  std::vector<float> labels_;
  std::vector<float> dense_;
  std::vector<Column> columns_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_DATASET_H_
