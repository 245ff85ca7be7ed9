// Rows of floats in memory that the caller owns, `stride` floats apart.
#ifndef SYNCLINE_WORKER_CLIENT_ROWS_H_
#define SYNCLINE_WORKER_CLIENT_ROWS_H_

#include <cstddef>

namespace syncline {

// Row i starts at data + i * stride. REQUIRES: stride >= the table's dim; a stride of 0 means "dim"
// (rows follow each other without a gap).
struct RowsOut {
  float* data = nullptr;
  size_t stride = 0;
};

struct RowsIn {
  const float* data = nullptr;
  size_t stride = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_ROWS_H_
