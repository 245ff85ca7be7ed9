#include "worker/client/client_core.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "worker/client/client_core_state.h"

namespace syncline {
namespace {

// Numbers and tags of an operation beside its bulk bytes.
constexpr size_t kOperationOverhead = 64;

double Seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>(d).count(); }

size_t BytesOf(const PushContent& content, const PushPartPlan& part) {
  const size_t keys = part.key_end - part.key_begin;
  size_t bytes = kOperationOverhead + keys * sizeof(Key);
  if (content.bag_count > 0) {
    bytes += (keys + 1 + part.id_end - part.id_begin) * sizeof(uint32_t);
  } else {
    bytes += content.values.size() / std::max<size_t>(content.keys.size(), 1) * keys;
  }
  return bytes;
}

}  // namespace

ClientCore::ClientCore(const CoreOptions& options, const CoreSession& session)
    : options_(options),
      session_(session),
      clock_(session.clock),
      random_(options.seed),
      slots_(session.map.slot_count()),
      last_connection_(options.connections_before) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].incarnation = session.map.slots()[i].incarnation;
  }
  for (const ServerEntry& entry : session.map.servers()) {
    auto server = std::make_unique<Server>();
    server->id = entry.id;
    server->endpoint = entry.endpoint;
    servers_.emplace(entry.id, std::move(server));
  }
}

ClientCore::~ClientCore() = default;

// --- Calls.

std::shared_ptr<Call> ClientCore::NewCall(CallKind kind, std::string what, Done done) {
  auto call = std::make_shared<Call>();
  call->kind = kind;
  call->what = std::move(what);
  call->done = std::move(done);
  call->deadline = now_ + options_.call_deadline;
  while (!calls_.empty() && calls_.front()->completed) calls_.pop_front();
  calls_.push_back(call);
  if (kind == CallKind::kPull || kind == CallKind::kPrefetch) ++open_pulls_;
  if (kind == CallKind::kPull && present_pulls_++ == 0) waiting_since_ = now_;
  return call;
}

void ClientCore::Complete(const std::shared_ptr<Call>& call, const absl::Status& status) {
  if (call->completed) return;
  call->completed = true;
  if (call->kind == CallKind::kPull || call->kind == CallKind::kPrefetch) --open_pulls_;
  if (call->kind == CallKind::kPull && --present_pulls_ == 0) {
    stats_.pull_wait_seconds += Seconds(now_ - waiting_since_);
  }
  effects_.completions.push_back({std::move(call->done), status});
  call->done = nullptr;
}

bool ClientCore::Refuse(const Done& done) {
  absl::Status why = ended_;
  if (why.ok() && leaving_ != nullptr) {
    why = MakeStatus(absl::StatusCode::kCancelled, Detail::kNone,
                     "the session is leaving; no call may follow");
  }
  if (why.ok()) return false;
  effects_.completions.push_back({done, why});
  return true;
}

void ClientCore::Push(const TableInfo& table, std::span<const Key> keys, RowsIn gradients,
                      uint64_t samples, Done done, MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  const PushArguments push{&table, keys, gradients, samples, options_.push_codec};
  IssuePush(table, PlanPush(push, session_.map), samples, std::move(done));
}

void ClientCore::PushBags(const TableInfo& table, std::span<const Key> keys,
                          std::span<const uint32_t> offsets, Pooling pooling, RowsIn gradients,
                          uint64_t samples, Done done, MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  const PushArguments push{&table, keys, gradients, samples, options_.push_codec};
  IssuePush(table, PlanBagPush(push, {offsets, pooling}, session_.map), samples, std::move(done));
}

void ClientCore::PushDense(const TableInfo& table, uint64_t first, std::span<const float> gradients,
                           uint64_t samples, Done done, MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  IssuePush(table,
            PlanDensePush(table, first, gradients, samples, options_.push_codec, session_.map),
            samples, std::move(done));
}

