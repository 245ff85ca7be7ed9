#include "common/wire/encoded_frame.h"

namespace syncline {

ByteSpan EncodedFrame::piece(size_t i) const {
  const Piece& p = pieces_[i];
  return {p.borrowed != nullptr ? p.borrowed : own_.data() + p.offset, p.size};
}

std::vector<uint8_t> EncodedFrame::Flatten() const {
  std::vector<uint8_t> bytes;
  bytes.reserve(size_);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const ByteSpan p = piece(i);
    bytes.insert(bytes.end(), p.begin(), p.end());
  }
  return bytes;
}

void EncodedFrame::AppendByte(uint8_t byte) {
  ++OwnTail().size;
  own_.push_back(byte);
  ++size_;
}

void EncodedFrame::AppendCopy(ByteSpan bytes) {
  if (bytes.empty()) return;
  OwnTail().size += bytes.size();
  own_.insert(own_.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
}

void EncodedFrame::AppendView(const ByteView& view) {
  view.ForEachSpan([this](ByteSpan span) {
    if (span.size() < kBorrowBytes) {
      AppendCopy(span);
      return;
    }
    pieces_.push_back({span.data(), 0, span.size()});
    size_ += span.size();
  });
}

// The last piece, if it is our own memory; else a new one that is.
EncodedFrame::Piece& EncodedFrame::OwnTail() {
  if (pieces_.empty() || pieces_.back().borrowed != nullptr) {
    pieces_.push_back({nullptr, own_.size(), 0});
  }
  return pieces_.back();
}

}  // namespace syncline
