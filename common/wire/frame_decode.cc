#include <algorithm>
#include <string>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "common/wire/cursor.h"
#include "common/wire/frame_check.h"
#include "common/wire/frame_codec.h"
#include "common/wire/outcome_proto.h"

namespace syncline {
namespace {

// Frame's fields.
constexpr uint32_t kRequestId = 1;
constexpr uint32_t kFirstBody = 2;
constexpr uint32_t kLastBody = 21;

absl::Status Undecodable(std::string_view what) {
  return MakeError(absl::StatusCode::kDataLoss, Detail::kNone,
                   "undecodable {}: not protobuf, or a field of another type; "
                   "encode it as proto/parameter_server.proto says",
                   what);
}

absl::Status TooManyParts() {
  return InvalidArgument("more than {} slot parts in one request; split it", kMaxSlotPartsPerFrame);
}

// What one field did.
enum class Step : uint8_t { kTaken, kUnknown, kBad, kTooMany };

Step Taken(bool ok) { return ok ? Step::kTaken : Step::kBad; }

Step TakeU64(Cursor& in, WireType type, uint64_t& value) {
  return Taken(type == WireType::kVarint && in.ReadVarint(value));
}

// Any number type that protobuf sends as a varint: the low bits are kept.
template <typename Strong>
Step Take(Cursor& in, WireType type, Strong& value) {
  uint64_t raw = 0;
  const Step step = TakeU64(in, type, raw);
  if (step != Step::kTaken) return step;
  if constexpr (std::is_arithmetic_v<Strong>) {
    value = static_cast<Strong>(raw);
  } else {
    value = Strong(static_cast<typename Strong::rep>(raw));
  }
  return step;
}

Step TakeBool(Cursor& in, WireType type, bool& value) {
  uint64_t raw = 0;
  const Step step = TakeU64(in, type, raw);
  if (step == Step::kTaken) value = raw != 0;
  return step;
}

Step TakeFixed(Cursor& in, WireType type, uint64_t& value) {
  return Taken(type == WireType::kFixed64 && in.ReadFixed64(value));
}

Step TakeView(Cursor& in, WireType type, ByteView& view) {
  return Taken(type == WireType::kLength && in.ReadView(view));
}

// Numbers beyond a byte become one that is no final outcome, which the check refuses.
Step TakePlaceholder(Cursor& in, WireType type, Outcome& outcome) {
  uint32_t number = 0;
  const Step step = Take(in, type, number);
  if (step == Step::kTaken) outcome = static_cast<Outcome>(std::min(number, 255u));
  return step;
}

// TakeField(): one field of each message. Types of this file's own are found by their namespace.
Step TakeField(Cursor& in, FieldTag tag, OperationHeader& h);
Step TakeField(Cursor& in, FieldTag tag, PushPart& p);
Step TakeField(Cursor& in, FieldTag tag, PushFrame& f);
Step TakeField(Cursor& in, FieldTag tag, PullPart& p);
Step TakeField(Cursor& in, FieldTag tag, PullFrame& f);
Step TakeField(Cursor& in, FieldTag tag, PullPartReply& p);
Step TakeField(Cursor& in, FieldTag tag, FramePeek& peek);

// Reads all fields of `in` into `message`.
template <typename T>
Step TakeFields(Cursor in, T& message) {
  while (!in.AtEnd()) {
    FieldTag tag;
    if (!in.ReadTag(tag)) return Step::kBad;
    Step step = TakeField(in, tag, message);
    if (step == Step::kUnknown) step = Taken(in.SkipField(tag.type));
    if (step != Step::kTaken) return step;
  }
  return Step::kTaken;
}

template <typename T>
Step TakeMessage(Cursor& in, WireType type, T& message) {
  Cursor nested = in;
  if (type != WireType::kLength || !in.ReadMessage(nested)) return Step::kBad;
  return TakeFields(nested, message);
}

template <typename Part>
Step TakePart(Cursor& in, WireType type, std::vector<Part>& parts) {
  if (parts.size() == kMaxSlotPartsPerFrame) return Step::kTooMany;
  return TakeMessage(in, type, parts.emplace_back());
}

Step TakeField(Cursor& in, FieldTag tag, OperationHeader& h) {
  switch (tag.number) {
    case 1:
      return TakeFixed(in, tag.type, h.session.high);
    case 2:
      return TakeFixed(in, tag.type, h.session.low);
    case 3: {
      uint64_t token = h.token.value();
      const Step step = TakeFixed(in, tag.type, token);
      h.token = Token(token);
      return step;
    }
    case 4:
      return Take(in, tag.type, h.epoch);
    case 5:
      return Take(in, tag.type, h.clock);
    default:
      return Step::kUnknown;
  }
}

Step TakeField(Cursor& in, FieldTag tag, PushPart& p) {
  switch (tag.number) {
    case 1:
      return Take(in, tag.type, p.slot);
    case 2:
      return Take(in, tag.type, p.incarnation);
    case 3:
      return Take(in, tag.type, p.sequence);
    case 4:
      return TakeView(in, tag.type, p.keys);
    case 5:
      return TakeView(in, tag.type, p.values);
    case 6:
      return TakeView(in, tag.type, p.bag_offsets);
    case 7:
      return TakeView(in, tag.type, p.bag_ids);
    case 8:
      return TakePlaceholder(in, tag.type, p.placeholder);
    default:
      return Step::kUnknown;
  }
}

Step TakeField(Cursor& in, FieldTag tag, PushFrame& f) {
  switch (tag.number) {
    case 1:
      return TakeMessage(in, tag.type, f.header);
    case 2:
      return Take(in, tag.type, f.table);
    case 3:
      return Take(in, tag.type, f.codec);
    case 4:
      return Take(in, tag.type, f.samples);
    case 5:
      return TakePart(in, tag.type, f.parts);
    case 6:
      return Take(in, tag.type, f.bag_count);
    case 7:
      return TakeView(in, tag.type, f.bag_values);
    default:
      return Step::kUnknown;
  }
}

Step TakeField(Cursor& in, FieldTag tag, PullPart& p) {
  switch (tag.number) {
    case 1:
      return Take(in, tag.type, p.slot);
    case 2:
      return Take(in, tag.type, p.incarnation);
    case 3:
      return Take(in, tag.type, p.sequence);
    case 4:
      return TakeView(in, tag.type, p.keys);
    case 5:
      return TakeView(in, tag.type, p.bag_offsets);
    case 6:
      return TakeView(in, tag.type, p.bag_ids);
    default:
      return Step::kUnknown;
  }
}

Step TakeField(Cursor& in, FieldTag tag, PullFrame& f) {
  switch (tag.number) {
    case 1:
      return TakeMessage(in, tag.type, f.header);
    case 2:
      return Take(in, tag.type, f.table);
    case 3:
      return Take(in, tag.type, f.codec);
    case 4:
      return TakeBool(in, tag.type, f.read_only);
    case 5:
      return Take(in, tag.type, f.deadline_ms);
    case 6:
      return TakePart(in, tag.type, f.parts);
    case 7:
      return Take(in, tag.type, f.bag_count);
    default:
      return Step::kUnknown;
  }
}

Step TakeField(Cursor& in, FieldTag tag, PullPartReply& p) {
  switch (tag.number) {
    case 1:
      return Take(in, tag.type, p.slot);
    case 2:
      return Take(in, tag.type, p.incarnation);
    case 3:
      return Take(in, tag.type, p.sequence);
    case 4:
      return Take(in, tag.type, p.min_clock);
    case 5:
      return TakeView(in, tag.type, p.values);
    default:
      return Step::kUnknown;
  }
}

// A reply being read: messages in pieces merge by concatenation, so the error's bytes are kept
// until the end and read by generated code (which also checks that its text is UTF-8).
struct ReplyReader {
  PullReplyFrame frame;
  std::string error;
  bool has_error = false;
};

Step TakeError(Cursor& in, WireType type, ReplyReader& reader) {
  ByteView bytes;
  if (type != WireType::kLength || !in.ReadView(bytes)) return Step::kBad;
  // Message, code, detail and some unknown fields of a later version.
  if (bytes.size() + reader.error.size() > 2 * kMaxErrorMessageBytes) return Step::kBad;
  reader.has_error = true;
  bytes.ForEachSpan([&](ByteSpan span) {
    reader.error.append(reinterpret_cast<const char*>(span.data()), span.size());
  });
  return Step::kTaken;
}

Step TakeField(Cursor& in, FieldTag tag, ReplyReader& r) {
  switch (tag.number) {
    case 1:
      return TakePart(in, tag.type, r.frame.parts);
    case 2:
      return TakeView(in, tag.type, r.frame.bag_values);
    case 3:
      return Take(in, tag.type, r.frame.epoch);
    case 4:
      return Take(in, tag.type, r.frame.checkpoint);
    case 5:
      return TakeError(in, tag.type, r);
    case 6:
      return Take(in, tag.type, r.frame.error_slot);
    case 7:
      return Take(in, tag.type, r.frame.error_incarnation);
    default:
      return Step::kUnknown;
  }
}

absl::Status Judge(Step step, std::string_view what) {
  if (step == Step::kTaken) return absl::OkStatus();
  return step == Step::kTooMany ? TooManyParts() : Undecodable(what);
}

absl::StatusOr<PushFrame> Finish(PushFrame frame) {
  RETURN_IF_ERROR(CheckFrame(frame));
  return frame;
}

absl::StatusOr<PullFrame> Finish(PullFrame frame) {
  RETURN_IF_ERROR(CheckFrame(frame));
  return frame;
}

absl::StatusOr<PullReplyFrame> Finish(ReplyReader reader) {
  v1::ErrorInfo error;
  if (reader.has_error && !error.ParseFromString(reader.error)) return Undecodable("pull reply");
  reader.frame.error = FromProto(error);
  return std::move(reader.frame);
}

absl::Status CheckSize(std::span<const ByteSpan> pieces) {
  size_t size = 0;
  for (const ByteSpan piece : pieces) size += piece.size();
  if (size <= kMaxFrameBytes) return absl::OkStatus();
  return InvalidArgument("a message of {} bytes, the limit is {}; split it", size, kMaxFrameBytes);
}

// A bare message into a Reader (PushFrame, PullFrame, ReplyReader).
template <typename Frame, typename Reader>
absl::StatusOr<Frame> DecodeMessage(std::span<const ByteSpan> pieces, std::string_view what) {
  RETURN_IF_ERROR(CheckSize(pieces));
  Reader reader;
  RETURN_IF_ERROR(Judge(TakeFields(Cursor(pieces), reader), what));
  return Finish(std::move(reader));
}

// The body of a Frame being read. As in any oneof, the same body again merges, another one
// replaces it.
template <typename Reader>
struct BodyReader {
  uint32_t wanted = 0;
  uint32_t body = 0;
  Reader reader;
};

template <typename Reader>
Step TakeField(Cursor& in, FieldTag tag, BodyReader<Reader>& b) {
  if (tag.number == kRequestId) return tag.type == WireType::kVarint ? Step::kUnknown : Step::kBad;
  if (tag.number < kFirstBody || tag.number > kLastBody) return Step::kUnknown;
  if (tag.number != b.body) b.reader = Reader();
  b.body = tag.number;
  if (b.body == b.wanted) return TakeMessage(in, tag.type, b.reader);
  return tag.type == WireType::kLength ? Step::kUnknown : Step::kBad;
}

template <typename Frame, typename Reader>
absl::StatusOr<Frame> DecodeBody(std::span<const ByteSpan> pieces, FrameBody kind,
                                 std::string_view what) {
  RETURN_IF_ERROR(CheckSize(pieces));
  BodyReader<Reader> reader;
  reader.wanted = static_cast<uint32_t>(kind);
  RETURN_IF_ERROR(Judge(TakeFields(Cursor(pieces), reader), what));
  if (reader.body != reader.wanted) return Undecodable(what);
  return Finish(std::move(reader.reader));
}

Step TakeField(Cursor& in, FieldTag tag, FramePeek& peek) {
  if (tag.number == kRequestId) return TakeU64(in, tag.type, peek.request_id);
  if (tag.number < kFirstBody || tag.number > kLastBody) return Step::kUnknown;
  if (tag.type != WireType::kLength) return Step::kBad;
  peek.body = tag.number;
  return Step::kUnknown;
}

}  // namespace

absl::StatusOr<FramePeek> PeekFrame(std::span<const ByteSpan> pieces) {
  FramePeek peek;
  RETURN_IF_ERROR(Judge(TakeFields(Cursor(pieces), peek), "frame"));
  return peek;
}

absl::StatusOr<PushFrame> DecodePushFrame(std::span<const ByteSpan> pieces) {
  return DecodeBody<PushFrame, PushFrame>(pieces, FrameBody::kPush, "push frame");
}
absl::StatusOr<PullFrame> DecodePullFrame(std::span<const ByteSpan> pieces) {
  return DecodeBody<PullFrame, PullFrame>(pieces, FrameBody::kPull, "pull frame");
}
absl::StatusOr<PullReplyFrame> DecodePullReplyFrame(std::span<const ByteSpan> pieces) {
  return DecodeBody<PullReplyFrame, ReplyReader>(pieces, FrameBody::kPullReply, "pull reply frame");
}
absl::StatusOr<PushFrame> DecodePushMessage(std::span<const ByteSpan> pieces) {
  return DecodeMessage<PushFrame, PushFrame>(pieces, "push request");
}
absl::StatusOr<PullFrame> DecodePullMessage(std::span<const ByteSpan> pieces) {
  return DecodeMessage<PullFrame, PullFrame>(pieces, "pull request");
}
absl::StatusOr<PullReplyFrame> DecodePullReplyMessage(std::span<const ByteSpan> pieces) {
  return DecodeMessage<PullReplyFrame, ReplyReader>(pieces, "pull reply");
}

}  // namespace syncline
