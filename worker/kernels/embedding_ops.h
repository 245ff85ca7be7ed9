// The seam for what a model does with embedding rows: pooling, its gradient, the dot interaction.
#ifndef SYNCLINE_WORKER_KERNELS_EMBEDDING_OPS_H_
#define SYNCLINE_WORKER_KERNELS_EMBEDDING_OPS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/pooling.h"
#include "worker/kernels/matrix_view.h"
#include "worker/kernels/stream.h"

namespace syncline {

// Bag b holds rows indices[offsets[b]] .. indices[offsets[b + 1] - 1]. An index may repeat and then
// counts as often as it occurs.
struct Bags {
  std::span<const uint32_t> indices;  // each below the row count of the matrix pooled from
  std::span<const uint32_t> offsets;  // count() + 1; first 0, last indices.size(), not decreasing

  size_t count() const { return offsets.size() - 1; }
};

// Pairs that the interaction of `vectors` vectors gives.
constexpr size_t PairCount(size_t vectors) { return vectors * (vectors - 1) / 2; }

// Every call enqueues on `stream` and obeys its contract for memory (stream.h). Shapes must agree:
// that is an invariant, checked at the call. Outputs never overlap inputs. Sums are taken in a
// fixed order, so the same inputs give the same bits on the same machine; implementations may
// differ from each other within what tests/conformance/kernels_suite.h allows.
//
// Implementations are stateless and thread-safe; a stream is not.
class EmbeddingOps {
 public:
  virtual ~EmbeddingOps() = default;

  // pooled[b] = pool of the rows of bag b. `rows` is [unique][dim], `pooled` [bags][dim].
  virtual void Pool(Stream& stream, Pooling pooling, const Bags& bags, ConstMatrix rows,
                    Matrix pooled) const = 0;

  // The gradient of Pool: adds to row_gradients[indices[k]] the gradient of its bag, scaled as the
  // pooling is, in the order of k. Adds, because several fields may share a table: the caller
  // starts with zeros.
  virtual void PoolGradient(Stream& stream, Pooling pooling, const Bags& bags,
                            ConstMatrix pooled_gradient, Matrix row_gradients) const = 0;

  // The dot interaction of DLRM (Naumov and others, 2019, section 2): row b of `vectors` holds
  // F vectors of `dim` elements side by side; row b of `dots` gets their pairwise products in the
  // order (0,1), (0,2), ..., (0,F-1), (1,2), ...: PairCount(F) columns.
  virtual void Interact(Stream& stream, size_t dim, ConstMatrix vectors, Matrix dots) const = 0;

  // The gradient of Interact: adds to vector_gradients[b] (laid out as `vectors`) what
  // dot_gradients[b] gives; adds, because the vectors also reach the loss by other ways.
  virtual void InteractGradient(Stream& stream, size_t dim, ConstMatrix vectors,
                                ConstMatrix dot_gradients, Matrix vector_gradients) const = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_KERNELS_EMBEDDING_OPS_H_
