// Inner types of ClientCore, for its three source files alone.
#ifndef SYNCLINE_WORKER_CLIENT_CLIENT_CORE_STATE_H_
#define SYNCLINE_WORKER_CLIENT_CLIENT_CORE_STATE_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/client/client_core.h"

namespace syncline {

// Frames without a reply per server; together below kMaxFramesInFlightPerStream, so that the server
// never stops reading operations because of parked pulls. Prefetches may wait for this client's own
// tick: they never take all the places of pulls.
inline constexpr size_t kMaxOperationFrames = 32;
inline constexpr size_t kMaxPullFrames = 24;
inline constexpr size_t kMaxPrefetchFrames = 12;
static_assert(kMaxOperationFrames + kMaxPullFrames < kMaxFramesInFlightPerStream);

// A frame of operations (or a Resume) without a reply.
struct ClientCore::InFlight {
  uint64_t request_id = 0;
  std::vector<OperationPtr> operations;
  std::vector<SlotId> resumed;  // of a Resume
  size_t bytes = 0;
  MonotonicTime sent_at;
};

struct ClientCore::PullCall {
  PullCall(std::shared_ptr<Call> c, PullPlan p) : call(std::move(c)), plan(std::move(p)) {}

  std::shared_ptr<Call> call;
  PullPlan plan;
  Clock clock;
  bool read_only = false;
  bool bags = false;
  size_t open_requests = 0;
  std::vector<PullRequestPtr> requests;  // of bags: their sums are needed at the end
  ServerId asked_last;                   // of those that did not answer for good
};

// One frame's worth of a pull; asked again until it is answered.
struct ClientCore::PullRequest {
  std::shared_ptr<PullCall> pull;
  PullUnit unit;
  uint64_t request_id = 0;  // 0: not in flight
  MonotonicTime sent_at;
  std::chrono::nanoseconds backoff{0};
  size_t bytes = 0;       // in flight
  bool prefetch = false;  // counted as such while in flight
};

struct ClientCore::Server {
  enum class State { kIdle, kBackingOff, kConnecting, kConnected };
  ServerId id;
  std::string endpoint;
  State state = State::kIdle;
  uint64_t connection = 0;
  std::chrono::nanoseconds backoff{0};
  MonotonicTime last_received;
  absl::Status last_error;
  std::deque<OperationPtr> ready;
  std::deque<PullRequestPtr> pulls;
  std::deque<PullRequestPtr> prefetches;
  std::map<uint64_t, InFlight> frames;                 // by request id: by time sent
  std::map<uint64_t, PullRequestPtr> pulls_in_flight;  // the same
  size_t prefetches_in_flight = 0;
  std::vector<SlotId> resume;  // slots that wait for a Resume to be sent

  bool HasWork() const {
    return !ready.empty() || !pulls.empty() || !prefetches.empty() || !resume.empty();
  }
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_CLIENT_CORE_STATE_H_
