// A row-major matrix in memory that someone else owns.
#ifndef SYNCLINE_WORKER_KERNELS_MATRIX_VIEW_H_
#define SYNCLINE_WORKER_KERNELS_MATRIX_VIEW_H_

#include <cstddef>
#include <span>
#include <type_traits>

#include "common/status/status.h"

namespace syncline {

// Element (r, c) is data[r * stride + c], stride >= cols; so some columns of a wider matrix are a
// matrix too, and several operations can fill one concatenation. Copying copies the reference.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  MatrixView() = default;
  // All of a dense block. REQUIRES: the span has exactly rows * cols elements.
  MatrixView(std::span<T> block, size_t row_count, size_t col_count)
      : data(block.data()), rows(row_count), cols(col_count), stride(col_count) {
    SYNCLINE_CHECK(block.size() == row_count * col_count, "matrix view does not cover its block");
  }
  MatrixView(T* start, size_t row_count, size_t col_count, size_t row_stride)
      : data(start), rows(row_count), cols(col_count), stride(row_stride) {}

  // A view to write is also a view to read.
  operator MatrixView<const T>() const  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<T>) {
    return {data, rows, cols, stride};
  }

  T* row(size_t r) const { return data + r * stride; }

  // Columns [first, first + count) as a matrix of the same rows.
  MatrixView Columns(size_t first, size_t count) const {
    SYNCLINE_CHECK(first + count <= cols, "columns beyond the matrix");
    return {data + first, rows, count, stride};
  }
};

using Matrix = MatrixView<float>;
using ConstMatrix = MatrixView<const float>;

}  // namespace syncline

#endif  // SYNCLINE_WORKER_KERNELS_MATRIX_VIEW_H_
