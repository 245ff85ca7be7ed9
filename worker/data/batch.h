// A batch of samples as the model takes it: dense features row-major, one bag of ids per sample and
// categorical field (CSR), labels. Plain data; owned by whoever holds it; no thread-safety of its
// own.
#ifndef SYNCLINE_WORKER_DATA_BATCH_H_
#define SYNCLINE_WORKER_DATA_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncline {

struct Batch {
  // The bags of one categorical field. Sample i has ids[offsets[i]] .. ids[offsets[i + 1] - 1]; an
  // empty bag is legal and pools to zeros; an id may occur more than once.
  struct Field {
    std::vector<uint64_t> ids;      // every 64-bit value is legal
    std::vector<uint32_t> offsets;  // [size + 1]; first 0, last ids.size(), never decreasing
  };

  size_t size = 0;            // samples
  size_t dense_count = 0;     // dense features per sample; 0 when the data has none
  std::vector<float> dense;   // [size][dense_count], row-major
  std::vector<Field> fields;  // one per categorical field, in the order of the data's schema
  std::vector<float> labels;  // [size], 0 or 1
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_BATCH_H_
