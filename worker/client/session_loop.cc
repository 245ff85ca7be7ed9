#include "worker/client/session_loop.h"

#include <algorithm>
#include <utility>

#include "common/random.h"
#include "common/status/status.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;

// Set while a `done` runs on the inline executor: a blocking call there would wait for itself.
thread_local bool in_inline_done = false;

// Between two questions for the map.
constexpr milliseconds kMapRefreshInterval{50};
constexpr milliseconds kMinBeatInterval{50};
constexpr milliseconds kMapDeadline{1'000};
// Weight of the newest step in the moving mean.
constexpr double kStepWeight = 0.1;

double Seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>(d).count(); }

absl::Status WouldWaitForItself() {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                    "a blocking call inside a completion on the inline executor would wait for "
                    "itself; give the client an executor, or use the asynchronous call");
}

// A copy that shares nothing. Statuses count their references inside a library that is not compiled
// with ThreadSanitizer, which then takes the last release for a race; so none is shared by threads.
absl::Status Detached(const absl::Status& status) {
  return status.ok() ? absl::OkStatus()
                     : MakeStatus(status.code(), DetailOf(status), MessageOf(status));
}

// The coordinator's verdict on a session, with the code that ps_client.h names.
absl::Status AsEnd(const absl::Status& status) {
  const Detail detail = DetailOf(status);
  const auto code = detail == Detail::kSessionLost ? absl::StatusCode::kDataLoss
                    : detail == Detail::kJobFailed ? absl::StatusCode::kAborted
                                                   : absl::StatusCode::kNotFound;
  return MakeStatus(code, detail, MessageOf(status));
}

bool IsOver(const absl::Status& status) {
  const Detail detail = DetailOf(status);
  return detail == Detail::kFenced || detail == Detail::kSessionUnknown ||
         detail == Detail::kSessionLost || detail == Detail::kJobFailed;
}

}  // namespace

SessionLoop::SessionLoop(const ClientOptions& options, CoordinatorApi& coordinator,
                         Transport& transport, const TimeSource& time)
    : options_(options), coordinator_(coordinator), transport_(transport), time_(time) {}

// --- Sessions.

absl::StatusOr<SessionGrant> SessionLoop::Ask(const OpenSessionCall& call) {
  const MonotonicTime deadline = time_.Now() + options_.call_deadline;
  std::chrono::nanoseconds backoff = options_.backoff_min;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - time_.Now());
    absl::StatusOr<SessionGrant> grant =
        coordinator_.OpenSession(call, std::max(left, milliseconds(1)));
    // UNAVAILABLE: servers are missing, or the coordinator starts. The nonce makes it one session.
    if (grant.ok() || grant.status().code() != absl::StatusCode::kUnavailable) return grant;
    MutexLock lock(mutex_);
    if (stopping_ || time_.Now() + backoff >= deadline) return grant;
    changed_.WaitFor(mutex_, backoff);
    backoff = std::min<std::chrono::nanoseconds>(backoff * 2, options_.backoff_max);
  }
}

absl::Status SessionLoop::Open(Rank rank, bool take_over) {
  MutexLock open_lock(open_mutex_);
  if (in_inline_done) return WouldWaitForItself();
  if (is_open()) return absl::OkStatus();
  const JobOptions& job = options_.job;
  if (job.create) {
    RETURN_IF_ERROR(coordinator_.CreateJob(job, options_.call_deadline));
  }
  SystemRandom random;
  OpenSessionCall call;
  call.job = job.name;
  call.clocked = options_.clocked;
  call.rank = rank;
  call.take_over = take_over;
  call.client = options_.client_name;
  call.nonce = fmt::format("{:016x}{:016x}", random.Next(), random.Next());
  ASSIGN_OR_RETURN(SessionGrant grant, Ask(call));

  CoreOptions core;
  core.pull_codec = options_.pull_codec;
  core.push_codec = options_.push_codec;
  core.call_deadline = options_.call_deadline;
  core.reply_timeout = options_.reply_timeout;
  core.backoff_min = options_.backoff_min;
  core.backoff_max = options_.backoff_max;
  core.max_bytes_in_flight = options_.max_bytes_in_flight;
  core.seed = random.Next();
  CoreSession session{grant.session,    grant.token, grant.rank,
                      options_.clocked, grant.clock, std::move(grant.map)};
  {
    MutexLock lock(mutex_);
    if (stopping_) return absl::CancelledError("the client was destroyed");
    core.connections_before = ++sessions_ << 32;
    core_ = std::make_unique<ClientCore>(core, session);
    lease_ = grant.lease.count() > 0 ? grant.lease : kDefaultLease;
    next_beat_ = last_report_ = time_.Now();
    last_tick_ = {};
    last_wait_seconds_ = 0;
    map_wanted_ = false;
    unreported_ = absl::OkStatus();
    leaving_ = false;
    beat_wake_.NotifyAll();
  }
  if (!std::exchange(threads_started_, true)) StartThreads();
  return absl::OkStatus();
}

