#include <bit>
#include <string>

#include "common/wire/cursor.h"
#include "common/wire/frame_codec.h"
#include "common/wire/outcome_proto.h"

namespace syncline {
namespace {

constexpr size_t VarintBytes(uint64_t value) {
  // 7 bits a byte: ceil(bits / 7), at least 1.
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

constexpr uint64_t Tag(uint32_t field, WireType type) {
  return (uint64_t{field} << 3) | static_cast<uint64_t>(type);
}

// The two sinks take the same calls; the first adds up what the second writes, because a nested
// message is preceded by its length.
class SizeSink {
 public:
  void Raw(uint64_t varint) { size_ += VarintBytes(varint); }
  void Fixed(uint64_t) { size_ += sizeof(uint64_t); }
  void Bytes(const ByteView& view) { size_ += view.size(); }
  void Copy(ByteSpan bytes) { size_ += bytes.size(); }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
};

class WriteSink {
 public:
  explicit WriteSink(EncodedFrame& out) : out_(out) {}
  void Raw(uint64_t varint) {
    for (; varint >= 0x80; varint >>= 7) out_.AppendByte(static_cast<uint8_t>(varint | 0x80));
    out_.AppendByte(static_cast<uint8_t>(varint));
  }
  void Fixed(uint64_t value) {
    for (int i = 0; i < 8; ++i) out_.AppendByte(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Bytes(const ByteView& view) { out_.AppendView(view); }
  void Copy(ByteSpan bytes) { out_.AppendCopy(bytes); }

 private:
  EncodedFrame& out_;
};

template <typename Sink>
void Number(Sink& sink, uint32_t field, uint64_t value) {
  if (value == 0) return;
  sink.Raw(Tag(field, WireType::kVarint));
  sink.Raw(value);
}

template <typename Sink>
void Signed(Sink& sink, uint32_t field, int64_t value) {
  Number(sink, field, static_cast<uint64_t>(value));
}

template <typename Sink>
void Fixed64(Sink& sink, uint32_t field, uint64_t value) {
  if (value == 0) return;
  sink.Raw(Tag(field, WireType::kFixed64));
  sink.Fixed(value);
}

template <typename Sink>
void Bytes(Sink& sink, uint32_t field, const ByteView& view) {
  if (view.empty()) return;
  sink.Raw(Tag(field, WireType::kLength));
  sink.Raw(view.size());
  sink.Bytes(view);
}

template <typename Sink, typename T>
void Message(Sink& sink, uint32_t field, const T& message) {
  SizeSink size;
  Fields(size, message);
  sink.Raw(Tag(field, WireType::kLength));
  sink.Raw(size.size());
  Fields(sink, message);
}

// Fields(): each message's fields in ascending order of number, as generated code writes them.

template <typename Sink>
void Fields(Sink& sink, const OperationHeader& h) {
  Fixed64(sink, 1, h.session.high);
  Fixed64(sink, 2, h.session.low);
  Fixed64(sink, 3, h.token.value());
  Number(sink, 4, h.epoch.value());
  Signed(sink, 5, h.clock.value());
}

template <typename Sink>
void Fields(Sink& sink, const PushPart& p) {
  Number(sink, 1, p.slot.value());
  Number(sink, 2, p.incarnation.value());
  Number(sink, 3, p.sequence.value());
  Bytes(sink, 4, p.keys);
  Bytes(sink, 5, p.values);
  Bytes(sink, 6, p.bag_offsets);
  Bytes(sink, 7, p.bag_ids);
  Number(sink, 8, static_cast<uint64_t>(p.placeholder));
}

template <typename Sink>
void Fields(Sink& sink, const PushFrame& f) {
  Message(sink, 1, f.header);
  Number(sink, 2, f.table.value());
  Number(sink, 3, f.codec);
  Number(sink, 4, f.samples);
  for (const PushPart& part : f.parts) Message(sink, 5, part);
  Number(sink, 6, f.bag_count);
  Bytes(sink, 7, f.bag_values);
}

template <typename Sink>
void Fields(Sink& sink, const PullPart& p) {
  Number(sink, 1, p.slot.value());
  Number(sink, 2, p.incarnation.value());
  Number(sink, 3, p.sequence.value());
  Bytes(sink, 4, p.keys);
  Bytes(sink, 5, p.bag_offsets);
  Bytes(sink, 6, p.bag_ids);
}

template <typename Sink>
void Fields(Sink& sink, const PullFrame& f) {
  Message(sink, 1, f.header);
  Number(sink, 2, f.table.value());
  Number(sink, 3, f.codec);
  Number(sink, 4, f.read_only ? 1 : 0);
  Number(sink, 5, f.deadline_ms);
  for (const PullPart& part : f.parts) Message(sink, 6, part);
  Number(sink, 7, f.bag_count);
}

template <typename Sink>
void Fields(Sink& sink, const PullPartReply& p) {
  Number(sink, 1, p.slot.value());
  Number(sink, 2, p.incarnation.value());
  Number(sink, 3, p.sequence.value());
  Signed(sink, 4, p.min_clock.value());
  Bytes(sink, 5, p.values);
}

template <typename Sink>
void Fields(Sink& sink, const PullReplyFrame& f) {
  for (const PullPartReply& part : f.parts) Message(sink, 1, part);
  Bytes(sink, 2, f.bag_values);
  Number(sink, 3, f.epoch.value());
  Number(sink, 4, f.checkpoint);
  if (!f.error.ok()) {
    // Short (kMaxErrorMessageBytes) and rare: by generated code.
    const std::string error = ToProto(f.error).SerializeAsString();
    sink.Raw(Tag(5, WireType::kLength));
    sink.Raw(error.size());
    sink.Copy(ByteSpan(reinterpret_cast<const uint8_t*>(error.data()), error.size()));
  }
  Number(sink, 6, f.error_slot.value());
  Number(sink, 7, f.error_incarnation.value());
}

template <typename T>
EncodedFrame Encode(uint64_t request_id, uint32_t field, const T& body) {
  EncodedFrame out;
  out.ReservePieces(2 * body.parts.size() + 2);
  WriteSink sink(out);
  Number(sink, 1, request_id);
  Message(sink, field, body);
  return out;
}

template <typename T>
EncodedFrame EncodeBare(const T& body) {
  EncodedFrame out;
  out.ReservePieces(2 * body.parts.size() + 2);
  WriteSink sink(out);
  Fields(sink, body);
  return out;
}

}  // namespace

EncodedFrame EncodeFrame(uint64_t request_id, const PushFrame& push) {
  return Encode(request_id, static_cast<uint32_t>(FrameBody::kPush), push);
}
EncodedFrame EncodeFrame(uint64_t request_id, const PullFrame& pull) {
  return Encode(request_id, static_cast<uint32_t>(FrameBody::kPull), pull);
}
EncodedFrame EncodeFrame(uint64_t request_id, const PullReplyFrame& reply) {
  return Encode(request_id, static_cast<uint32_t>(FrameBody::kPullReply), reply);
}
EncodedFrame EncodeMessage(const PushFrame& push) { return EncodeBare(push); }
EncodedFrame EncodeMessage(const PullFrame& pull) { return EncodeBare(pull); }
EncodedFrame EncodeMessage(const PullReplyFrame& reply) { return EncodeBare(reply); }

}  // namespace syncline
