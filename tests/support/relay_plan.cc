#include "tests/support/relay_plan.h"

#include <algorithm>

#include "common/hash.h"
#include "common/wire/frame_codec.h"
#include "proto/parameter_server.pb.h"

namespace syncline {
namespace {

// Field numbers of Frame's body.
constexpr uint32_t kHello = v1::Frame::kHelloFieldNumber;
constexpr uint32_t kHelloReply = v1::Frame::kHelloReplyFieldNumber;
constexpr uint32_t kPushReply = v1::Frame::kPushReplyFieldNumber;

bool IsFinal(v1::Outcome outcome) { return outcome >= v1::OK && outcome < 16; }

std::chrono::nanoseconds DrawHold(SplitMix64& random, const FrameFaults& faults) {
  return std::chrono::nanoseconds(
      random.Below(static_cast<uint64_t>(std::max<int64_t>(1, faults.hold_max.count()))));
}

SessionId SessionOf(const ReceivedBytes& hello) {
  v1::Frame frame;
  if (!hello.ParseTo(frame).ok()) return {};
  return {frame.hello().header().session_high(), frame.hello().header().session_low()};
}

}  // namespace

void FrameJudge::SetPlan(const RelayPlan& plan) {
  MutexLock lock(mutex_);
  plan_ = plan;
}

FrameFate FrameJudge::Judge(StreamIdentity& stream, Way way, const grpc::ByteBuffer& frame) {
  const ReceivedBytes bytes(frame);
  const auto peek = PeekFrame(bytes.pieces());
  const uint32_t body = peek.ok() ? peek->body : 0;

  MutexLock lock(mutex_);
  const int w = static_cast<int>(way);
  ++counts_.frames[w];
  const uint64_t place = stream.frames[w]++;
  if (body == kHello) stream.session = SessionOf(bytes);
  if (body == kHello || body == kHelloReply) return {};
  SplitMix64 random(Mix64(seed_ + stream.number) + 2 * place + static_cast<uint64_t>(w));
  FrameFate fate = Draw(random, way == Way::kUp ? plan_.up : plan_.down, way);
  if (plan_.lose_first_push_reply > 0 && !fate.drop) {
    if (peek.ok() && peek->Is(FrameBody::kPush)) SeePush(stream, bytes, fate.duplicate);
    if (body == kPushReply && LoseReply(stream, bytes)) {
      fate.drop = true;
      ++counts_.dropped[w];
    }
  }
  return fate;
}

FrameFate FrameJudge::Draw(SplitMix64& random, const FrameFaults& faults, Way way) {
  const int w = static_cast<int>(way);
  FrameFate fate;
  fate.drop = random.Uniform() < faults.drop;
  if (fate.drop) {
    ++counts_.dropped[w];
    return fate;
  }
  if (random.Uniform() < faults.duplicate) {
    fate.duplicate = true;
    fate.duplicate_hold = DrawHold(random, faults);
    ++counts_.duplicated[w];
  }
  if (random.Uniform() < faults.delay) {
    fate.hold = DrawHold(random, faults);
    ++counts_.delayed[w];
  } else if (random.Uniform() < faults.reorder) {
    fate.hold = DrawHold(random, faults);
    fate.keep_order = false;
    ++counts_.reordered[w];
  }
  return fate;
}

void FrameJudge::SeePush(const StreamIdentity& stream, const ReceivedBytes& bytes, bool twice) {
  const auto push = DecodePushFrame(bytes.pieces());
  if (!push.ok()) return;
  bool repeated = false;
  for (const PushPart& part : push->parts) {
    repeated |= !sent_.insert({stream.session, part.slot.value(), part.sequence.value()}).second;
  }
  counts_.repeated_pushes += (repeated ? 1 : 0) + (twice ? 1 : 0);
}

bool FrameJudge::LoseReply(const StreamIdentity& stream, const ReceivedBytes& bytes) {
  v1::Frame frame;
  if (!bytes.ParseTo(frame).ok()) return false;
  bool first = false;
  bool applied = false;
  uint64_t draw = seed_;
  for (const v1::PartOutcome& part : frame.push_reply().parts()) {
    if (!IsFinal(part.outcome())) continue;
    const PushId id{stream.session, part.slot(), part.sequence()};
    if (!decided_.insert(id).second) continue;
    first = true;
    applied |= part.outcome() == v1::OK;
    draw = Mix64(Mix64(draw ^ id.session.low) + id.slot) + id.sequence;
  }
  if (!first || !applied) return false;
  ++counts_.first_push_replies;
  if (SplitMix64(draw).Uniform() >= plan_.lose_first_push_reply) return false;
  ++counts_.first_push_replies_lost;
  return true;
}

void FrameJudge::CountStream() {
  MutexLock lock(mutex_);
  ++counts_.streams;
}

void FrameJudge::CountCut() {
  MutexLock lock(mutex_);
  ++counts_.cuts;
}

void FrameJudge::CountUnary() {
  MutexLock lock(mutex_);
  ++counts_.unary_calls;
}

RelayCounts FrameJudge::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace syncline
