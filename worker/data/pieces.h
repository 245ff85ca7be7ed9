// Which samples a rank takes in which round: static data pieces (PROTOCOL.md D1).
#ifndef SYNCLINE_WORKER_DATA_PIECES_H_
#define SYNCLINE_WORKER_DATA_PIECES_H_

#include <cstdint>
#include <span>
#include <vector>

namespace syncline {

// Deals the samples of a pass to rounds and ranks. The piece of pass p, round r, rank i of n is a
// pure function of (seed, p, r, i, n): a rank that restarts finds its place from its reader
// position (p, r) alone, and nothing depends on who joined when.
//
//   pass p   a permutation of all samples, seeded by (seed, p)
//   round r  samples r * B .. (r + 1) * B - 1 of it: the global batch (the last one may be
//   shorter);
//            rounds_per_pass() = ceil(samples / B)
//   rank i   of a global batch of b samples: positions floor(b * i / n) .. floor(b * (i + 1) / n) -
//   1
//
// A pass covers each sample once. The global batches do not depend on n, so one, two and four ranks
// train on the same ones (reproducible BSP equals a single process). Rounds beyond the end, and
// ranks that get nothing of a short batch, have empty pieces; such a rank still ticks.
//
// Memory: 8 B per sample. Not thread-safe (it keeps the order of the pass asked for last).
class StaticPieces {
 public:
  // `rows`: the data set's row numbers that are dealt (a split's train part); copied.
  // REQUIRES: global_batch > 0.
  StaticPieces(std::span<const uint32_t> rows, uint32_t global_batch, uint64_t seed);

  uint64_t rounds_per_pass() const { return (rows_.size() + global_batch_ - 1) / global_batch_; }
  size_t size() const { return rows_.size(); }

  // Rows of a global batch; also the piece number `round` of a pass whose pieces are leased. Valid
  // until the next call.
  std::span<const uint32_t> GlobalBatch(uint64_t pass, uint64_t round);
  // Rows of one rank. Valid until the next call. REQUIRES: rank < ranks.
  std::span<const uint32_t> Piece(uint64_t pass, uint64_t round, uint32_t rank, uint32_t ranks);

 private:
  void OrderFor(uint64_t pass);

  const std::vector<uint32_t> rows_;
  const uint64_t global_batch_;
  const uint64_t seed_;
  std::vector<uint32_t> order_;  // rows_ in the order of pass_; empty before the first use
  uint64_t pass_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_PIECES_H_
