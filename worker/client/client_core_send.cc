// Queues, connections and frames out. See client_core.h.
#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "worker/client/client_core.h"
#include "worker/client/client_core_state.h"

namespace syncline {
namespace {

template <typename T>
ByteView BytesOf(const std::vector<T>& v, size_t begin, size_t end) {
  return ByteView(
      ByteSpan(reinterpret_cast<const uint8_t*>(v.data() + begin), (end - begin) * sizeof(T)));
}

PushPart PartOf(const Operation& operation, Incarnation incarnation) {
  PushPart part;
  part.slot = operation.slot;
  part.incarnation = incarnation;
  part.sequence = operation.sequence;
  if (operation.cancelled) {
    part.placeholder = Outcome::kCancelled;
    return part;
  }
  const PushContent& content = operation.bundle->content;
  const PushPartPlan& plan = *operation.part;
  part.keys = BytesOf(content.keys, plan.key_begin, plan.key_end);
  if (content.bag_count == 0) {
    const size_t row_bytes = content.values.size() / content.keys.size();
    part.values = BytesOf(content.values, plan.key_begin * row_bytes, plan.key_end * row_bytes);
  } else {
    const size_t offsets = plan.key_end - plan.key_begin + 1;
    part.bag_offsets = BytesOf(content.bag_offsets, plan.offset_begin, plan.offset_begin + offsets);
    part.bag_ids = BytesOf(content.bag_ids, plan.id_begin, plan.id_end);
  }
  return part;
}

}  // namespace

// --- Which operations may go.

// S4: an operation may be sent while it is less than kOutcomeWindow above the oldest undecided one.
void ClientCore::Admit(std::vector<SlotId> slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  std::vector<OperationPtr> admitted;
  for (const SlotId id : slots) {
    SlotState& slot = Slot(id);
    if (slot.blocked || slot.resuming || slot.undecided.empty()) continue;
    const Sequence oldest = slot.undecided.front()->sequence;
    for (const OperationPtr& operation : slot.undecided) {
      if (operation->sequence - oldest >= kOutcomeWindow) break;
      if (operation->state == Operation::State::kWaiting) admitted.push_back(operation);
    }
  }
  // Bundles ascend with sequences, so slots keep their order while parts of a bundle meet.
  std::stable_sort(admitted.begin(), admitted.end(),
                   [](const auto& a, const auto& b) { return a->bundle->id < b->bundle->id; });
  for (OperationPtr& operation : admitted) {
    operation->state = Operation::State::kQueued;
    ServerOf(operation->slot).ready.push_back(std::move(operation));
  }
}

// After the map changed, or a connection was lost: queues are built anew.
void ClientCore::AdmitAll() {
  for (auto& [id, server] : servers_) {
    for (const OperationPtr& operation : std::exchange(server->ready, {})) {
      if (operation->state == Operation::State::kQueued) {
        operation->state = Operation::State::kWaiting;
      }
    }
  }
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].undecided.empty()) to_admit_.push_back(SlotId(i));
  }
}

void ClientCore::BlockSlot(SlotId id) {
  SlotState& slot = Slot(id);
  if (slot.blocked) return;
  slot.blocked = true;
  Later(NextBackoff(slot.backoff), [this, id] {
    Slot(id).blocked = false;
    to_admit_.push_back(id);
  });
}

// S7, J5: nothing more is sent to the slot until the server has confirmed the session there.
void ClientCore::NeedResume(SlotId id, Incarnation incarnation) {
  SlotState& slot = Slot(id);
  if (incarnation <= slot.incarnation) return;
  slot.incarnation = incarnation;
  for (const OperationPtr& operation : slot.undecided) {
    operation->state = Operation::State::kWaiting;
    operation->request_id = 0;
  }
  if (!std::exchange(slot.resuming, true)) ServerOf(id).resume.push_back(id);
}

// --- Connections.

void ClientCore::Pump() {
  if (!ended_.ok() || !ending_.ok()) return;
  do {
    pulls_moved_ = false;
    Admit(std::exchange(to_admit_, {}));
    for (auto& [id, server] : servers_) PumpServer(*server);
  } while (pulls_moved_);
}

void ClientCore::PumpServer(Server& server) {
  if (server.state == Server::State::kIdle && server.HasWork()) StartConnecting(server);
  if (server.state != Server::State::kConnected) return;
  SendResume(server);
  SendOperations(server);
  SendPulls(server);
}

