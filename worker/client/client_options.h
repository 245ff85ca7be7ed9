// What a client is told when it is made, and what it tells about itself.
#ifndef SYNCLINE_WORKER_CLIENT_CLIENT_OPTIONS_H_
#define SYNCLINE_WORKER_CLIENT_CLIENT_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"

#include "common/codec/codec.h"
#include "common/limits.h"
#include "common/pooling.h"
#include "common/types.h"

namespace syncline {

// Gets the result of an asynchronous call, exactly once.
using Done = std::function<void(absl::Status)>;
// Runs a piece of work, now or later, on any thread. Null: inline, on the thread that learned the
// result (one of the client's, or the caller's when the call is refused at once).
using CompletionExecutor = std::function<void(std::function<void()>)>;

// A job as a worker declares it: created when absent, compared when present.
struct JobOptions {
  std::string name = "default";
  uint32_t ranks = 0;  // declared ranks 0..ranks-1; 0: the job has no clocked workers
  bool reproducible = false;
  std::chrono::milliseconds start_timeout{0};  // 0: the coordinator's default
  std::chrono::milliseconds lease{0};          // 0: the coordinator's default
  // False: the job must exist; only its name is used.
  bool create = true;
};

struct ClientOptions {
  // --- What changes meaning.
  std::string coordinator;  // host:port or unix:path
  JobOptions job;
  bool clocked = true;           // false: evaluation, tools, notebooks; ticks are refused
  Rank rank = kNoRank;           // kNoRank: the coordinator picks the lowest free one
  bool take_over = false;        // fence a live session of that rank first
  bool allow_plaintext = false;  // to other hosts; loopback and unix sockets always may
  std::string client_name;       // for psctl and logs; empty: host and process id
  CodecId pull_codec = CodecId::kFp32;
  CodecId push_codec = CodecId::kFp32;

  // --- Time. Every wait of the client is bounded by one of these.
  // Every call (pull, push, tick, flush, leave, coordinator calls) fails with DEADLINE_EXCEEDED
  // after this. Includes the time that a pull is parked, and for a job's first pulls the wait for
  // its other ranks.
  std::chrono::milliseconds call_deadline = kDefaultCallDeadline;
  // An operation without a reply for this long is sent again under the same number.
  std::chrono::milliseconds reply_timeout = kDefaultReplyTimeout;
  std::chrono::milliseconds backoff_min = kReconnectBackoffMin;
  std::chrono::milliseconds backoff_max = kReconnectBackoffMax;

  // --- What changes speed and memory.
  // Bound of what is sent and unanswered; pushes and pulls have one each.
  size_t max_bytes_in_flight = kClientBytesInFlight;
  // Bound of what is accepted and not yet decided. At the bound PushAsync waits (and then fails
  // with RESOURCE_EXHAUSTED).
  size_t max_queued_bytes = kClientQueuedBytes;

  // True: no thread, socket or channel exists until the first call, which then opens the session:
  // the client may be made before fork(). False: Connect opens the session and reports its errors.
  bool lazy = false;

  CompletionExecutor executor;  // for Done; null: inline
};

struct PullOptions {
  // Evaluation: makes no rows and counts as no training access.
  bool read_only = false;
  // The clock in which the rows will be used; unset: the present one. A later one makes the pull a
  // prefetch: invoked now, for that clock (C4).
  std::optional<Clock> clock = std::nullopt;
};

enum class SessionState {
  kUnopened,  // lazy, nothing happened yet
  kLive,
  kFenced,   // the lease expired or another client took the rank over; Rejoin
  kLost,     // a server restarted without the session's state; its updates there are gone
  kUnknown,  // the cluster does not know the session
  kFailed,   // the job failed
  kLeft,
};

// Counted since the session was opened.
struct ClientStats {
  uint64_t bytes_sent = 0;  // of bulk data: keys and values
  uint64_t bytes_received = 0;
  uint64_t frames_sent = 0;
  uint64_t frames_received = 0;
  uint64_t resends = 0;  // operations sent again, for whatever reason
  uint64_t reconnects = 0;
  uint64_t rows_pulled = 0;  // after removing duplicates
  uint64_t rows_pushed = 0;
  uint64_t samples = 0;  // as told in ticks
  uint64_t ticks = 0;
  uint64_t late_ticks = 0;
  // Time during which at least one pull for the present clock was outstanding: parked reads, and
  // the trip itself.
  double pull_wait_seconds = 0;
  // Reader's clock minus the slot's min clock, over pulled parts (0 when the reader is behind).
  uint64_t staleness_parts = 0;
  uint64_t staleness_sum = 0;
  int64_t staleness_max = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_CLIENT_OPTIONS_H_
