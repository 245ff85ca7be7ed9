// Operations of a session (pushes, ticks, leaves) from the moment they are numbered until every
// slot has decided them.
#ifndef SYNCLINE_WORKER_CLIENT_OPERATIONS_H_
#define SYNCLINE_WORKER_CLIENT_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"

#include "common/time_source.h"
#include "common/types.h"
#include "worker/client/client_options.h"
#include "worker/client/push_plan.h"

namespace syncline {

enum class CallKind { kPush, kTick, kLeave, kPull, kPrefetch };

// One call of the API as its caller sees it.
struct Call {
  CallKind kind = CallKind::kPush;
  std::string what;  // "push to table user"
  Done done;
  MonotonicTime deadline;
  size_t open_parts = 0;
  absl::Status first_error;
  bool completed = false;  // `done` was handed out; memory for results is no longer ours
};

enum class OperationKind { kPush, kTick, kLeave };

// Operations that may share a frame; owns their bytes.
struct Bundle {
  uint64_t id = 0;  // ascending in the order of issue
  OperationKind kind = OperationKind::kPush;
  std::shared_ptr<Call> call;
  Clock clock;  // in which it was issued
  uint64_t samples = 0;
  // Pushes.
  TableId table;
  uint32_t codec = 0;
  PushContent content;
  // Ticks.
  Clock new_clock;
  std::string reader_position;
};

// A bundle's part in one slot, under its number.
struct Operation {
  enum class State {
    kWaiting,   // to be sent (again) when its slot's window has room and nothing blocks it
    kQueued,    // in its server's queue
    kInFlight,  // sent under `request_id`
    kDecided,
  };
  std::shared_ptr<const Bundle> bundle;
  const PushPartPlan* part = nullptr;  // pushes; within the bundle
  SlotId slot;
  Sequence sequence;
  State state = State::kWaiting;
  uint64_t request_id = 0;
  size_t bytes = 0;
  // Given up: only uses up its number from now on (S3). Its call has its answer already.
  bool cancelled = false;
  bool sent = false;  // at least once
};

using OperationPtr = std::shared_ptr<Operation>;

// What the client knows about one slot.
struct SlotState {
  Incarnation incarnation;
  Sequence last;                       // newest number given out
  Sequence durable;                    // watermark that the server told
  Sequence told;                       // highest number whose outcome is known
  std::deque<OperationPtr> undecided;  // ascending; front is the oldest without an outcome
  bool resuming = false;
  bool blocked = false;  // backing off; a timer unblocks it
  std::chrono::nanoseconds backoff{0};
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_OPERATIONS_H_
