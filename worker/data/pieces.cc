#include "worker/data/pieces.h"

#include <algorithm>

#include "common/hash.h"
#include "common/status/status.h"
#include "worker/data/split.h"

namespace syncline {

StaticPieces::StaticPieces(std::span<const uint32_t> rows, uint32_t global_batch, uint64_t seed)
    : rows_(rows.begin(), rows.end()), global_batch_(global_batch), seed_(seed) {
  SYNCLINE_CHECK(global_batch > 0, "a global batch has samples");
}

void StaticPieces::OrderFor(uint64_t pass) {
  if (!order_.empty() && pass == pass_) return;
  order_ = SeededPermutation(static_cast<uint32_t>(rows_.size()), Mix64(seed_) ^ pass);
  for (uint32_t& entry : order_) entry = rows_[entry];
  pass_ = pass;
}

std::span<const uint32_t> StaticPieces::GlobalBatch(uint64_t pass, uint64_t round) {
  if (round >= rounds_per_pass()) return {};
  OrderFor(pass);
  const uint64_t begin = round * global_batch_;
  return std::span(order_).subspan(begin, std::min(global_batch_, order_.size() - begin));
}

std::span<const uint32_t> StaticPieces::Piece(uint64_t pass, uint64_t round, uint32_t rank,
                                              uint32_t ranks) {
  SYNCLINE_CHECK(rank < ranks, "ranks are numbered 0 to n - 1");
  const std::span<const uint32_t> batch = GlobalBatch(pass, round);
  const uint64_t begin = batch.size() * rank / ranks;
  const uint64_t end = batch.size() * (uint64_t{rank} + 1) / ranks;
  return batch.subspan(begin, end - begin);
}

}  // namespace syncline
