// Encodes and decodes the bulk frames by hand: byte for byte what the generated code of
// proto/parameter_server.proto does, but without copying keys and values.
#ifndef SYNCLINE_COMMON_WIRE_FRAME_CODEC_H_
#define SYNCLINE_COMMON_WIRE_FRAME_CODEC_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "common/wire/byte_view.h"
#include "common/wire/encoded_frame.h"
#include "common/wire/frames.h"

namespace syncline {

// Field numbers of Frame's body that this codec handles; the others go through generated code.
enum class FrameBody : uint32_t { kNone = 0, kPull = 4, kPullReply = 5, kPush = 6 };

struct FramePeek {
  uint64_t request_id = 0;
  uint32_t body = 0;  // field number of the body as in the .proto; 0: none, or none known here

  bool Is(FrameBody kind) const { return body == static_cast<uint32_t>(kind); }
};

// --- Encoding. The result refers to the bytes that the frame's views refer to; they must outlive
// it. `header` is always present; other fields are left out when they have their default value, as
// proto3 does. Errors in a reply are sent as ErrorInfo. No limit is checked: the sender splits.

// A whole Frame.
EncodedFrame EncodeFrame(uint64_t request_id, const PushFrame& push);
EncodedFrame EncodeFrame(uint64_t request_id, const PullFrame& pull);
EncodedFrame EncodeFrame(uint64_t request_id, const PullReplyFrame& reply);
// The bare message, as unary calls carry it.
EncodedFrame EncodeMessage(const PushFrame& push);
EncodedFrame EncodeMessage(const PullFrame& pull);
EncodedFrame EncodeMessage(const PullReplyFrame& reply);

// --- Decoding. The views of the result point into `pieces` (the array too), which must outlive it.
// Memory allocated is bounded by the bytes present and by common/limits.h, never by a claimed
// count. Unknown fields are skipped; repeated scalars: the last wins; repeated bodies and headers
// merge and parts append, as protobuf does.
//
// Errors, told apart because they end differently (proto/README.md):
//   DATA_LOSS         the bytes are no such message: truncated, a known field with another wire
//                     type, another body; the stream ends
//   INVALID_ARGUMENT  a message whose contents contradict each other or exceed a limit: the request
//                     is refused, the stream lives
// Checked: frame at most kMaxFrameBytes; parts at most kMaxSlotPartsPerFrame; keys whole and at
// most kMaxKeysPerFrame in all; bag_count at most kMaxBagsPerFrame; a part of a push or pull with
// bag_count 0 has no bag fields, with bag_count > 0 has keys + 1 offsets, from 0, ascending, to the
// number of bag ids, each below bag_count; values divisible by keys, bag_values by bag_count, none
// without; a placeholder is a final outcome and carries no content.
// Not checked: slots, keys' order (S5), row sizes: they need the table.

// Scans the top level only: cheap whatever the size. DATA_LOSS as above.
absl::StatusOr<FramePeek> PeekFrame(std::span<const ByteSpan> pieces);

absl::StatusOr<PushFrame> DecodePushFrame(std::span<const ByteSpan> pieces);
absl::StatusOr<PullFrame> DecodePullFrame(std::span<const ByteSpan> pieces);
absl::StatusOr<PullReplyFrame> DecodePullReplyFrame(std::span<const ByteSpan> pieces);

absl::StatusOr<PushFrame> DecodePushMessage(std::span<const ByteSpan> pieces);
absl::StatusOr<PullFrame> DecodePullMessage(std::span<const ByteSpan> pieces);
absl::StatusOr<PullReplyFrame> DecodePullReplyMessage(std::span<const ByteSpan> pieces);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_FRAME_CODEC_H_