void SessionLoop::StartThreads() {
  transport_.Start(this);
  timer_thread_ = Thread("ps-client-timer", [this] { TimerLoop(); });
  coordinator_thread_ = Thread("ps-client-lease", [this] { CoordinatorLoop(); });
}

void SessionLoop::Stop() {
  Completions completions;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (core_ != nullptr) {
      core_->EndSession(absl::CancelledError("the client was destroyed"));
      completions = Apply();
    }
    changed_.NotifyAll();
    timer_wake_.NotifyAll();
    beat_wake_.NotifyAll();
  }
  Complete(std::move(completions));
  timer_thread_.Join();
  coordinator_thread_.Join();
  transport_.Shutdown();
}

void SessionLoop::EndSession(const absl::Status& why) {
  Run([&](ClientCore& core, MonotonicTime) { core.EndSession(Detached(why)); }, nullptr);
}

bool SessionLoop::is_open() const {
  MutexLock lock(mutex_);
  return core_ != nullptr && core_->ended().ok();
}

std::optional<SessionLoop::View> SessionLoop::view() const {
  MutexLock lock(mutex_);
  if (core_ == nullptr) return std::nullopt;
  const CoreSession& session = core_->session();
  return View{session.session, session.token, session.rank, core_->clock(),
              Detached(core_->ended())};
}

ClientStats SessionLoop::stats() const {
  MutexLock lock(mutex_);
  return core_ == nullptr ? ClientStats() : core_->stats(time_.Now());
}

// --- The core.

SessionLoop::Completions SessionLoop::Apply() {
  ClientEffects effects = core_->TakeEffects();
  for (const ServerId server : effects.disconnects) transport_.Disconnect(server);
  for (const auto& connect : effects.connects) {
    transport_.Connect(connect.server, connect.endpoint, connect.connection,
                       core_->HeaderFor(core_->clock()));
  }
  for (const auto& send : effects.frames) transport_.Send(send.server, send.frame);
  if (effects.refresh_map && !map_wanted_) {
    map_wanted_ = true;
    beat_wake_.NotifyAll();
  }
  if (effects.confirm_end) {
    next_beat_ = time_.Now();
    beat_wake_.NotifyAll();
  }
  if (core_->NextTimer() < timer_at_) timer_wake_.NotifyAll();
  changed_.NotifyAll();
  for (auto& completion : effects.completions) {
    completion.status = Detached(completion.status);
  }
  completing_ += effects.completions.size();
  return std::move(effects.completions);
}

void SessionLoop::Complete(Completions completions) {
  for (auto& completion : completions) {
    if (completion.done) completion.done(std::move(completion.status));
  }
  if (completions.empty()) return;
  MutexLock lock(mutex_);
  completing_ -= completions.size();
  changed_.NotifyAll();
}

void SessionLoop::Run(const CoreCall& call, const Done& done) {
  Completions completions;
  bool open = false;
  {
    MutexLock lock(mutex_);
    if (core_ != nullptr) {
      open = true;
      call(*core_, time_.Now());
      completions = Apply();
    }
  }
  Complete(std::move(completions));
  if (!open && done) {
    done(MakeStatus(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                    "no session is open; call Open first"));
  }
}

