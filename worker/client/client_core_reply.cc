// Frames in. See client_core.h.
#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "worker/client/client_core.h"
#include "worker/client/client_core_state.h"

namespace syncline {
namespace {

bool EndsSession(Detail detail) {
  return detail == Detail::kSessionUnknown || detail == Detail::kFenced ||
         detail == Detail::kSessionLost || detail == Detail::kJobFailed;
}

Outcome OutcomeOf(Detail detail) {
  switch (detail) {
    case Detail::kSessionUnknown:
      return Outcome::kGoneSessionUnknown;
    case Detail::kFenced:
      return Outcome::kGoneFenced;
    case Detail::kSessionLost:
      return Outcome::kGoneSessionLost;
    default:
      return Outcome::kGoneJobFailed;
  }
}

bool WorthARetry(const absl::Status& error) {
  switch (DetailOf(error)) {
    case Detail::kWrongOwner:
    case Detail::kOutOfOrder:
    case Detail::kNotReady:
    case Detail::kResumeFirst:
    case Detail::kOverloaded:
      return true;
    default:
      break;
  }
  // A server that still waits for its commands or shuts down, a read whose parking time is over.
  return error.code() == absl::StatusCode::kUnavailable ||
         error.code() == absl::StatusCode::kResourceExhausted ||
         error.code() == absl::StatusCode::kDeadlineExceeded;
}

absl::Status OutcomeStatus(const Call& call, const PartOutcome& outcome) {
  if (outcome.outcome == Outcome::kOk) return absl::OkStatus();
  const std::string where = fmt::format("{}, slot {}", call.what, outcome.slot.value());
  if (!outcome.error.ok()) return Annotate(outcome.error, where);
  switch (outcome.outcome) {
    case Outcome::kInvalid:
      return InvalidArgument("{}: refused by the server", where);
    case Outcome::kCancelled:
      return MakeError(absl::StatusCode::kCancelled, Detail::kNone, "{}: given up", where);
    default:
      return MakeError(absl::StatusCode::kAborted, Detail::kNone,
                       "{}: the round was closed already (the oldest open one is {}); the "
                       "contribution did not count",
                       where, outcome.oldest_round.value());
  }
}

}  // namespace

void ClientCore::OnFrame(ServerId id, uint64_t connection, const InFrame& frame,
                         MonotonicTime now) {
  now_ = now;
  Server* server = FindServer(id);
  if (server == nullptr || !ended_.ok()) return;
  // Outcomes of a broken connection still count: an operation's number is decided once. Its silence
  // does not.
  if (server->connection == connection) server->last_received = now;
  ++stats_.frames_received;
  if (const auto* outcomes = std::get_if<OutcomesFrame>(&frame.message)) {
    OnOutcomes(*server, frame.request_id, *outcomes);
  } else {
    OnPullReply(*server, frame.request_id, std::get<PullReplyFrame>(frame.message));
  }
  if (!ended_.ok()) return;
  IssueLeaveWhenDecided();
  Pump();
}

// --- Outcomes of operations.

void ClientCore::OnOutcomes(Server& server, uint64_t request_id, const OutcomesFrame& reply) {
  if (reply.epoch > session_.map.epoch()) effects_.refresh_map = true;
  const auto found = server.frames.find(request_id);
  const auto pull = server.pulls_in_flight.find(request_id);
  if (pull != server.pulls_in_flight.end() && !reply.error.ok()) {
    PullReplyFrame refused;  // the server does not know the kind of frame
    refused.error = reply.error;
    return OnPullReply(server, request_id, refused);
  }
  InFlight frame;
  if (found != server.frames.end()) {
    frame = std::move(found->second);
    server.frames.erase(found);
    operation_bytes_in_flight_ -= frame.bytes;
  }
  if (!frame.resumed.empty()) return OnResumed(server, frame, reply);
  if (!reply.error.ok()) return OnFrameRefused(server, frame, reply.error);
  for (const PartOutcome& outcome : reply.parts) {
    if (outcome.slot.value() < slots_.size()) OnOutcome(server, request_id, outcome);
    if (!ended_.ok()) return;
  }
  // What the reply does not mention is asked for again.
  RequeueOperations(frame);
}

void ClientCore::OnOutcome(Server& server, uint64_t request_id, const PartOutcome& outcome) {
  SlotState& slot = Slot(outcome.slot);
  // S7: what an older incarnation decided may be gone.
  if (outcome.incarnation < slot.incarnation && outcome.incarnation.value() != 0) return;
  if (outcome.durable <= slot.last) slot.durable = std::max(slot.durable, outcome.durable);
  const auto found = std::lower_bound(
      slot.undecided.begin(), slot.undecided.end(), outcome.sequence,
      [](const OperationPtr& o, Sequence sequence) { return o->sequence < sequence; });
  if (found == slot.undecided.end() || (*found)->sequence != outcome.sequence) return;
  const OperationPtr operation = *found;
  if (IsFinal(outcome.outcome)) {
    slot.undecided.erase(found);
    slot.backoff = {};
    to_admit_.push_back(outcome.slot);
    return Decide(slot, operation, outcome);
  }
  if (!outcome.error.ok()) server.last_error = outcome.error;
  if (IsGone(outcome.outcome)) return OnGone(slot, operation, outcome, server);
  // A verdict on an earlier sending says nothing about the present one.
  if (operation->request_id == request_id) OnRetry(slot, operation, outcome);
}

void ClientCore::Decide(SlotState& slot, const OperationPtr& operation,
                        const PartOutcome& outcome) {
  operation->state = Operation::State::kDecided;
  slot.told = std::max(slot.told, operation->sequence);
  --undecided_;
  undecided_bytes_ -= operation->bytes;
  if (outcome.outcome == Outcome::kLate) ++stats_.late_ticks;
  const std::shared_ptr<Call>& call = operation->bundle->call;
  const absl::Status status = OutcomeStatus(*call, outcome);
  if (call->first_error.ok()) call->first_error = status;
  if (--call->open_parts == 0) Complete(call, call->first_error);
}

// S3: the number stays free, and the same operation is sent again.
void ClientCore::OnRetry(SlotState& slot, const OperationPtr& operation,
                         const PartOutcome& outcome) {
  const SlotId id = operation->slot;
  operation->state = Operation::State::kWaiting;
  operation->request_id = 0;
  switch (outcome.outcome) {
    case Outcome::kRetryOutOfOrder:
      // Whatever is under way from the expected number on came too early, or is lost.
      for (const OperationPtr& later : slot.undecided) {
        if (later->sequence < outcome.expected) continue;
        if (later->state != Operation::State::kInFlight) continue;
        later->state = Operation::State::kWaiting;
        later->request_id = 0;
      }
      to_admit_.push_back(id);
      return;
    case Outcome::kRetryResumeFirst:
      NeedResume(id, outcome.incarnation);
      to_admit_.push_back(id);
      return;
    case Outcome::kRetryWrongOwner:
      effects_.refresh_map = true;
      return BlockSlot(id);
    default:
      return BlockSlot(id);
  }
}

void ClientCore::OnGone(SlotState& slot, const OperationPtr& operation, const PartOutcome& outcome,
                        Server& server) {
  const bool leave = operation->bundle->kind == OperationKind::kLeave;
  // S4: a retried leave whose first reply was lost; every earlier outcome is known.
  if (leave && outcome.outcome == Outcome::kGoneSessionUnknown) {
    std::erase(slot.undecided, operation);
    PartOutcome done = outcome;
    done.outcome = Outcome::kOk;
    done.error = absl::OkStatus();
    return Decide(slot, operation, done);
  }
  const bool newer = outcome.incarnation > slot.incarnation || slot.resuming;
  EndSession(GoneStatus(outcome.outcome, outcome.error, newer, server));
}

// A session is fenced also because another server lost it; only the coordinator knows.
void ClientCore::EndBecause(const absl::Status& why) {
  if (DetailOf(why) != Detail::kFenced) return EndSession(why);
  if (!ending_.ok()) return;
  ending_ = why;
  effects_.confirm_end = true;
  Later(options_.reply_timeout, [this] { EndAsTold(); });
}

void ClientCore::EndAsTold() {
  if (!ending_.ok()) EndSession(ending_);
}

// A session is known in every server before its first operation (S1). One that is unknown in a
// newer incarnation was lost with it.
absl::Status ClientCore::GoneStatus(Outcome outcome, const absl::Status& error,
                                    bool newer_incarnation, const Server& server) const {
  const std::string why = error.ok() ? "" : fmt::format(" ({})", MessageOf(error));
  if (outcome == Outcome::kGoneSessionUnknown && newer_incarnation) {
    outcome = Outcome::kGoneSessionLost;
  }
  switch (outcome) {
    case Outcome::kGoneFenced:
      return MakeError(absl::StatusCode::kNotFound, Detail::kFenced,
                       "the session was fenced: its lease ran out or its rank was taken over{}; "
                       "open a new one with Rejoin",
                       why);
    case Outcome::kGoneSessionUnknown:
      return MakeError(absl::StatusCode::kNotFound, Detail::kSessionUnknown,
                       "{} does not know the session{}; open a new one with Rejoin",
                       server.endpoint, why);
    case Outcome::kGoneAlreadyDecided:
      return MakeError(absl::StatusCode::kInternal, Detail::kAlreadyDecided,
                       "{} no longer keeps the outcome of an operation{}", server.endpoint, why);
    case Outcome::kGoneJobFailed:
      return MakeError(absl::StatusCode::kAborted, Detail::kJobFailed, "the job failed{}", why);
    default:
      return MakeError(absl::StatusCode::kDataLoss, Detail::kSessionLost,
                       "{} restarted and lost the session's state{}; what was pushed there is "
                       "gone. Open a new session with Rejoin",
                       server.endpoint, why);
  }
}

// J5.
void ClientCore::OnResumed(Server& server, const InFlight& frame, const OutcomesFrame& reply) {
  if (EndsSession(DetailOf(reply.error))) {
    return EndBecause(GoneStatus(OutcomeOf(DetailOf(reply.error)), reply.error, true, server));
  }
  for (const PartOutcome& part : reply.parts) {
    if (part.slot.value() >= slots_.size()) continue;
    SlotState& slot = Slot(part.slot);
    if (IsGone(part.outcome)) return EndBecause(GoneStatus(part.outcome, part.error, true, server));
    if (part.incarnation > slot.incarnation) slot.incarnation = part.incarnation;
    if (!slot.resuming || part.outcome != Outcome::kOk || part.incarnation < slot.incarnation) {
      continue;
    }
    if (part.sequence < slot.told) {
      return EndBecause(GoneStatus(Outcome::kGoneSessionLost, part.error, true, server));
    }
    slot.resuming = false;
    to_admit_.push_back(part.slot);
  }
  for (const SlotId id : frame.resumed) {
    if (!Slot(id).resuming) continue;
    Later(NextBackoff(Slot(id).backoff), [this, id] { ServerOf(id).resume.push_back(id); });
  }
}

void ClientCore::OnFrameRefused(Server& server, InFlight& frame, const absl::Status& error) {
  server.last_error = error;
  if (EndsSession(DetailOf(error))) {
    return EndBecause(GoneStatus(OutcomeOf(DetailOf(error)), error, false, server));
  }
  if (DetailOf(error) == Detail::kWrongOwner) effects_.refresh_map = true;
  const bool retry = WorthARetry(error);
  for (const OperationPtr& operation : frame.operations) {
    if (operation->request_id != frame.request_id) continue;
    if (operation->state != Operation::State::kInFlight) continue;
    BlockSlot(operation->slot);
    if (retry || operation->cancelled) continue;
    const std::shared_ptr<Call>& call = operation->bundle->call;
    if (operation->bundle->kind != OperationKind::kPush) {
      return EndSession(Annotate(error, call->what + " was refused by " + server.endpoint));
    }
    // No number was used up (S3): the operation becomes a placeholder that does.
    Complete(call, Annotate(error, call->what));
    GiveUp(*operation);
  }
  RequeueOperations(frame);
}

// --- Pulls.

void ClientCore::OnPullReply(Server& server, uint64_t request_id, const PullReplyFrame& reply) {
  if (reply.epoch > session_.map.epoch()) effects_.refresh_map = true;
  const auto found = server.pulls_in_flight.find(request_id);
  if (found == server.pulls_in_flight.end()) return;  // asked for again since, or given up
  const PullRequestPtr request = found->second;
  ReleasePull(server, request_id);
  if (request->pull->call->completed) return;
  if (!reply.error.ok()) return OnPullRefused(server, request, reply);
  for (const PullPartReply& part : reply.parts) {
    // S7: rows of an older incarnation are not these rows.
    const bool known = part.slot.value() < slots_.size();
    if (known && part.incarnation < Slot(part.slot).incarnation) return RetryPull(request, false);
  }
  OnPullAnswered(request, reply);
}

void ClientCore::OnPullAnswered(const PullRequestPtr& request, const PullReplyFrame& reply) {
  PullCall& pull = *request->pull;
  const absl::Status taken = pull.plan.Take(request->unit, reply);
  if (!taken.ok()) return Complete(pull.call, Annotate(taken, pull.call->what));
  stats_.bytes_received += request->unit.reply_bytes;
  CountStaleness(pull, reply);
  if (--pull.open_requests > 0) return;
  std::vector<PullUnit*> units;
  for (const PullRequestPtr& each : pull.requests) units.push_back(&each->unit);
  pull.plan.Finish(units);
  pull.requests.clear();
  Complete(pull.call, absl::OkStatus());
}

void ClientCore::OnPullRefused(Server& server, const PullRequestPtr& request,
                               const PullReplyFrame& reply) {
  const Detail detail = DetailOf(reply.error);
  const bool slot_known = reply.error_slot.value() < slots_.size();
  // While a slot resumes, the newer incarnation is known already, from the map or another reply.
  const bool newer = slot_known && (Slot(reply.error_slot).resuming ||
                                    reply.error_incarnation > Slot(reply.error_slot).incarnation);
  if (EndsSession(detail)) {
    return EndBecause(GoneStatus(OutcomeOf(detail), reply.error, newer, server));
  }
  if (!WorthARetry(reply.error)) {
    return Complete(request->pull->call, Annotate(reply.error, request->pull->call->what));
  }
  if (detail == Detail::kWrongOwner) effects_.refresh_map = true;
  if (detail == Detail::kResumeFirst && slot_known) {
    NeedResume(reply.error_slot, reply.error_incarnation);
    to_admit_.push_back(reply.error_slot);
  }
  server.last_error = reply.error;
  // A read whose parking time is over is parked again at once; other refusals come sooner, and
  // wait.
  const bool parked = now_ - request->sent_at >= options_.reply_timeout / 2;
  if (parked) request->backoff = {};
  RetryPull(request, !parked);
}

void ClientCore::RetryPull(const PullRequestPtr& request, bool backoff) {
  if (!backoff) return QueuePull(request);
  Later(NextBackoff(request->backoff), [this, request] { QueuePull(request); });
}

void ClientCore::CountStaleness(const PullCall& pull, const PullReplyFrame& reply) {
  if (!session_.clocked) return;
  for (const PullPartReply& part : reply.parts) {
    const int64_t staleness = std::max<int64_t>(0, pull.clock - part.min_clock);
    ++stats_.staleness_parts;
    stats_.staleness_sum += static_cast<uint64_t>(staleness);
    stats_.staleness_max = std::max(stats_.staleness_max, staleness);
  }
}

}  // namespace syncline
