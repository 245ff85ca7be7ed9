#include "common/wire/byte_view.h"

#include <bit>
#include <cstring>

#include "common/status/status.h"

namespace syncline {
namespace {

// Numbers on the wire are little-endian and used in place.
static_assert(std::endian::native == std::endian::little);

// The bytes as numbers, if they are one aligned run of whole numbers; else empty.
template <typename T>
std::span<const T> InPlace(ByteSpan bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(T) != 0) return {};
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <typename T>
std::span<const T> AsNumbers(const ByteView& view, ByteSpan single, std::vector<T>& scratch) {
  const size_t count = view.size() / sizeof(T);
  if (count == 0) return {};
  if (single.size() == view.size()) {
    const std::span<const T> numbers = InPlace<T>(single);
    if (!numbers.empty()) return numbers;
  }
  scratch.resize(count);
  view.CopyTo(0, {reinterpret_cast<uint8_t*>(scratch.data()), count * sizeof(T)});
  return scratch;
}

}  // namespace

ByteView::ByteView(std::span<const ByteSpan> pieces, size_t offset, size_t size) : size_(size) {
  if (size == 0) return;
  if (offset + size <= pieces.front().size()) {
    single_ = pieces.front().subspan(offset, size);
    return;
  }
  pieces_ = pieces;
  offset_ = offset;
}

void ByteView::CopyTo(size_t from, std::span<uint8_t> out) const {
  SYNCLINE_CHECK(from <= size_ && out.size() <= size_ - from, "copy beyond the end of a byte view");
  if (out.empty()) return;
  if (pieces_.empty()) {
    std::memcpy(out.data(), single_.data() + from, out.size());
    return;
  }
  size_t skip = offset_ + from;
  size_t done = 0;
  for (size_t i = 0; done < out.size(); ++i) {
    const ByteSpan piece = pieces_[i];
    if (skip >= piece.size()) {
      skip -= piece.size();
      continue;
    }
    const size_t n = std::min(piece.size() - skip, out.size() - done);
    std::memcpy(out.data() + done, piece.data() + skip, n);
    done += n;
    skip = 0;
  }
}

ByteSpan ByteView::Contiguous(std::vector<uint8_t>& scratch) const {
  if (pieces_.empty()) return single_;
  scratch.resize(size_);
  CopyTo(0, scratch);
  return scratch;
}

std::span<const uint64_t> ByteView::AsU64(std::vector<uint64_t>& scratch) const {
  return AsNumbers<uint64_t>(*this, single_, scratch);
}

std::span<const uint32_t> ByteView::AsU32(std::vector<uint32_t>& scratch) const {
  return AsNumbers<uint32_t>(*this, single_, scratch);
}

}  // namespace syncline
