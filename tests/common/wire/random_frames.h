// Random bulk messages that are consistent in themselves, and the independent way between generated
// messages and the structs of common/wire/frames.h.
#ifndef SYNCLINE_TESTS_COMMON_WIRE_RANDOM_FRAMES_H_
#define SYNCLINE_TESTS_COMMON_WIRE_RANDOM_FRAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/wire/frame_codec.h"
#include "common/wire/frames.h"
#include "common/wire/outcome_proto.h"
#include "proto/parameter_server.pb.h"

namespace syncline {

inline ByteSpan SpanOf(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}
inline ByteView ViewOf(const std::string& s) { return ByteView(SpanOf(s)); }
inline std::string TextOf(const ByteView& view) {
  std::string out(view.size(), '\0');
  view.CopyTo(0, {reinterpret_cast<uint8_t*>(out.data()), out.size()});
  return out;
}
inline std::string TextOf(const EncodedFrame& frame) {
  const std::vector<uint8_t> bytes = frame.Flatten();
  return {bytes.begin(), bytes.end()};
}

// Cuts bytes into pieces of random sizes, some of them empty or of one byte.
inline std::vector<ByteSpan> RandomCuts(ByteSpan bytes, SplitMix64& random) {
  std::vector<ByteSpan> pieces;
  const uint64_t widest = uint64_t{1} << random.Below(12);
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t n = std::min<size_t>(random.Below(widest + 1), bytes.size() - at);
    pieces.push_back(bytes.subspan(at, n));
    at += n;
  }
  return pieces;
}
inline std::vector<ByteSpan> OneBytePieces(ByteSpan bytes) {
  std::vector<ByteSpan> pieces;
  for (size_t i = 0; i < bytes.size(); ++i) pieces.push_back(bytes.subspan(i, 1));
  return pieces;
}

class RandomFrames {
 public:
  explicit RandomFrames(uint64_t seed) : random_(seed) {}

  SplitMix64& random() { return random_; }
  bool Chance(uint64_t one_in) { return random_.Below(one_in) == 0; }
  // Of every magnitude, 0 and the greatest included.
  uint64_t Number() { return Chance(4) ? 0 : random_() >> random_.Below(64); }
  int64_t Signed() {
    const auto n = static_cast<int64_t>(Number());
    return Chance(2) ? n : ~n;
  }
  std::string Bytes(size_t n) {
    std::string s(n, '\0');
    for (char& c : s) c = static_cast<char>(random_());
    return s;
  }

  void Header(v1::OperationHeader& h) {
    if (Chance(4)) return;
    h.set_session_high(Number());
    h.set_session_low(Number());
    h.set_token(Number());
    h.set_epoch(Number());
    h.set_clock(Signed());
  }

  v1::PushRequest Push() {
    v1::PushRequest push;
    Header(*push.mutable_header());
    push.set_table(static_cast<uint32_t>(Number()));
    push.set_codec(static_cast<uint32_t>(Number()));
    push.set_samples(Number());
    const bool bags = Chance(3);
    if (bags) {
      push.set_bag_count(1 + static_cast<uint32_t>(random_.Below(9)));
      push.set_bag_values(Bytes(push.bag_count() * random_.Below(200)));
    }
    for (uint64_t n = random_.Below(6); n > 0; --n) {
      v1::PushPart& part = *push.add_parts();
      Place(part);
      if (Chance(5)) {
        part.set_placeholder(static_cast<v1::Outcome>(1 + random_.Below(5)));
        continue;
      }
      const size_t keys = random_.Below(20);
      part.set_keys(Bytes(keys * 8));
      if (bags) {
        Bags(part, keys, push.bag_count());
      } else {
        part.set_values(Bytes(keys * random_.Below(300)));
      }
    }
    return push;
  }

  v1::PullRequest Pull() {
    v1::PullRequest pull;
    Header(*pull.mutable_header());
    pull.set_table(static_cast<uint32_t>(Number()));
    pull.set_codec(static_cast<uint32_t>(Number()));
    pull.set_read_only(Chance(2));
    pull.set_deadline_ms(static_cast<uint32_t>(Number()));
    if (Chance(3)) pull.set_bag_count(1 + static_cast<uint32_t>(random_.Below(9)));
    for (uint64_t n = random_.Below(6); n > 0; --n) {
      v1::PullPart& part = *pull.add_parts();
      Place(part);
      const size_t keys = random_.Below(300);
      part.set_keys(Bytes(keys * 8));
      if (pull.bag_count() > 0) Bags(part, keys, pull.bag_count());
    }
    return pull;
  }

  v1::PullReply Reply() {
    v1::PullReply reply;
    if (Chance(4)) {
      reply.mutable_error()->set_code(1 + static_cast<int>(random_.Below(16)));
      reply.mutable_error()->set_detail(static_cast<v1::ErrorDetail>(random_.Below(17)));
      reply.mutable_error()->set_message(std::string(random_.Below(1500), 'e'));
      reply.set_slot(static_cast<uint32_t>(Number()));
      reply.set_incarnation(Number());
    } else {
      for (uint64_t n = random_.Below(6); n > 0; --n) {
        v1::PullPartReply& part = *reply.add_parts();
        Place(part);
        part.set_min_clock(Signed());
        part.set_values(Bytes(random_.Below(3000)));
      }
      if (Chance(3)) reply.set_bag_values(Bytes(random_.Below(3000)));
    }
    reply.set_epoch(Number());
    reply.set_checkpoint(Number());
    return reply;
  }

 private:
  template <typename Part>
  void Place(Part& part) {
    part.set_slot(static_cast<uint32_t>(Number()));
    part.set_incarnation(Number());
    part.set_sequence(Number());
  }

