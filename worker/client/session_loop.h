// The threads and locks around ClientCore: what PsClient is made of.
#ifndef SYNCLINE_WORKER_CLIENT_SESSION_LOOP_H_
#define SYNCLINE_WORKER_CLIENT_SESSION_LOOP_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "common/thread/mutex.h"
#include "common/thread/thread.h"
#include "common/time_source.h"
#include "worker/client/client_core.h"
#include "worker/client/coordinator_api.h"
#include "worker/client/transport.h"

namespace syncline {

// Owns a ClientCore and drives it: calls of the API, events of the transport, time (a thread of its
// own) and the coordinator (another one, which renews the lease, so that a long computation is not
// taken for death). One mutex guards the core; completions run without it.
//
// Thread-safe.
class SessionLoop final : public TransportListener {
 public:
  // REQUIRES: all outlive this object.
  SessionLoop(const ClientOptions& options, CoordinatorApi& coordinator, Transport& transport,
              const TimeSource& time);
  ~SessionLoop() override { Stop(); }

  // Opens a session in place of the present one, if any. `rank` and `take_over` as in
  // OpenSessionCall. Blocks at most call_deadline.
  absl::Status Open(Rank rank, bool take_over);
  // Ends the session with `why` and joins the threads. Idempotent.
  void Stop();

  // Runs `call(core, now)` under the lock, then what it caused. Refuses with `done` while no
  // session is open.
  using CoreCall = std::function<void(ClientCore&, MonotonicTime)>;
  void Run(const CoreCall& call, const Done& done);
  // Starts a call and waits for its completion.
  absl::Status Await(const std::function<void(Done)>& start);
  // Wraps a user's `done`: runs on the executor, or notes an error for Flush when it is null.
  Done ForUser(Done done);
  // Waits for room for `bytes` more; at most call_deadline.
  absl::Status AwaitRoom(size_t bytes);
  // Waits until no operation (and no pull) is open; at most call_deadline.
  absl::Status AwaitIdle(bool pulls_too);
  // The error noted by ForUser since the last call.
  absl::Status TakeUnreported();
  // From now on answers of the coordinator about the session's end are expected, not errors.
  void SetLeaving() { leaving_ = true; }
  void EndSession(const absl::Status& why);
  void CountTick(uint64_t samples);

  bool is_open() const;
  // Of the present session; nullopt before the first.
  struct View {
    SessionId session;
    Token token;
    Rank rank;
    Clock clock;
    absl::Status ended;
  };
  std::optional<View> view() const;
  ClientStats stats() const;

  void OnConnected(ServerId server, uint64_t connection) override;
  void OnDisconnected(ServerId server, uint64_t connection, absl::Status why) override;
  void OnFrame(ServerId server, uint64_t connection, const InFrame& frame) override;

 private:
  using Completions = std::vector<ClientEffects::Completion>;

  absl::StatusOr<SessionGrant> Ask(const OpenSessionCall& call);
  void StartThreads();
  void TimerLoop();
  void CoordinatorLoop();
  void Heartbeat();
  void RefreshMap();
  SessionReport MakeReport() REQUIRES(mutex_);
  Completions Apply() REQUIRES(mutex_);
  void Complete(Completions completions) EXCLUDES(mutex_);

  const ClientOptions options_;
  CoordinatorApi& coordinator_;
  Transport& transport_;
  const TimeSource& time_;
  std::atomic<bool> leaving_{false};

  mutable Mutex mutex_;
  CondVar changed_;     // a completion, room, the end of a session
  CondVar timer_wake_;  // the timer thread has an earlier appointment
  CondVar beat_wake_;   // the coordinator thread has something to do
  std::unique_ptr<ClientCore> core_ GUARDED_BY(mutex_);
  std::chrono::milliseconds lease_ GUARDED_BY(mutex_){0};
  MonotonicTime timer_at_ GUARDED_BY(mutex_) = MonotonicTime::Max();
  MonotonicTime next_beat_ GUARDED_BY(mutex_);
  MonotonicTime next_map_ GUARDED_BY(mutex_);
  bool map_wanted_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  uint64_t sessions_ GUARDED_BY(mutex_) = 0;
  size_t completing_ GUARDED_BY(mutex_) = 0;  // completions taken from the core and not yet run
  absl::Status unreported_ GUARDED_BY(mutex_);
  // For the report.
  MonotonicTime last_tick_ GUARDED_BY(mutex_);
  double step_seconds_ GUARDED_BY(mutex_) = 0;
  double step_samples_ GUARDED_BY(mutex_) = 0;
  MonotonicTime last_report_ GUARDED_BY(mutex_);
  double last_wait_seconds_ GUARDED_BY(mutex_) = 0;

  Mutex open_mutex_;  // one Open at a time; taken before mutex_
  bool threads_started_ GUARDED_BY(open_mutex_) = false;
  Thread timer_thread_;
  Thread coordinator_thread_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_SESSION_LOOP_H_