void ClientCore::StartConnecting(Server& server) {
  server.state = Server::State::kConnecting;
  server.connection = ++last_connection_;
  effects_.connects.push_back({server.id, server.endpoint, server.connection});
  Later(2 * options_.reply_timeout, [this, id = server.id, connection = server.connection] {
    Server* s = FindServer(id);
    if (s->connection != connection || s->state != Server::State::kConnecting) return;
    DropConnection(*s, MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                                 "no answer to Hello from {}", s->endpoint));
  });
}

void ClientCore::OnConnected(ServerId id, uint64_t connection, MonotonicTime now) {
  now_ = now;
  Server* server = FindServer(id);
  if (server == nullptr || server->connection != connection || !ended_.ok()) return;
  server->state = Server::State::kConnected;
  server->last_received = now;
  if (server->backoff.count() > 0) ++stats_.reconnects;
  server->backoff = {};
  Pump();
}

void ClientCore::OnDisconnected(ServerId id, uint64_t connection, const absl::Status& why,
                                MonotonicTime now) {
  now_ = now;
  Server* server = FindServer(id);
  if (server == nullptr || server->connection != connection || !ended_.ok()) return;
  switch (DetailOf(why)) {
    case Detail::kSessionUnknown:
      return EndBecause(GoneStatus(Outcome::kGoneSessionUnknown, why, true, *server));
    case Detail::kSessionLost:
      return EndBecause(GoneStatus(Outcome::kGoneSessionLost, why, true, *server));
    case Detail::kFenced:
      return EndBecause(GoneStatus(Outcome::kGoneFenced, why, false, *server));
    default:
      break;
  }
  DropConnection(*server, why);
  Pump();
}

// Everything undecided is sent again in order, once the server is back.
void ClientCore::DropConnection(Server& server, const absl::Status& why) {
  server.last_error = why;
  if (server.state != Server::State::kIdle && server.state != Server::State::kBackingOff) {
    effects_.disconnects.push_back(server.id);
  }
  server.connection = 0;
  for (auto& [id, frame] : std::exchange(server.frames, {})) {
    operation_bytes_in_flight_ -= frame.bytes;
    RequeueOperations(frame);
  }
  while (!server.pulls_in_flight.empty()) {
    const PullRequestPtr request = server.pulls_in_flight.begin()->second;
    ReleasePull(server, request->request_id);
    QueuePull(request);
  }
  AdmitAll();
  if (server.state == Server::State::kBackingOff) return;
  server.state = Server::State::kBackingOff;
  effects_.refresh_map = true;  // it may have come back elsewhere
  Later(NextBackoff(server.backoff), [this, id = server.id] {
    Server* s = FindServer(id);
    if (s->state == Server::State::kBackingOff) s->state = Server::State::kIdle;
  });
}

void ClientCore::RequeueOperations(InFlight& frame) {
  for (const OperationPtr& operation : frame.operations) {
    if (operation->request_id != frame.request_id) continue;
    if (operation->state != Operation::State::kInFlight) continue;
    operation->state = Operation::State::kWaiting;
    operation->request_id = 0;
    to_admit_.push_back(operation->slot);
  }
  if (frame.resumed.empty()) return;
  for (const SlotId slot : frame.resumed) {
    if (Slot(slot).resuming) ServerOf(slot).resume.push_back(slot);
  }
}

// --- Operations out.

void ClientCore::SendResume(Server& server) {
  if (server.resume.empty()) return;
  ResumeFrame resume;
  resume.header = HeaderFor(clock_);
  InFlight frame;
  frame.request_id = NextRequestId();
  frame.sent_at = now_;
  frame.resumed = std::exchange(server.resume, {});
  std::sort(frame.resumed.begin(), frame.resumed.end());
  frame.resumed.erase(std::unique(frame.resumed.begin(), frame.resumed.end()), frame.resumed.end());
  for (const SlotId id : frame.resumed) {
    const SlotState& slot = Slot(id);
    resume.parts.push_back({id, slot.incarnation, clock_, slot.durable, slot.told});
  }
  effects_.frames.push_back({server.id, {frame.request_id, std::move(resume), nullptr}});
  ++stats_.frames_sent;
  server.frames.emplace(frame.request_id, std::move(frame));
}

