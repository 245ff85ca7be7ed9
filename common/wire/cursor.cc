#include "common/wire/cursor.h"

namespace syncline {
namespace {

// Protobuf reads tags and lengths from at most five bytes.
constexpr unsigned kShortVarintBytes = 5;
constexpr unsigned kMaxVarintBytes = 10;

}  // namespace

Cursor::Cursor(std::span<const ByteSpan> pieces) : pieces_(pieces) {
  for (const ByteSpan piece : pieces) left_ += piece.size();
  if (left_ > 0) SettleOnPiece();
}

void Cursor::SettleOnPiece() {
  while (offset_ >= pieces_.front().size()) {
    offset_ -= pieces_.front().size();
    pieces_ = pieces_.subspan(1);
  }
}

void Cursor::Advance(size_t n) {
  offset_ += n;
  left_ -= n;
  // At the end of the message the next piece may not exist.
  if (left_ > 0) SettleOnPiece();
}

uint8_t Cursor::TakeByte() {
  const uint8_t byte = pieces_.front()[offset_];
  Advance(1);
  return byte;
}

bool Cursor::ReadVarint(unsigned max_bytes, uint64_t& value) {
  value = 0;
  for (unsigned i = 0; i < max_bytes && left_ > 0; ++i) {
    const uint8_t byte = TakeByte();
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return true;
  }
  return false;
}

bool Cursor::ReadVarint(uint64_t& value) { return ReadVarint(kMaxVarintBytes, value); }

bool Cursor::ReadTag(FieldTag& tag) {
  uint64_t raw = 0;
  if (!ReadVarint(kShortVarintBytes, raw) || raw > UINT32_MAX) return false;
  const auto type = static_cast<uint8_t>(raw & 7);
  tag.number = static_cast<uint32_t>(raw >> 3);
  tag.type = static_cast<WireType>(type);
  return tag.number != 0 && (type <= 2 || type == 5);
}

bool Cursor::ReadFixed64(uint64_t& value) {
  if (left_ < sizeof(value)) return false;
  value = 0;
  for (unsigned i = 0; i < sizeof(value); ++i) {
    value |= static_cast<uint64_t>(TakeByte()) << (8 * i);
  }
  return true;
}

bool Cursor::ReadLength(size_t& length) {
  uint64_t raw = 0;
  if (!ReadVarint(kShortVarintBytes, raw) || raw > left_) return false;
  length = static_cast<size_t>(raw);
  return true;
}

bool Cursor::ReadView(ByteView& view) {
  size_t length = 0;
  if (!ReadLength(length)) return false;
  view = length == 0 ? ByteView() : ByteView(pieces_, offset_, length);
  Advance(length);
  return true;
}

bool Cursor::ReadMessage(Cursor& message) {
  size_t length = 0;
  if (!ReadLength(length)) return false;
  message = *this;
  message.left_ = length;
  Advance(length);
  return true;
}

bool Cursor::SkipField(WireType type) {
  uint64_t ignored = 0;
  size_t length = 0;
  switch (type) {
    case WireType::kVarint:
      return ReadVarint(ignored);
    case WireType::kFixed64:
      length = 8;
      break;
    case WireType::kFixed32:
      length = 4;
      break;
    case WireType::kLength:
      if (!ReadLength(length)) return false;
      break;
  }
  if (length > left_) return false;
  Advance(length);
  return true;
}

}  // namespace syncline
