// Bytes that may lie in several pieces: what gRPC delivers, without flattening.
#ifndef SYNCLINE_COMMON_WIRE_BYTE_VIEW_H_
#define SYNCLINE_COMMON_WIRE_BYTE_VIEW_H_

#include <cstddef>
#include <cstdint>
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

  // Copies bytes [from, from + out.size()) out. REQUIRES: in range.
  void CopyTo(size_t from, std::span<uint8_t> out) const;
  // The bytes in one piece: in place when they are contiguous (and aligned to `alignment`), else
  // copied into `scratch`, which must outlive the result.
  ByteSpan Contiguous(std::vector<uint8_t>& scratch) const;
  // Little-endian numbers, aligned: in place when possible, else through `scratch`.
  std::span<const uint64_t> AsU64(std::vector<uint64_t>& scratch) const;
  std::span<const uint32_t> AsU32(std::vector<uint32_t>& scratch) const;

 private:
  ByteSpan single_;  // used when pieces_ is empty
  std::span<const ByteSpan> pieces_;
  size_t offset_ = 0;
  size_t size_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_BYTE_VIEW_H_
