#include "common/net/byte_buffer.h"

#include <utility>

#include "common/status/status.h"

namespace syncline {
namespace {

// Pieces that a message of any size may have, and one more for each of so many bytes. Ordinary
// peers send pieces of 8 KiB and more.
constexpr size_t kFreePieces = 16;
constexpr size_t kBytesPerPiece = 1'024;

using Owner = std::shared_ptr<const void>;

void DropOwner(void* owner) { delete static_cast<Owner*>(owner); }

grpc::Slice Copy(ByteSpan bytes) { return {bytes.data(), bytes.size()}; }

grpc::Slice Borrow(ByteSpan bytes, const Owner& owner) {
  // gRPC never writes through a slice; its interface lacks the const.
  return {const_cast<uint8_t*>(bytes.data()), bytes.size(), DropOwner, new Owner(owner)};
}

}  // namespace

grpc::ByteBuffer ToByteBuffer(const EncodedFrame& frame, Owner owner) {
  // One copy of all own bytes, cut at the borrowed pieces.
  const grpc::Slice own = Copy(frame.own_bytes());
  size_t taken = 0;
  std::vector<grpc::Slice> slices;
  slices.reserve(frame.piece_count());
  for (size_t i = 0; i < frame.piece_count(); ++i) {
    const ByteSpan piece = frame.piece(i);
    if (!frame.is_borrowed(i)) {
      slices.push_back(own.sub(taken, taken + piece.size()));
      taken += piece.size();
    } else {
      slices.push_back(owner == nullptr ? Copy(piece) : Borrow(piece, owner));
    }
  }
  return {slices.data(), slices.size()};
}

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return {&slice, 1};
}

ReceivedBytes::ReceivedBytes(const grpc::ByteBuffer& buffer) {
  // An empty message may come as an invalid buffer.
  if (!buffer.Valid() || !buffer.Dump(&slices_).ok()) return;
  pieces_.reserve(slices_.size());
  for (const grpc::Slice& slice : slices_) {
    if (slice.size() > 0) pieces_.emplace_back(slice.begin(), slice.size());
    size_ += slice.size();
  }
  if (pieces_.size() <= kFreePieces + size_ / kBytesPerPiece) return;
  joined_.resize(size_);
  ByteView(pieces_, 0, size_).CopyTo(0, joined_);
  pieces_.assign(1, joined_);
  slices_.clear();
}

absl::Status ReceivedBytes::ParseTo(google::protobuf::MessageLite& message) const {
  std::vector<uint8_t> scratch;
  const ByteSpan bytes = size_ == 0 ? ByteSpan() : ByteView(pieces_, 0, size_).Contiguous(scratch);
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kDataLoss, Detail::kNone,
                   "undecodable {} of {} bytes; encode it as its .proto says",
                   message.GetTypeName(), bytes.size());
}

}  // namespace syncline