  template <typename Part>
  void Bags(Part& part, size_t keys, uint32_t bag_count) {
    if (keys == 0 && Chance(2)) return;
    std::string offsets;
    std::string ids;
    AppendU32(offsets, 0);
    for (size_t k = 0; k < keys; ++k) {
      for (uint64_t n = random_.Below(4); n > 0; --n) {
        AppendU32(ids, static_cast<uint32_t>(random_.Below(bag_count)));
      }
      AppendU32(offsets, static_cast<uint32_t>(ids.size() / 4));
    }
    part.set_bag_offsets(offsets);
    part.set_bag_ids(ids);
  }

  static void AppendU32(std::string& out, uint32_t n) {
    for (int i = 0; i < 4; ++i) out += static_cast<char>(n >> (8 * i));
  }

  SplitMix64 random_;
};

// --- Generated message to struct (views into the message) and back, field by field.

template <typename Part, typename Proto>
void ReadPlace(const Proto& from, Part& to) {
  to.slot = SlotId(from.slot());
  to.incarnation = Incarnation(from.incarnation());
  to.sequence = Sequence(from.sequence());
}
template <typename Part, typename Proto>
void WritePlace(const Part& from, Proto& to) {
  to.set_slot(from.slot.value());
  to.set_incarnation(from.incarnation.value());
  to.set_sequence(from.sequence.value());
}

inline PushFrame StructOf(const v1::PushRequest& m) {
  PushFrame f;
  f.header = FromProto(m.header());
  f.table = TableId(m.table());
  f.codec = m.codec();
  f.samples = m.samples();
  f.bag_count = m.bag_count();
  f.bag_values = ViewOf(m.bag_values());
  for (const v1::PushPart& part : m.parts()) {
    PushPart& p = f.parts.emplace_back();
    ReadPlace(part, p);
    p.keys = ViewOf(part.keys());
    p.values = ViewOf(part.values());
    p.bag_offsets = ViewOf(part.bag_offsets());
    p.bag_ids = ViewOf(part.bag_ids());
    p.placeholder = static_cast<Outcome>(part.placeholder());
  }
  return f;
}
inline v1::PushRequest MessageOf(const PushFrame& f) {
  v1::PushRequest m;
  *m.mutable_header() = ToProto(f.header);
  m.set_table(f.table.value());
  m.set_codec(f.codec);
  m.set_samples(f.samples);
  m.set_bag_count(f.bag_count);
  m.set_bag_values(TextOf(f.bag_values));
  for (const PushPart& p : f.parts) {
    v1::PushPart& part = *m.add_parts();
    WritePlace(p, part);
    part.set_keys(TextOf(p.keys));
    part.set_values(TextOf(p.values));
    part.set_bag_offsets(TextOf(p.bag_offsets));
    part.set_bag_ids(TextOf(p.bag_ids));
    part.set_placeholder(static_cast<v1::Outcome>(p.placeholder));
  }
  return m;
}

inline PullFrame StructOf(const v1::PullRequest& m) {
  PullFrame f;
  f.header = FromProto(m.header());
  f.table = TableId(m.table());
  f.codec = m.codec();
  f.read_only = m.read_only();
  f.deadline_ms = m.deadline_ms();
  f.bag_count = m.bag_count();
  for (const v1::PullPart& part : m.parts()) {
    PullPart& p = f.parts.emplace_back();
    ReadPlace(part, p);
    p.keys = ViewOf(part.keys());
    p.bag_offsets = ViewOf(part.bag_offsets());
    p.bag_ids = ViewOf(part.bag_ids());
  }
  return f;
}
inline v1::PullRequest MessageOf(const PullFrame& f) {
  v1::PullRequest m;
  *m.mutable_header() = ToProto(f.header);
  m.set_table(f.table.value());
  m.set_codec(f.codec);
  m.set_read_only(f.read_only);
  m.set_deadline_ms(f.deadline_ms);
  m.set_bag_count(f.bag_count);
  for (const PullPart& p : f.parts) {
    v1::PullPart& part = *m.add_parts();
    WritePlace(p, part);
    part.set_keys(TextOf(p.keys));
    part.set_bag_offsets(TextOf(p.bag_offsets));
    part.set_bag_ids(TextOf(p.bag_ids));
  }
  return m;
}

inline PullReplyFrame StructOf(const v1::PullReply& m) {
  PullReplyFrame f;
  for (const v1::PullPartReply& part : m.parts()) {
    PullPartReply& p = f.parts.emplace_back();
    ReadPlace(part, p);
    p.min_clock = Clock(part.min_clock());
    p.values = ViewOf(part.values());
  }
  f.bag_values = ViewOf(m.bag_values());
  f.epoch = Epoch(m.epoch());
  f.checkpoint = m.checkpoint();
  f.error = FromProto(m.error());
  f.error_slot = SlotId(m.slot());
  f.error_incarnation = Incarnation(m.incarnation());
  return f;
}
inline v1::PullReply MessageOf(const PullReplyFrame& f) {
  v1::PullReply m;
  for (const PullPartReply& p : f.parts) {
    v1::PullPartReply& part = *m.add_parts();
    WritePlace(p, part);
    part.set_min_clock(p.min_clock.value());
    part.set_values(TextOf(p.values));
  }
  m.set_bag_values(TextOf(f.bag_values));
  m.set_epoch(f.epoch.value());
  m.set_checkpoint(f.checkpoint);
  if (!f.error.ok()) *m.mutable_error() = ToProto(f.error);
  m.set_slot(f.error_slot.value());
  m.set_incarnation(f.error_incarnation.value());
  return m;
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_COMMON_WIRE_RANDOM_FRAMES_H_