void ClientCore::SendOperations(Server& server) {
  // A server refuses more parts than the cluster has slots.
  const size_t most = std::min(kMaxSlotPartsPerFrame, slots_.size());
  while (!server.ready.empty() && server.frames.size() < kMaxOperationFrames &&
         (operation_bytes_in_flight_ == 0 ||
          operation_bytes_in_flight_ < options_.max_bytes_in_flight)) {
    std::vector<OperationPtr> operations;
    size_t bytes = 0;
    while (!server.ready.empty() && operations.size() < most) {
      const OperationPtr& next = server.ready.front();
      if (next->state == Operation::State::kQueued) {
        if (operations.empty()) {
          bytes = next->cancelled ? 0 : next->bundle->content.bag_values.size();
        } else if (operations.front()->bundle != next->bundle ||
                   operations.front()->cancelled != next->cancelled ||
                   bytes + next->bytes > kTargetFrameBytes) {
          break;
        }
        bytes += next->bytes;
        operations.push_back(next);
      }
      server.ready.pop_front();
    }
    if (!operations.empty()) SendFrame(server, std::move(operations), bytes);
  }
}

void ClientCore::SendFrame(Server& server, std::vector<OperationPtr> operations, size_t bytes) {
  InFlight frame;
  frame.request_id = NextRequestId();
  frame.sent_at = now_;
  frame.bytes = bytes;
  for (const OperationPtr& operation : operations) {
    operation->state = Operation::State::kInFlight;
    operation->request_id = frame.request_id;
    if (std::exchange(operation->sent, true)) ++stats_.resends;
  }
  effects_.frames.push_back(
      {server.id, {frame.request_id, OperationsMessage(operations), operations.front()->bundle}});
  operation_bytes_in_flight_ += bytes;
  stats_.bytes_sent += bytes;
  ++stats_.frames_sent;
  frame.operations = std::move(operations);
  server.frames.emplace(frame.request_id, std::move(frame));
}

OutMessage ClientCore::OperationsMessage(const std::vector<OperationPtr>& operations) const {
  const Bundle& bundle = *operations.front()->bundle;
  if (bundle.kind == OperationKind::kPush) return PushFrameOf(operations);
  TickFrame tick;
  for (const OperationPtr& operation : operations) {
    tick.slots.push_back(operation->slot);
    tick.incarnations.push_back(slots_[operation->slot.value()].incarnation);
    tick.sequences.push_back(operation->sequence);
  }
  tick.header = HeaderFor(bundle.clock);
  if (bundle.kind == OperationKind::kLeave) {
    return LeaveFrame{tick.header, std::move(tick.slots), std::move(tick.incarnations),
                      std::move(tick.sequences)};
  }
  tick.clock = bundle.new_clock;
  tick.ends_round = Round(bundle.clock.value());
  tick.samples = bundle.samples;
  tick.reader_position = bundle.reader_position;
  return tick;
}

PushFrame ClientCore::PushFrameOf(const std::vector<OperationPtr>& operations) const {
  const Bundle& bundle = *operations.front()->bundle;
  PushFrame push;
  push.header = HeaderFor(bundle.clock);
  push.table = bundle.table;
  push.codec = bundle.codec;
  push.samples = bundle.samples;
  for (const OperationPtr& operation : operations) {
    push.parts.push_back(PartOf(*operation, slots_[operation->slot.value()].incarnation));
  }
  const PushContent& plan = bundle.content;
  // A frame has placeholders only, or none.
  if (plan.bag_count > 0 && !operations.front()->cancelled) {
    push.bag_count = plan.bag_count;
    push.bag_values = BytesOf(plan.bag_values, 0, plan.bag_values.size());
  }
  return push;
}

// --- Pulls out.

void ClientCore::QueuePull(const PullRequestPtr& request) {
  if (request->pull->call->completed) return;
  Server* server = FindServer(session_.map.At(request->unit.parts.front().slot).server);
  request->prefetch = request->pull->clock > clock_;
  (request->prefetch ? server->prefetches : server->pulls).push_back(request);
}

void ClientCore::SendPulls(Server& server) {
  // A prefetch whose clock has come is a pull like others.
  while (!server.prefetches.empty() && server.prefetches.front()->pull->clock <= clock_) {
    server.prefetches.front()->prefetch = false;
    server.pulls.push_back(std::move(server.prefetches.front()));
    server.prefetches.pop_front();
  }
  const auto room = [&](size_t places, size_t bytes) {
    return server.pulls_in_flight.size() < places &&
           (pull_bytes_in_flight_ == 0 || pull_bytes_in_flight_ < bytes);
  };
  while (!server.pulls.empty() && room(kMaxPullFrames, options_.max_bytes_in_flight)) {
    const PullRequestPtr request = std::move(server.pulls.front());
    server.pulls.pop_front();
    SendPull(server, request);
  }
  while (!server.prefetches.empty() && server.prefetches_in_flight < kMaxPrefetchFrames &&
         room(kMaxPullFrames, options_.max_bytes_in_flight / 2)) {
    const PullRequestPtr request = std::move(server.prefetches.front());
    server.prefetches.pop_front();
    SendPull(server, request);
  }
}

