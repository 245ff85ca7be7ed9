#include <algorithm>
#include <cmath>

#include "common/status/status.h"
#include "worker/kernels/cpu_kernels.h"

namespace syncline {
namespace {

void CheckBags(const Bags& bags, size_t pooled_rows) {
  SYNCLINE_CHECK(!bags.offsets.empty() && bags.count() == pooled_rows,
                 "bags: one offset more than pooled vectors is needed");
}

// Of a bag of n rows. The factor, not the divisor: forward and gradient then round alike.
float PoolingFactor(Pooling pooling, size_t n) {
  if (n <= 1) return 1.0F;
  switch (pooling) {
    case Pooling::kSum:
      return 1.0F;
    case Pooling::kMean:
      return 1.0F / static_cast<float>(n);
    case Pooling::kSqrtN:
      return 1.0F / std::sqrt(static_cast<float>(n));
  }
  Panic(__FILE__, __LINE__, "no such pooling");
}

void AddRow(const float* from, size_t dim, float* to) {
  for (size_t d = 0; d < dim; ++d) to[d] += from[d];
}

void AddScaledRow(float factor, const float* from, size_t dim, float* to) {
  for (size_t d = 0; d < dim; ++d) to[d] += factor * from[d];
}

float Dot(const float* a, const float* b, size_t dim) {
  float sum = 0;
  for (size_t d = 0; d < dim; ++d) sum += a[d] * b[d];
  return sum;
}

void PoolBag(Pooling pooling, std::span<const uint32_t> bag, ConstMatrix rows, float* out) {
  std::fill_n(out, rows.cols, 0.0F);
  for (uint32_t index : bag) AddRow(rows.row(index), rows.cols, out);
  const float factor = PoolingFactor(pooling, bag.size());
  if (factor == 1.0F) return;
  for (size_t d = 0; d < rows.cols; ++d) out[d] *= factor;
}

std::span<const uint32_t> BagAt(const Bags& bags, size_t b) {
  return bags.indices.subspan(bags.offsets[b], bags.offsets[b + 1] - bags.offsets[b]);
}

// Calls visit(pair, i, j) in the order of the columns of the interaction.
template <typename Visit>
void ForEachPair(size_t vectors, Visit visit) {
  size_t pair = 0;
  for (size_t i = 0; i < vectors; ++i) {
    for (size_t j = i + 1; j < vectors; ++j) visit(pair++, i, j);
  }
}

// Vectors side by side in a row.
size_t VectorCount(size_t dim, ConstMatrix vectors, ConstMatrix dots) {
  SYNCLINE_CHECK(dim > 0 && vectors.cols >= dim && vectors.cols % dim == 0,
                 "interaction: a row is not a whole number of vectors");
  const size_t count = vectors.cols / dim;
  SYNCLINE_CHECK(dots.cols == PairCount(count) && dots.rows == vectors.rows,
                 "interaction: the products have the wrong shape");
  return count;
}

}  // namespace

void CpuEmbeddingOps::Pool(Stream& stream, Pooling pooling, const Bags& bags, ConstMatrix rows,
                           Matrix pooled) const {
  CheckBags(bags, pooled.rows);
  SYNCLINE_CHECK(rows.cols == pooled.cols, "pool: rows and result differ in dim");
  stream.Enqueue([=] {
    for (size_t b = 0; b < pooled.rows; ++b) {
      PoolBag(pooling, BagAt(bags, b), rows, pooled.row(b));
    }
  });
}

void CpuEmbeddingOps::PoolGradient(Stream& stream, Pooling pooling, const Bags& bags,
                                   ConstMatrix pooled_gradient, Matrix row_gradients) const {
  CheckBags(bags, pooled_gradient.rows);
  SYNCLINE_CHECK(row_gradients.cols == pooled_gradient.cols, "pool gradient: dims differ");
  stream.Enqueue([=] {
    for (size_t b = 0; b < pooled_gradient.rows; ++b) {
      const auto bag = BagAt(bags, b);
      const float factor = PoolingFactor(pooling, bag.size());
      for (uint32_t index : bag) {
        AddScaledRow(factor, pooled_gradient.row(b), pooled_gradient.cols,
                     row_gradients.row(index));
      }
    }
  });
}

void CpuEmbeddingOps::Interact(Stream& stream, size_t dim, ConstMatrix vectors, Matrix dots) const {
  const size_t count = VectorCount(dim, vectors, dots);
  stream.Enqueue([=] {
    for (size_t b = 0; b < vectors.rows; ++b) {
      const float* row = vectors.row(b);
      float* out = dots.row(b);
      ForEachPair(count, [&](size_t pair, size_t i, size_t j) {
        out[pair] = Dot(row + i * dim, row + j * dim, dim);
      });
    }
  });
}

void CpuEmbeddingOps::InteractGradient(Stream& stream, size_t dim, ConstMatrix vectors,
                                       ConstMatrix dot_gradients, Matrix vector_gradients) const {
  const size_t count = VectorCount(dim, vectors, dot_gradients);
  SYNCLINE_CHECK(vector_gradients.rows == vectors.rows && vector_gradients.cols == vectors.cols,
                 "interaction gradient: vectors and gradient differ in shape");
  stream.Enqueue([=] {
    for (size_t b = 0; b < vectors.rows; ++b) {
      const float* row = vectors.row(b);
      const float* gradient = dot_gradients.row(b);
      float* out = vector_gradients.row(b);
      ForEachPair(count, [&](size_t pair, size_t i, size_t j) {
        AddScaledRow(gradient[pair], row + j * dim, dim, out + i * dim);
        AddScaledRow(gradient[pair], row + i * dim, dim, out + j * dim);
      });
    }
  });
}

}  // namespace syncline
