// Reads protobuf's wire format over a list of pieces. Never reads beyond its end, whatever the
// bytes.
#ifndef SYNCLINE_COMMON_WIRE_CURSOR_H_
#define SYNCLINE_COMMON_WIRE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/wire/byte_view.h"

namespace syncline {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct FieldTag {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
};

// A position in one message. Every Read returns false when the bytes are no protobuf; the cursor is
// then unusable. Copying is cheap. `pieces` must outlive it and the views it hands out.
class Cursor {
 public:
  explicit Cursor(std::span<const ByteSpan> pieces);

  bool AtEnd() const { return left_ == 0; }

  // Groups (wire types 3 and 4) do not occur in proto3 and are refused.
  bool ReadTag(FieldTag& tag);
  // Like protobuf: at most 10 bytes, bits beyond 64 are dropped.
  bool ReadVarint(uint64_t& value);
  bool ReadFixed64(uint64_t& value);
  // A length and as many bytes.
  bool ReadView(ByteView& view);
  // A length and a nested message, to be read by `message`.
  bool ReadMessage(Cursor& message);
  bool SkipField(WireType type);

 private:
  bool ReadLength(size_t& length);
  bool ReadVarint(unsigned max_bytes, uint64_t& value);
  uint8_t TakeByte();  // REQUIRES: left_ > 0
  void Advance(size_t n);
  void SettleOnPiece();

  std::span<const ByteSpan> pieces_;  // from the current piece on
  size_t offset_ = 0;                 // in pieces_.front()
  size_t left_ = 0;                   // bytes to the end of the message
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_CURSOR_H_
