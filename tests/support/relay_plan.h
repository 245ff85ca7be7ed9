// What a FrameRelay does to each frame, decided by seed; and what it has seen of pushes.
#ifndef SYNCLINE_TESTS_SUPPORT_RELAY_PLAN_H_
#define SYNCLINE_TESTS_SUPPORT_RELAY_PLAN_H_

#include <chrono>
#include <compare>
#include <cstdint>
#include <set>

#include "common/net/byte_buffer.h"
#include "common/random.h"
#include "common/thread/mutex.h"
#include "common/types.h"
#include "tests/support/tcp_link.h"

namespace syncline {

// Of the frames that go one way. Each fault is drawn by itself; drop wins.
struct FrameFaults {
  double drop = 0;
  double duplicate = 0;  // the copy follows after a hold
  double delay = 0;      // a hold, for this frame and all that follow it
  double reorder = 0;    // a hold for this frame alone: others overtake it
  std::chrono::nanoseconds hold_max = std::chrono::milliseconds(20);  // uniform below
};

// Hello and its reply are never touched: whoever loses a stream's first frame has lost the stream,
// and cuts do that.
struct RelayPlan {
  FrameFaults up = {};
  FrameFaults down = {};
  // Of the pushes that a server decided: the first reply that says so is lost.
  double lose_first_push_reply = 0;
};

struct RelayCounts {
  uint64_t streams = 0;
  uint64_t cuts = 0;
  uint64_t unary_calls = 0;
  // By Way.
  uint64_t frames[2] = {0, 0};  // received
  uint64_t dropped[2] = {0, 0};
  uint64_t duplicated[2] = {0, 0};
  uint64_t delayed[2] = {0, 0};
  uint64_t reordered[2] = {0, 0};
  // Push frames, counted while lose_first_push_reply > 0.
  uint64_t first_push_replies = 0;
  uint64_t first_push_replies_lost = 0;  // after the push was applied
  uint64_t repeated_pushes = 0;          // passed on to the server once more
};

struct FrameFate {
  bool drop = false;
  std::chrono::nanoseconds hold{0};
  bool keep_order = true;
  bool duplicate = false;
  std::chrono::nanoseconds duplicate_hold{0};
};

// What the relay knows of one stream.
struct StreamIdentity {
  uint64_t number = 0;  // of the relay's streams
  SessionId session;    // from its Hello
  uint64_t frames[2] = {0, 0};
};

// Draws fates: those of frames from (seed, stream, way, place in it), those of first replies from
// (seed, session, slot, sequence). Remembers every push it saw, for as long as it lives.
// Thread-safe; one stream's frames of one way must come in order.
class FrameJudge {
 public:
  explicit FrameJudge(uint64_t seed) : seed_(seed) {}

  void SetPlan(const RelayPlan& plan);
  FrameFate Judge(StreamIdentity& stream, Way way, const grpc::ByteBuffer& frame);

  void CountStream();
  void CountCut();
  void CountUnary();
  RelayCounts counts() const;

 private:
  struct PushId {
    SessionId session;
    uint32_t slot = 0;
    uint64_t sequence = 0;
    auto operator<=>(const PushId&) const = default;
  };

  FrameFate Draw(SplitMix64& random, const FrameFaults& faults, Way way) REQUIRES(mutex_);
  // `twice`: the relay itself is about to pass it on twice.
  void SeePush(const StreamIdentity& stream, const ReceivedBytes& bytes, bool twice)
      REQUIRES(mutex_);
  bool LoseReply(const StreamIdentity& stream, const ReceivedBytes& bytes) REQUIRES(mutex_);

  const uint64_t seed_;
  mutable Mutex mutex_;
  RelayPlan plan_ GUARDED_BY(mutex_);
  RelayCounts counts_ GUARDED_BY(mutex_);
  std::set<PushId> sent_ GUARDED_BY(mutex_);
  std::set<PushId> decided_ GUARDED_BY(mutex_);
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_RELAY_PLAN_H_
