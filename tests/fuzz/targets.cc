#include "tests/fuzz/targets.h"

#include <span>
#include <string>
#include <vector>

#include "google/protobuf/stubs/logging.h"

#include "common/codec/codec.h"
#include "common/status/status.h"
#include "common/wire/frame_codec.h"
#include "proto/parameter_server.pb.h"

namespace syncline {
namespace {

std::vector<ByteSpan> Cut(ByteSpan bytes, size_t width) {
  std::vector<ByteSpan> pieces;
  while (!bytes.empty()) {
    const size_t n = width == 0 ? bytes.size() : std::min(width, bytes.size());
    pieces.push_back(bytes.first(n));
    bytes = bytes.subspan(n);
  }
  return pieces;
}

// Only these two codes may come out of a decoder.
void CheckError(const absl::Status& status) {
  SYNCLINE_CHECK(status.code() == absl::StatusCode::kDataLoss ||
                     status.code() == absl::StatusCode::kInvalidArgument,
                 "a decoder gave another code");
}

// What was accepted can be encoded, and decodes to the same bytes again.
template <typename Frame, typename Decode>
void CheckAccepted(const Frame& frame, Decode decode) {
  const std::vector<uint8_t> once = EncodeMessage(frame).Flatten();
  const ByteSpan piece(once);
  const auto again = decode(std::span<const ByteSpan>(&piece, 1));
  SYNCLINE_CHECK(again.ok(), "an encoded frame does not decode");
  SYNCLINE_CHECK(EncodeMessage(*again).Flatten() == once, "encoding is not stable");
}

template <typename Proto, typename DecodeFrame, typename DecodeMessage>
void FuzzFrame(const uint8_t* data, size_t size, DecodeFrame decode_frame,
               DecodeMessage decode_message) {
  if (size == 0) return;
  const google::protobuf::LogSilencer quiet;
  const ByteSpan bytes(data + 1, size - 1);
  const std::vector<ByteSpan> pieces = Cut(bytes, data[0]);

  const auto peek = PeekFrame(pieces);
  if (!peek.ok()) CheckError(peek.status());
  const auto frame = decode_frame(pieces);
  if (frame.ok()) {
    SYNCLINE_CHECK(peek.ok(), "a frame decodes but cannot be peeked at");
    CheckAccepted(*frame, decode_message);
  } else {
    CheckError(frame.status());
  }

  const auto message = decode_message(pieces);
  if (message.ok()) {
    Proto parsed;
    SYNCLINE_CHECK(parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
                   "accepted what generated code refuses");
    CheckAccepted(*message, decode_message);
  } else {
    CheckError(message.status());
  }
}

}  // namespace

void FuzzPush(const uint8_t* data, size_t size) {
  FuzzFrame<v1::PushRequest>(data, size, DecodePushFrame, DecodePushMessage);
}

void FuzzPull(const uint8_t* data, size_t size) {
  FuzzFrame<v1::PullRequest>(data, size, DecodePullFrame, DecodePullMessage);
}

void FuzzPullReply(const uint8_t* data, size_t size) {
  FuzzFrame<v1::PullReply>(data, size, DecodePullReplyFrame, DecodePullReplyMessage);
}

void FuzzCodec(const uint8_t* data, size_t size) {
  if (size < 2) return;
  const Codec* codec = FindCodec(uint32_t{data[0]});
  const size_t dim = size_t{data[1]} + 1;
  if (codec == nullptr) return;
  const std::span<const uint8_t> bytes(data + 2, size - 2);
  // As many rows as there are bytes for, so that a rest makes it no encoding.
  std::vector<float> rows(bytes.size() / codec->EncodedRowBytes(dim) * dim);
  const absl::Status status = codec->Decode(bytes, dim, rows);
  SYNCLINE_CHECK(status.ok() == (bytes.size() % codec->EncodedRowBytes(dim) == 0),
                 "a codec misjudged a size");
  if (!status.ok()) return;
  std::vector<uint8_t> encoded(bytes.size());
  codec->Encode(rows, dim, encoded);
  std::vector<float> again(rows.size());
  SYNCLINE_CHECK(codec->Decode(encoded, dim, again).ok(), "an encoding does not decode");
}

}  // namespace syncline