void ClientCore::IssuePush(const TableInfo& table,
                           absl::StatusOr<std::vector<PushContent>> contents, uint64_t samples,
                           Done done) {
  if (!contents.ok()) {
    effects_.completions.push_back({std::move(done), contents.status()});
    return;
  }
  auto call = NewCall(CallKind::kPush, "push to table " + table.spec.name, std::move(done));
  for (PushContent& content : *contents) {
    auto bundle = std::make_shared<Bundle>();
    bundle->id = ++last_bundle_id_;
    bundle->call = call;
    bundle->clock = clock_;
    bundle->samples = samples;
    bundle->table = table.id;
    bundle->codec = static_cast<uint32_t>(options_.push_codec);
    bundle->content = std::move(content);
    stats_.rows_pushed += bundle->content.keys.size();
    for (const PushPartPlan& part : bundle->content.parts) Issue(bundle, part.slot, &part);
  }
  if (call->open_parts == 0) Complete(call, absl::OkStatus());
  Pump();
}

void ClientCore::Issue(const std::shared_ptr<const Bundle>& bundle, SlotId slot_id,
                       const PushPartPlan* part) {
  SlotState& slot = Slot(slot_id);
  auto operation = std::make_shared<Operation>();
  operation->bundle = bundle;
  operation->part = part;
  operation->slot = slot_id;
  operation->sequence = ++slot.last;
  operation->bytes = part == nullptr ? kOperationOverhead : BytesOf(bundle->content, *part);
  ++undecided_;
  undecided_bytes_ += operation->bytes;
  ++bundle->call->open_parts;
  slot.undecided.push_back(std::move(operation));
  to_admit_.push_back(slot_id);
}

void ClientCore::IssueInEverySlot(const std::shared_ptr<Bundle>& bundle) {
  bundle->id = ++last_bundle_id_;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) Issue(bundle, SlotId(slot), nullptr);
}

void ClientCore::Tick(uint64_t samples, std::string_view reader_position, Done done,
                      MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  if (!session_.clocked) {
    effects_.completions.push_back(
        {std::move(done), MakeStatus(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                                     "tick: the session is clockless; open it with clocked = true "
                                     "and a job with ranks")});
    return;
  }
  auto bundle = std::make_shared<Bundle>();
  bundle->kind = OperationKind::kTick;
  bundle->call =
      NewCall(CallKind::kTick, fmt::format("tick of clock {}", clock_.value()), std::move(done));
  bundle->clock = clock_;
  bundle->new_clock = clock_.Next();
  bundle->samples = samples;
  bundle->reader_position = std::string(reader_position);
  IssueInEverySlot(bundle);
  clock_ = bundle->new_clock;
  ++stats_.ticks;
  stats_.samples += samples;
  Pump();
}

void ClientCore::Leave(Done done, MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  leaving_ = NewCall(CallKind::kLeave, "leave", std::move(done));
  IssueLeaveWhenDecided();
  Pump();
}

// S4: leave follows the outcomes of all earlier operations.
void ClientCore::IssueLeaveWhenDecided() {
  if (leaving_ == nullptr || leave_issued_ || undecided_ > 0) return;
  leave_issued_ = true;
  auto bundle = std::make_shared<Bundle>();
  bundle->kind = OperationKind::kLeave;
  bundle->call = leaving_;
  bundle->clock = clock_;
  IssueInEverySlot(bundle);
}

// --- Pulls.

void ClientCore::Pull(const TableInfo& table, std::span<const Key> keys, RowsOut out,
                      const PullOptions& options, Done done, MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  StartPull(table, PullPlan::Rows({&table, keys, out, options_.pull_codec}, session_.map), options,
            std::move(done));
}

void ClientCore::PullBags(const TableInfo& table, std::span<const Key> keys,
                          std::span<const uint32_t> offsets, Pooling pooling, RowsOut out,
                          const PullOptions& options, Done done, MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  StartPull(
      table,
      PullPlan::Bags({&table, keys, out, options_.pull_codec}, offsets, pooling, session_.map),
      options, std::move(done));
}

void ClientCore::PullDense(const TableInfo& table, uint64_t first, std::span<float> values,
                           const PullOptions& options, Done done, MonotonicTime now) {
  now_ = now;
  if (Refuse(done)) return;
  StartPull(table, PullPlan::Dense(table, first, values, options_.pull_codec, session_.map),
            options, std::move(done));
}

