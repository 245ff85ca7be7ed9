// Bytes that may lie in several pieces: what gRPC delivers, without flattening.
#ifndef SYNCLINE_COMMON_WIRE_BYTE_VIEW_H_
#define SYNCLINE_COMMON_WIRE_BYTE_VIEW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/types.h"

namespace syncline {

using ByteSpan = std::span<const uint8_t>;

// A run of bytes over a list of spans that the owner keeps. Cheap to copy; owns nothing.
// `pieces` must outlive the view. Not a container of pieces that changes under it.
class ByteView {
 public:
  ByteView() = default;
  // One contiguous piece.
  explicit ByteView(ByteSpan bytes) : single_(bytes), size_(bytes.size()) {}
  // `size` bytes from `offset` of pieces.front(), going on through the following pieces.
  // REQUIRES: the pieces hold that many.
  ByteView(std::span<const ByteSpan> pieces, size_t offset, size_t size);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Calls fn(ByteSpan) for each non-empty run of contiguous bytes, in order.
  template <typename Fn>
  void ForEachSpan(Fn&& fn) const;
  // Calls fn(uint32_t) for each little-endian number, in order, until it returns false. A rest of
  // fewer than 4 bytes is left out. Returns whether all calls returned true.
  template <typename Fn>
  bool ForEachU32(Fn&& fn) const;

  // Copies bytes [from, from + out.size()) out. REQUIRES: in range.
  void CopyTo(size_t from, std::span<uint8_t> out) const;
  // The bytes in one piece: in place when they are contiguous, else copied into `scratch`, which
  // must outlive the result.
  ByteSpan Contiguous(std::vector<uint8_t>& scratch) const;
  // Little-endian numbers, aligned: in place when possible, else through `scratch`. A rest that
  // makes no whole number is left out.
  std::span<const uint64_t> AsU64(std::vector<uint64_t>& scratch) const;
  std::span<const uint32_t> AsU32(std::vector<uint32_t>& scratch) const;

 private:
  ByteSpan single_;  // used when pieces_ is empty
  std::span<const ByteSpan> pieces_;
  size_t offset_ = 0;
  size_t size_ = 0;
};

template <typename Fn>
void ByteView::ForEachSpan(Fn&& fn) const {
  if (pieces_.empty()) {
    if (!single_.empty()) fn(single_);
    return;
  }
  size_t offset = offset_;
  size_t left = size_;
  for (size_t i = 0; left > 0; ++i) {
    const ByteSpan piece = pieces_[i];
    const size_t n = std::min(left, piece.size() - offset);
    if (n > 0) fn(piece.subspan(offset, n));
    left -= n;
    offset = 0;
  }
}

template <typename Fn>
bool ByteView::ForEachU32(Fn&& fn) const {
  uint8_t cut[sizeof(uint32_t)];  // a number that lies in more than one span
  size_t held = 0;                // bytes of it
  bool go_on = true;
  const auto give = [&](const uint8_t* bytes) {
    uint32_t number = 0;
    std::memcpy(&number, bytes, sizeof(number));
    go_on = fn(number);
  };
  ForEachSpan([&](ByteSpan span) {
    while (go_on && held > 0 && !span.empty()) {
      cut[held++] = span.front();
      span = span.subspan(1);
      if (held < sizeof(cut)) continue;
      held = 0;
      give(cut);
    }
    while (go_on && span.size() >= sizeof(cut)) {
      give(span.data());
      span = span.subspan(sizeof(cut));
    }
    for (; go_on && !span.empty(); span = span.subspan(1)) cut[held++] = span.front();
  });
  return go_on;
}

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_BYTE_VIEW_H_