void SessionLoop::OnConnected(ServerId server, uint64_t connection) {
  Run([&](ClientCore& core, MonotonicTime now) { core.OnConnected(server, connection, now); },
      nullptr);
}

void SessionLoop::OnDisconnected(ServerId server, uint64_t connection, absl::Status why) {
  Run([&](ClientCore& core,
          MonotonicTime now) { core.OnDisconnected(server, connection, why, now); },
      nullptr);
}

void SessionLoop::OnFrame(ServerId server, uint64_t connection, const InFrame& frame) {
  Run([&](ClientCore& core, MonotonicTime now) { core.OnFrame(server, connection, frame, now); },
      nullptr);
}

// --- Waiting.

absl::Status SessionLoop::Await(const std::function<void(Done)>& start) {
  if (in_inline_done) return WouldWaitForItself();
  std::optional<absl::Status> result;
  start([this, &result](absl::Status status) {
    MutexLock lock(mutex_);
    result = std::move(status);
    changed_.NotifyAll();
  });
  MutexLock lock(mutex_);
  while (!result.has_value()) changed_.Wait(mutex_);
  return *std::move(result);
}

Done SessionLoop::ForUser(Done done) {
  if (!done) {
    return [this](absl::Status status) {
      MutexLock lock(mutex_);
      if (unreported_.ok()) unreported_ = std::move(status);
    };
  }
  if (options_.executor) {
    return [run = options_.executor, done = std::move(done)](absl::Status status) {
      run([done, status = std::move(status)] { done(status); });
    };
  }
  return [done = std::move(done)](absl::Status status) {
    const bool outer = std::exchange(in_inline_done, true);
    done(std::move(status));
    in_inline_done = outer;
  };
}

absl::Status SessionLoop::AwaitRoom(size_t bytes) {
  const MonotonicTime deadline = time_.Now() + options_.call_deadline;
  MutexLock lock(mutex_);
  while (core_ != nullptr && core_->ended().ok() && core_->undecided_bytes() > 0 &&
         core_->undecided_bytes() + bytes > options_.max_queued_bytes) {
    if (!in_inline_done && changed_.WaitUntil(mutex_, time_, deadline)) continue;
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "{} bytes of pushes wait for their servers, of at most {} "
                     "(max_queued_bytes); push less often, or raise it",
                     core_->undecided_bytes(), options_.max_queued_bytes);
  }
  return absl::OkStatus();
}

absl::Status SessionLoop::AwaitIdle(bool pulls_too) {
  if (in_inline_done) return WouldWaitForItself();
  const MonotonicTime deadline = time_.Now() + options_.call_deadline;
  MutexLock lock(mutex_);
  while (core_ != nullptr && core_->ended().ok() &&
         (core_->undecided_operations() > 0 || completing_ > 0 ||
          (pulls_too && core_->open_pulls() > 0))) {
    if (changed_.WaitUntil(mutex_, time_, deadline)) continue;
    return MakeError(absl::StatusCode::kDeadlineExceeded, Detail::kNone,
                     "{} operations are not decided within {:g} s; are all servers up?",
                     core_->undecided_operations(), Seconds(options_.call_deadline));
  }
  return core_ == nullptr ? absl::OkStatus() : Detached(core_->ended());
}

absl::Status SessionLoop::TakeUnreported() {
  MutexLock lock(mutex_);
  return std::exchange(unreported_, absl::OkStatus());
}

// --- Time.

void SessionLoop::TimerLoop() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    timer_at_ = core_ == nullptr ? MonotonicTime::Max() : core_->NextTimer();
    if (timer_at_ > time_.Now()) {
      timer_wake_.WaitUntil(mutex_, time_, timer_at_);
      continue;
    }
    core_->OnTimer(time_.Now());
    Completions completions = Apply();
    lock.Unlock();
    Complete(std::move(completions));
    lock.Lock();
  }
}