// C4: judged when it is invoked, so the sequences that it must see are taken here, for good.
void ClientCore::StartPull(const TableInfo& table, absl::StatusOr<PullPlan> plan,
                           const PullOptions& options, Done done) {
  if (!plan.ok()) {
    effects_.completions.push_back({std::move(done), plan.status()});
    return;
  }
  const Clock clock = options.clock.value_or(clock_);
  const CallKind kind = clock > clock_ ? CallKind::kPrefetch : CallKind::kPull;
  std::vector<PullUnit> units = plan->TakeUnits();
  auto pull = std::make_shared<PullCall>(
      NewCall(kind, "pull of table " + table.spec.name, std::move(done)), *std::move(plan));
  pull->clock = clock;
  pull->read_only = options.read_only;
  pull->bags = pull->plan.pools();
  pull->open_requests = units.size();
  stats_.rows_pulled += pull->plan.key_count();
  for (PullUnit& unit : units) {
    for (PullPartPlan& part : unit.parts) part.sequence = Slot(part.slot).last;
    auto request = std::make_shared<PullRequest>();
    request->pull = pull;
    request->unit = std::move(unit);
    if (pull->bags) pull->requests.push_back(request);
    pull->asked_last = request->unit.server;
    QueuePull(request);
  }
  if (units.empty()) {
    pull->plan.Finish({});
    Complete(pull->call, absl::OkStatus());
  } else {
    while (!pulls_.empty() && pulls_.front().expired()) pulls_.pop_front();
    pulls_.push_back(pull);
  }
  Pump();
}

// --- Sessions.

void ClientCore::EndSession(const absl::Status& why) {
  if (!ended_.ok()) return;
  ended_ = why;
  for (const auto& call : std::exchange(calls_, {})) {
    Complete(call, Annotate(why, call->what));
  }
  for (auto& [id, server] : servers_) {
    if (server->state != Server::State::kIdle) effects_.disconnects.push_back(id);
    server->state = Server::State::kIdle;
    server->connection = 0;
    server->ready.clear();
    server->pulls.clear();
    server->prefetches.clear();
    server->frames.clear();
    server->pulls_in_flight.clear();
    server->resume.clear();
  }
  for (SlotState& slot : slots_) slot.undecided.clear();
  timers_.clear();
  pulls_.clear();
  to_admit_.clear();
  effects_.frames.clear();
  effects_.connects.clear();
  undecided_ = undecided_bytes_ = 0;
}

void ClientCore::OnMap(const SlotMap& map, MonotonicTime now) {
  now_ = now;
  if (!ended_.ok() || map.epoch() < session_.map.epoch()) return;
  if (map.slot_count() != slots_.size()) return;
  session_.map = map;
  for (const ServerEntry& entry : map.servers()) {
    auto& server = servers_[entry.id];
    if (server == nullptr) {
      server = std::make_unique<Server>();
      server->id = entry.id;
      server->endpoint = entry.endpoint;
    } else if (server->endpoint != entry.endpoint) {
      server->endpoint = entry.endpoint;
      DropConnection(*server, absl::UnavailableError("the server moved to another endpoint"));
    }
  }
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (map.slots()[i].incarnation > slots_[i].incarnation) {
      NeedResume(SlotId(i), map.slots()[i].incarnation);
    }
  }
  AdmitAll();
  Pump();
}

OperationHeader ClientCore::HeaderFor(Clock clock) const {
  return {session_.session, session_.token, session_.map.epoch(), clock};
}

ClientStats ClientCore::stats(MonotonicTime now) const {
  ClientStats stats = stats_;
  if (present_pulls_ > 0) stats.pull_wait_seconds += Seconds(now - waiting_since_);
  return stats;
}

ClientEffects ClientCore::TakeEffects() { return std::exchange(effects_, {}); }

ClientCore::Server* ClientCore::FindServer(ServerId id) {
  const auto found = servers_.find(id);
  return found == servers_.end() ? nullptr : found->second.get();
}

ClientCore::Server& ClientCore::ServerOf(SlotId slot) {
  return *servers_.at(session_.map.At(slot).server);
}

std::string ClientCore::EndpointOf(SlotId slot) const {
  const ServerEntry* server = session_.map.FindServer(session_.map.At(slot).server);
  return server == nullptr ? std::string("an unknown server") : server->endpoint;
}

// --- Time.

void ClientCore::Later(std::chrono::nanoseconds delay, std::function<void()> action) {
  timers_.emplace(now_ + delay, std::move(action));
}

