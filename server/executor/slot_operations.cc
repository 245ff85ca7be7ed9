// Sequence, ticks, leaves and resumes (PROTOCOL.md S1 to S4, C1, R2, R3).
#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "server/executor/slot_core_impl.h"

namespace syncline {
namespace {

// Beyond any clock that a job reaches, and far from where clock arithmetic would overflow.
constexpr Clock kMaxClock{int64_t{1} << 60};

absl::Status JobFailed(const JobDeclaration& job, const std::string& reason) {
  return MakeError(absl::StatusCode::kAborted, Detail::kJobFailed, "job {} failed: {}", job.name,
                   reason);
}

absl::Status CheckTick(const Session& session, const TickOperation& tick) {
  const SessionDeclaration& who = session.declaration;
  if (!who.clocked) {
    return InvalidArgument("session {} is clockless and has no clock to tick; open it with a rank",
                           who.id.ToString());
  }
  if (tick.ends_round.value() < 0 || tick.clock.value() <= tick.ends_round.value() ||
      tick.clock > kMaxClock) {
    return InvalidArgument("a tick that ends round {} sets a clock above it, got {}",
                           tick.ends_round.value(), tick.clock.value());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SlotCore::Impl::IncarnationError(Incarnation named) const {
  return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kResumeFirst,
                   "slot {} is in incarnation {}, the request names {}; resume, then retry",
                   slot.value(), incarnation.value(), named.value());
}

// The order of the checks is the contract of SlotCore: session, token and principal, incarnation,
// job, sequence.
SlotCore::Impl::Asked SlotCore::Impl::Begin(const Caller& caller, Incarnation named,
                                            Sequence sequence) {
  Asked asked;
  asked.sequence = sequence;
  SessionTable::Lookup found = sessions.Find(caller, named);  // S1
  if (found.session == nullptr) {
    asked.answer = Answer(nullptr, nullptr, sequence, {found.gone, std::move(found.error)});
    return asked;
  }
  asked.session = found.session;
  asked.job = &JobOf(found.session->declaration.job);
  std::optional<Verdict> verdict;
  if (named != incarnation) {  // S7
    verdict = {Outcome::kRetryResumeFirst, IncarnationError(named)};
  } else if (asked.job->failure) {
    verdict = {Outcome::kGoneJobFailed, JobFailed(asked.job->declaration, *asked.job->failure)};
  } else {
    verdict = CheckPlace(asked);
  }
  if (verdict) asked.answer = Answer(asked.job, asked.session, sequence, *verdict);
  return asked;
}

// S2 and S4. Nullopt: the operation is the next one, decide it.
std::optional<Verdict> SlotCore::Impl::CheckPlace(const Asked& asked) const {
  const OutcomeLog& log = asked.session->log;
  switch (log.PlaceOf(asked.sequence)) {
    case OutcomeLog::Place::kNext:
      return std::nullopt;
    case OutcomeLog::Place::kDecided:
      return Verdict{log.OutcomeOf(asked.sequence), log.ReasonOf(asked.sequence)};
    case OutcomeLog::Place::kForgotten:
      return Verdict{Outcome::kGoneAlreadyDecided,
                     MakeError(absl::StatusCode::kFailedPrecondition, Detail::kAlreadyDecided,
                               "operation {} is decided and only the last {} outcomes are kept; "
                               "keep fewer operations unanswered",
                               asked.sequence.value(), kOutcomeWindow)};
    case OutcomeLog::Place::kGap:
      break;
  }
  return Verdict{Outcome::kRetryOutOfOrder,
                 MakeError(absl::StatusCode::kFailedPrecondition, Detail::kOutOfOrder,
                           "operation {} arrived, {} is expected; resend from there",
                           asked.sequence.value(), log.expected().value())};
}

PartOutcome SlotCore::Impl::Finish(const Asked& asked, const Verdict& verdict, Effects& effects) {
  if (IsFinal(verdict.outcome)) {  // S3
    Session& session = *asked.session;
    session.log.Record(verdict.outcome, verdict.reason);
    Release(asked.job->reads.Decide(session.declaration.id, session.log.last()), absl::OkStatus(),
            effects);  // S6
    Settle(*asked.job, effects);
  }
  return Answer(asked.job, asked.session, asked.sequence, verdict);
}

PartOutcome SlotCore::Impl::Answer(const Job* job, const Session* session, Sequence sequence,
                                   const Verdict& verdict) const {
  PartOutcome part;
  part.slot = slot;
  part.incarnation = incarnation;
  part.sequence = sequence;
  part.outcome = verdict.outcome;
  part.error = verdict.reason;
  if (session != nullptr) {
    // Without a journal a session ends with the incarnation, so nothing decided can need resending.
    part.durable = session->log.last();
    if (verdict.outcome == Outcome::kRetryOutOfOrder) part.expected = session->log.expected();
  }
  if (job != nullptr) {
    part.oldest_round = job->rounds.oldest();
    part.min_clock = job->clocks.min_clock();
  }
  return part;
}

Verdict SlotCore::Impl::DecideTick(const Asked& asked, const TickOperation& tick) {
  if (absl::Status error = CheckTick(*asked.session, tick); !error.ok()) {
    return {Outcome::kInvalid, std::move(error)};
  }
  Job& job = *asked.job;
  const SessionId id = asked.session->declaration.id;
  const Contributor who = ContributorOf(*asked.session);
  const RoundTable::Place place = job.rounds.PlaceOf(tick.ends_round);
  if (place == RoundTable::Place::kBeyondWindow) {  // R3, by the round it ends
    return {Outcome::kRetryNotReady,
            MakeError(absl::StatusCode::kUnavailable, Detail::kNotReady,
                      "round {} is too far beyond {}, the oldest open one; retry later",
                      tick.ends_round.value(), job.rounds.oldest().value())};
  }
  if (place == RoundTable::Place::kClosed || tick.told == Outcome::kLate) {
    job.rounds.Discard(who, tick.ends_round);
    job.clocks.Raise(id, tick.clock);
    return {Outcome::kLate,
            MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                      "round {} closed without this tick; the oldest open round is {}",
                      tick.ends_round.value(), job.rounds.oldest().value())};
  }
  if (tick.ends_round.value() < job.clocks.ClockOf(id)->value()) {
    return {Outcome::kInvalid,
            InvalidArgument("the session has ended round {} and is in clock {}",
                            tick.ends_round.value(), job.clocks.ClockOf(id)->value())};
  }
  job.rounds.EndRound(who, tick.ends_round, tick.samples);
  job.clocks.Raise(id, tick.clock);  // C1: set, never counted
  return {};
}

PartOutcome SlotCore::Push(const Caller& caller, const PushOperation& push, Effects& effects) {
  const Impl::Asked asked = impl_->Begin(caller, push.incarnation, push.sequence);
  if (asked.answer) return *asked.answer;
  return impl_->Finish(asked, impl_->DecidePush(asked, push), effects);
}

PartOutcome SlotCore::Tick(const Caller& caller, const TickOperation& tick, Effects& effects) {
  const Impl::Asked asked = impl_->Begin(caller, tick.incarnation, tick.sequence);
  if (asked.answer) return *asked.answer;
  return impl_->Finish(asked, impl_->DecideTick(asked, tick), effects);
}

PartOutcome SlotCore::Leave(const Caller& caller, Incarnation incarnation, Sequence sequence,
                            Effects& effects) {
  const Impl::Asked asked = impl_->Begin(caller, incarnation, sequence);
  if (asked.answer) return *asked.answer;
  Impl::Job& job = *asked.job;
  const SessionId id = asked.session->declaration.id;
  job.clocks.Remove(id);
  job.rounds.Leave(Impl::ContributorOf(*asked.session));
  Impl::Release(job.reads.Drop(id),
                MakeError(absl::StatusCode::kNotFound, Detail::kSessionUnknown,
                          "session {} has left; open a new session", id.ToString()),
                effects);
  asked.session->log.Record(Outcome::kOk, absl::OkStatus());
  PartOutcome answer = impl_->Answer(&job, asked.session, sequence, {});
  impl_->sessions.Remove(id, SessionTable::End::kLeft);
  impl_->Settle(job, effects);
  answer.oldest_round = job.rounds.oldest();
  answer.min_clock = job.clocks.min_clock();
  return answer;
}

PartOutcome SlotCore::Resume(const Caller& caller, Incarnation incarnation) {
  SessionTable::Lookup found = impl_->sessions.Find(caller, incarnation);
  if (found.session == nullptr) {
    return impl_->Answer(nullptr, nullptr, Sequence(), {found.gone, std::move(found.error)});
  }
  const Impl::Job& job = impl_->JobOf(found.session->declaration.job);
  Verdict verdict;
  if (incarnation != impl_->incarnation) {
    verdict = {Outcome::kRetryResumeFirst, impl_->IncarnationError(incarnation)};
  } else if (job.failure) {
    verdict = {Outcome::kGoneJobFailed, JobFailed(job.declaration, *job.failure)};
  }
  return impl_->Answer(&job, found.session, found.session->log.last(), verdict);
}

}  // namespace syncline