// --- The coordinator.

void SessionLoop::CoordinatorLoop() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const MonotonicTime now = time_.Now();
    if (core_ == nullptr || !core_->ended().ok()) {
      beat_wake_.Wait(mutex_);
    } else if (map_wanted_ && next_map_ <= now) {
      lock.Unlock();
      RefreshMap();
      lock.Lock();
    } else if (next_beat_ <= now) {
      lock.Unlock();
      Heartbeat();
      lock.Lock();
    } else {
      const MonotonicTime wake = map_wanted_ ? std::min(next_map_, next_beat_) : next_beat_;
      beat_wake_.WaitUntil(mutex_, time_, wake);
    }
  }
}

SessionReport SessionLoop::MakeReport() {
  const MonotonicTime now = time_.Now();
  const ClientStats stats = core_->stats(now);
  SessionReport report;
  report.clock = core_->clock();
  report.step_seconds = step_seconds_;
  report.samples_per_second = step_seconds_ > 0 ? step_samples_ / step_seconds_ : 0;
  const double elapsed = Seconds(now - last_report_);
  if (elapsed > 0) {
    report.wait_ratio =
        std::clamp((stats.pull_wait_seconds - last_wait_seconds_) / elapsed, 0.0, 1.0);
  }
  report.bytes_sent = stats.bytes_sent;
  report.bytes_received = stats.bytes_received;
  last_report_ = now;
  last_wait_seconds_ = stats.pull_wait_seconds;
  return report;
}

// C7: a coordinator that cannot be reached ends nothing; it gives full terms when it is back.
void SessionLoop::Heartbeat() {
  SessionReport report;
  SessionId session;
  Token token;
  milliseconds interval{0};
  {
    MutexLock lock(mutex_);
    report = MakeReport();
    session = core_->session().session;
    token = core_->session().token;
    interval = std::max(lease_ / 3, kMinBeatInterval);
    next_beat_ = time_.Now() + interval;
  }
  const auto answer = coordinator_.Heartbeat(session, token, report, interval);
  if (leaving_) return;
  absl::Status end;
  if (!answer.ok() && IsOver(answer.status())) end = AsEnd(answer.status());
  if (answer.ok() && !answer->job_error.ok()) {
    end = MakeStatus(absl::StatusCode::kAborted, Detail::kJobFailed, MessageOf(answer->job_error));
  }
  const auto tell = [&](ClientCore& core, MonotonicTime) {
    if (core.session().session != session) return;  // Rejoin was faster
    if (!end.ok()) core.EndSession(end);
    core.EndAsTold();
  };
  Run(tell, nullptr);
  if (!answer.ok() || !end.ok()) return;
  MutexLock lock(mutex_);
  if (answer->lease.count() > 0) lease_ = answer->lease;
  if (answer->epoch > core_->map().epoch()) map_wanted_ = true;
}

void SessionLoop::RefreshMap() {
  milliseconds deadline{0};
  {
    MutexLock lock(mutex_);
    map_wanted_ = false;
    next_map_ = time_.Now() + kMapRefreshInterval;
    deadline = std::min(kMapDeadline, std::max(lease_ / 3, kMinBeatInterval));
  }
  const absl::StatusOr<SlotMap> map = coordinator_.GetMap(deadline);
  if (map.ok()) {
    return Run([&](ClientCore& core, MonotonicTime now) { core.OnMap(*map, now); }, nullptr);
  }
  MutexLock lock(mutex_);
  map_wanted_ = true;
}

void SessionLoop::CountTick(uint64_t samples) {
  MutexLock lock(mutex_);
  const MonotonicTime now = time_.Now();
  if (last_tick_ != MonotonicTime()) {
    const double step = Seconds(now - last_tick_);
    const auto count = static_cast<double>(samples);
    const double weight = step_seconds_ == 0 ? 1 : kStepWeight;
    step_seconds_ += weight * (step - step_seconds_);
    step_samples_ += weight * (count - step_samples_);
  }
  last_tick_ = now;
}

}  // namespace syncline