// Doubles from backoff_min to backoff_max; the wait is drawn from its upper half, so that clients
// that failed together do not return together.
std::chrono::nanoseconds ClientCore::NextBackoff(std::chrono::nanoseconds& backoff) {
  backoff = std::clamp(backoff * 2, options_.backoff_min, options_.backoff_max);
  const auto half = static_cast<uint64_t>(backoff.count() / 2);
  return std::chrono::nanoseconds(half + random_.Below(half + 1));
}

MonotonicTime ClientCore::NextTimer() const {
  MonotonicTime next = MonotonicTime::Max();
  if (!ended_.ok()) return next;
  if (!timers_.empty()) next = timers_.begin()->first;
  for (const auto& call : calls_) {
    if (call->completed) continue;
    next = std::min(next, call->deadline);
    break;
  }
  for (const auto& [id, server] : servers_) {
    if (!server->frames.empty()) {
      next = std::min(next, server->frames.begin()->second.sent_at + options_.reply_timeout);
    }
    if (!server->pulls_in_flight.empty()) {
      next = std::min(
          next, server->pulls_in_flight.begin()->second->sent_at + 2 * options_.reply_timeout);
    }
  }
  return next;
}

void ClientCore::OnTimer(MonotonicTime now) {
  now_ = now;
  if (!ended_.ok()) return;
  CheckCallDeadlines();
  CheckReplyTimeouts();
  while (!timers_.empty() && timers_.begin()->first <= now && ended_.ok()) {
    const auto action = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    action();
  }
  Pump();
}

void ClientCore::CheckCallDeadlines() {
  std::map<Call*, std::shared_ptr<Call>> expired;
  while (!calls_.empty() && (calls_.front()->completed || calls_.front()->deadline <= now_)) {
    if (!calls_.front()->completed) expired.emplace(calls_.front().get(), calls_.front());
    calls_.pop_front();
  }
  if (expired.empty()) return;
  for (SlotState& slot : slots_) {
    for (const OperationPtr& operation : slot.undecided) {
      const auto found = expired.find(operation->bundle->call.get());
      if (found == expired.end()) continue;
      Complete(found->second, NoReply(*found->second, EndpointOf(operation->slot)));
      // A tick cannot be taken back: it stays until its outcome comes.
      if (operation->bundle->kind == OperationKind::kPush) GiveUp(*operation);
    }
  }
  for (const auto& weak : pulls_) {
    const auto pull = weak.lock();
    if (pull == nullptr || !expired.contains(pull->call.get())) continue;
    Complete(pull->call, NoReply(*pull->call, DescribeWaiting(*pull)));
  }
  for (const auto& [key, call] : expired) Complete(call, NoReply(*call, "its servers"));
  pulls_.remove_if([](const auto& weak) {
    const auto pull = weak.lock();
    return pull == nullptr || pull->call->completed;
  });
}

// The server that a pull waits for.
std::string ClientCore::DescribeWaiting(const PullCall& pull) const {
  for (const auto& [id, server] : servers_) {
    for (const auto& [request_id, request] : server->pulls_in_flight) {
      if (request->pull.get() == &pull) return server->endpoint;
    }
    for (const auto* queue : {&server->pulls, &server->prefetches}) {
      for (const auto& request : *queue) {
        if (request->pull.get() == &pull) return server->endpoint;
      }
    }
  }
  const Server* server = servers_.at(pull.asked_last).get();
  return server->endpoint;
}

absl::Status ClientCore::NoReply(const Call& call, const std::string& where) const {
  std::string last;
  for (const auto& [id, server] : servers_) {
    if (server->endpoint == where && !server->last_error.ok()) {
      last = fmt::format(" (last error: {})", MessageOf(server->last_error));
    }
  }
  const bool pull = call.kind == CallKind::kPull || call.kind == CallKind::kPrefetch;
  return MakeError(absl::StatusCode::kDeadlineExceeded, Detail::kNone,
                   "{}: no reply from {} within {:g} s{}; {}", call.what, where,
                   Seconds(options_.call_deadline), last,
                   pull ? "is the server up, or does another worker hold the clock back?"
                        : "it may or may not have been applied; is the server up?");
}

void ClientCore::GiveUp(Operation& operation) {
  operation.cancelled = true;
  undecided_bytes_ -= operation.bytes - kOperationOverhead;
  operation.bytes = kOperationOverhead;
}

}  // namespace syncline
