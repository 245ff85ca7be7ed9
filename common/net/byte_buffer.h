// Between grpc::ByteBuffer and the bytes of common/wire, without copying bulk.
#ifndef SYNCLINE_COMMON_NET_BYTE_BUFFER_H_
#define SYNCLINE_COMMON_NET_BYTE_BUFFER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

#include "common/wire/byte_view.h"
#include "common/wire/encoded_frame.h"

namespace syncline {

// The frame's own bytes are copied once; borrowed pieces are sent in place, and `owner` is kept
// until gRPC has let go of the last of them (on any thread). Null owner: borrowed pieces are copied
// too, so that nothing outlives the call.
grpc::ByteBuffer ToByteBuffer(const EncodedFrame& frame, std::shared_ptr<const void> owner);

// A message of generated code.
grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message);

// The pieces of a received message; keeps them alive. Movable: the pieces stay where they are.
class ReceivedBytes {
 public:
  ReceivedBytes() = default;
  // Takes part in the buffer's slices without copying, unless a peer sent so many small ones that
  // walking them would cost more: then they are put together.
  explicit ReceivedBytes(const grpc::ByteBuffer& buffer);
  ReceivedBytes(ReceivedBytes&&) = default;
  ReceivedBytes& operator=(ReceivedBytes&&) = default;

  std::span<const ByteSpan> pieces() const { return pieces_; }
  size_t size() const { return size_; }

  // Errors: DATA_LOSS when the bytes are no such message.
  absl::Status ParseTo(google::protobuf::MessageLite& message) const;

 private:
  std::vector<grpc::Slice> slices_;  // short slices hold their bytes in themselves
  std::vector<uint8_t> joined_;
  std::vector<ByteSpan> pieces_;
  size_t size_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_NET_BYTE_BUFFER_H_
