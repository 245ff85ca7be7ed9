// A message ready to send: small bytes of its own, and the caller's bulk bytes by reference.
#ifndef SYNCLINE_COMMON_WIRE_ENCODED_FRAME_H_
#define SYNCLINE_COMMON_WIRE_ENCODED_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/wire/byte_view.h"

namespace syncline {

// The pieces of one message, in order. Borrowed pieces are memory of whoever encoded it, which must
// outlive this object and whatever is made of it without a copy. Movable, not copyable.
class EncodedFrame {
 public:
  // Shorter runs of the caller's bytes are copied: a piece costs more than that.
  static constexpr size_t kBorrowBytes = 512;

  EncodedFrame() = default;
  EncodedFrame(EncodedFrame&&) = default;
  EncodedFrame& operator=(EncodedFrame&&) = default;

  size_t size() const { return size_; }
  size_t piece_count() const { return pieces_.size(); }
  ByteSpan piece(size_t i) const;
  bool is_borrowed(size_t i) const { return pieces_[i].borrowed != nullptr; }
  // All pieces that are not borrowed, one after the other.
  ByteSpan own_bytes() const { return own_; }
  // All bytes in one vector: a copy of everything.
  std::vector<uint8_t> Flatten() const;

  // --- For encoders: appends to the end.
  void ReservePieces(size_t n) { pieces_.reserve(n); }
  void AppendByte(uint8_t byte);
  void AppendCopy(ByteSpan bytes);
  // Borrows runs of kBorrowBytes or more, copies shorter ones.
  void AppendView(const ByteView& view);

 private:
  struct Piece {
    const uint8_t* borrowed;  // null: own_[offset, offset + size)
    size_t offset;
    size_t size;
  };
  Piece& OwnTail();

  std::vector<uint8_t> own_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_ENCODED_FRAME_H_