// Slots that moved since the pull was planned are asked for in a request of their own. False: there
// is nothing left to ask this server for.
bool ClientCore::MovePartsToOwners(const PullRequestPtr& request, ServerId server) {
  std::map<ServerId, std::vector<PullPartPlan>> by_owner;
  for (const PullPartPlan& part : request->unit.parts) {
    by_owner[session_.map.At(part.slot).server].push_back(part);
  }
  request->unit.server = server;
  if (by_owner.size() == 1 && by_owner.contains(server)) return true;
  PullCall& pull = *request->pull;
  const bool rest = by_owner.contains(server);
  if (rest) request->unit.parts = std::move(by_owner[server]);
  by_owner.erase(server);
  for (auto& [owner, parts] : by_owner) {
    auto moved = std::make_shared<PullRequest>();
    moved->pull = request->pull;
    moved->unit = request->unit;
    moved->unit.server = owner;
    moved->unit.parts = std::move(parts);
    ++pull.open_requests;
    if (pull.bags) pull.requests.push_back(moved);
    QueuePull(moved);
    pulls_moved_ = true;
  }
  if (rest) return true;
  --pull.open_requests;
  std::erase(pull.requests, request);
  return false;
}

void ClientCore::SendPull(Server& server, const PullRequestPtr& request) {
  PullCall& pull = *request->pull;
  if (pull.call->completed || !MovePartsToOwners(request, server.id)) return;
  request->request_id = NextRequestId();
  request->sent_at = now_;
  request->bytes = request->unit.request_bytes + request->unit.reply_bytes;
  pull.asked_last = server.id;
  PullFrame frame = pull.plan.FrameOf(request->unit);
  frame.header = HeaderFor(pull.clock);
  frame.read_only = pull.read_only;
  // The server gives a parked read up after this, and it is asked for again: so a lost frame is
  // noticed, and no read is parked twice for long.
  const auto left =
      std::min<std::chrono::nanoseconds>(pull.call->deadline - now_, options_.reply_timeout);
  frame.deadline_ms = static_cast<uint32_t>(
      std::max<int64_t>(1, std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
  for (PullPart& part : frame.parts) part.incarnation = Slot(part.slot).incarnation;
  effects_.frames.push_back({server.id, {request->request_id, std::move(frame), request->pull}});
  pull_bytes_in_flight_ += request->bytes;
  if (request->prefetch) ++server.prefetches_in_flight;
  stats_.bytes_sent += request->unit.request_bytes;
  ++stats_.frames_sent;
  server.pulls_in_flight.emplace(request->request_id, request);
}

void ClientCore::ReleasePull(Server& server, uint64_t request_id) {
  const auto found = server.pulls_in_flight.find(request_id);
  PullRequest& request = *found->second;
  pull_bytes_in_flight_ -= request.bytes;
  if (request.prefetch) --server.prefetches_in_flight;
  request.request_id = 0;
  server.pulls_in_flight.erase(found);
}

// --- Replies that do not come.

void ClientCore::CheckReplyTimeouts() {
  for (auto& [id, server] : servers_) CheckReplyTimeouts(*server);
}

void ClientCore::CheckReplyTimeouts(Server& server) {
  MonotonicTime oldest = now_;
  while (!server.frames.empty() &&
         server.frames.begin()->second.sent_at + options_.reply_timeout <= now_) {
    InFlight frame = std::move(server.frames.begin()->second);
    server.frames.erase(server.frames.begin());
    operation_bytes_in_flight_ -= frame.bytes;
    oldest = std::min(oldest, frame.sent_at);
    RequeueOperations(frame);
  }
  while (!server.pulls_in_flight.empty() &&
         server.pulls_in_flight.begin()->second->sent_at + 2 * options_.reply_timeout <= now_) {
    const PullRequestPtr request = server.pulls_in_flight.begin()->second;
    oldest = std::min(oldest, request->sent_at);
    ReleasePull(server, request->request_id);
    QueuePull(request);
  }
  // Silence, not a lost frame: the connection may be dead in one direction.
  const bool silent = oldest < now_ && server.last_received + 2 * options_.reply_timeout <= now_;
  if (silent && server.state == Server::State::kConnected) {
    DropConnection(
        server, MakeError(absl::StatusCode::kUnavailable, Detail::kNone, "{} was silent for {} ms",
                          server.endpoint, options_.reply_timeout.count() * 2 / 1'000'000));
  }
}

}  // namespace syncline
