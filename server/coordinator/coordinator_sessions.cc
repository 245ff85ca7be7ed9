// The sessions' part of CoordinatorCore: joining in two steps (C5), leases and fences (C6, S1).
#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/limits.h"
#include "common/status/status.h"
#include "server/coordinator/coordinator_core.h"

namespace syncline::coordinator {
namespace {

absl::Status JobFailed(const JobInfo& job) {
  return MakeError(absl::StatusCode::kAborted, Detail::kJobFailed,
                   "job {} has failed: {}; start a job of another name", job.spec.name,
                   job.failure);
}

}  // namespace

// --- Joining ----------------------------------------------------------------------------------

void CoordinatorCore::OpenSession(RequestId request, const JoinRequest& join, MonotonicTime now,
                                  Effects& effects) {
  const absl::StatusOr<Session*> found = FindOrAddSession(join, now, effects);
  if (!found.ok()) return effects.answers.push_back({request, found.status()});
  Session& session = **found;
  if (session.state == SessionState::kLive) {
    return effects.answers.push_back({request, MakeJoinResult(session)});
  }
  session.waiters.push_back({request, now + kServersAnswerTimeout});
  if (session.installed_on.empty()) {
    if (session.clocked) return StartWhenFenced(session.job, session.rank, now, effects);
    StartInstall(session, now, effects);
  }
}

absl::StatusOr<Session*> CoordinatorCore::FindOrAddSession(const JoinRequest& join,
                                                           MonotonicTime now, Effects& effects) {
  if (join.client.size() > kMaxClientTextBytes || join.nonce.size() > kMaxClientTextBytes) {
    return InvalidArgument("client and nonce have at most {} bytes each", kMaxClientTextBytes);
  }
  ASSIGN_OR_RETURN(Job* const job, catalog_.FindJob(join.job));
  Session* const repeated = book_.FindByNonce(job->info.id, join.principal, join.nonce);
  if (repeated != nullptr && !repeated->over()) return repeated;
  if (job->info.state == JobState::kFailed) return JobFailed(job->info);
  RETURN_IF_ERROR(registry_.CheckAllPresent());
  if (book_.sessions().size() >= kMaxSessionsPerServer) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "the cluster has {} sessions, the limit; close some", kMaxSessionsPerServer);
  }
  Rank rank = kNoRank;
  if (join.clocked) {
    ASSIGN_OR_RETURN(rank, ChooseRank(*job, join));
    RETURN_IF_ERROR(MakeRoom(*job, join, rank, now, effects));
    if (job->info.state == JobState::kStarting && job->start_deadline == MonotonicTime::Max()) {
      job->start_deadline = now + job->info.spec.start_timeout;
    }
  }
  return &AddSession(*job, join, rank, effects);
}

absl::StatusOr<Rank> CoordinatorCore::ChooseRank(const Job& job, const JoinRequest& join) {
  const JobSpec& spec = job.info.spec;
  if (spec.ranks == 0) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "job {} declares no ranks, so no clocked session may join; create the job "
                     "with ranks",
                     spec.name);
  }
  if (join.rank == kNoRank) {
    if (spec.reproducible) {
      return InvalidArgument("job {} is reproducible: its workers join with a rank of their own",
                             spec.name);
    }
    const std::optional<Rank> free = book_.LowestFreeRank(job.info.id, spec.ranks);
    if (free) return *free;
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kNone,
                     "all {} ranks of job {} are held by live sessions; wait for one to end, or "
                     "take over a rank by its number",
                     spec.ranks, spec.name);
  }
  if (join.rank < Rank(0) || join.rank >= Rank(spec.ranks)) {
    return InvalidArgument("rank {} is not one of job {}'s, 0 to {}", join.rank.value(), spec.name,
                           spec.ranks - 1);
  }
  return join.rank;
}

// A live session of the rank is fenced when the newcomer takes over, and refuses it otherwise.
absl::Status CoordinatorCore::MakeRoom(const Job& job, const JoinRequest& join, Rank rank,
                                       MonotonicTime now, Effects& effects) {
  for (Session* const holder : book_.OfRank(job.info.id, rank)) {
    if (holder->over()) continue;
    if (!join.take_over) {
      return MakeError(absl::StatusCode::kAlreadyExists, Detail::kNone,
                       "rank {} of job {} is held by session {} ({}); wait for its lease to end, "
                       "or join with take_over",
                       rank.value(), job.info.spec.name, holder->id.ToString(), holder->client);
    }
    LoseRank(*holder, "it was taken over", now, effects);
    Fence(*holder, SessionState::kFencing,
          MakeError(absl::StatusCode::kNotFound, Detail::kFenced,
                    "rank {} was taken over by {}; open a new session", rank.value(), join.client),
          now, effects);
  }
  if (job.info.state == JobState::kFailed) return JobFailed(job.info);
  return absl::OkStatus();
}

Session& CoordinatorCore::AddSession(const Job& job, const JoinRequest& join, Rank rank,
                                     Effects& effects) {
  Session session;
  session.id = {random_.Next(), random_.Next()};
  session.token = cluster_.next_token;
  ++cluster_.next_token;
  PersistCluster(effects);
  session.job = job.info.id;
  session.rank = rank;
  session.clocked = join.clocked;
  session.client = join.client;
  session.nonce = join.nonce;
  session.principal = join.principal;
  session.lease = job.info.spec.lease;
  return book_.Add(std::move(session));
}

// S1: the rank's newest session is installed once all its earlier ones are gone everywhere.
void CoordinatorCore::StartWhenFenced(JobId job, Rank rank, MonotonicTime now, Effects& effects) {
  const std::vector<Session*> sessions = book_.OfRank(job, rank);
  if (sessions.size() != 1) return;
  Session& session = *sessions.front();
  if (session.over() || !session.installed_on.empty()) return;
  StartInstall(session, now, effects);
}

// C5, step one.
void CoordinatorCore::StartInstall(Session& session, MonotonicTime now, Effects& effects) {
  for (const auto& [id, server] : registry_.servers()) {
    session.installed_on[id] = server.entry.boot;
  }
  effects.persist[KeyOf(session)] = Encode(session);
  Operation operation;
  operation.kind = Operation::Kind::kInstall;
  operation.session = session.id;
  Broadcast(InstallSession{session.id, session.token, session.job, session.rank, session.clocked,
                           session.principal, Clock(0)},
            &operation, now, effects);
  AddOperation(std::move(operation), now, effects);
}

// C5, step two: the greatest clock that any slot gave becomes the session's clock in every slot.
void CoordinatorCore::OnInstalled(Session& session, const Operation& operation, MonotonicTime now,
                                  Effects& effects) {
  session.start = operation.clock;
  if (!session.clocked) return GoLive(session, now, effects);
  Operation set;
  set.kind = Operation::Kind::kSetClock;
  set.session = session.id;
  Broadcast(SetSessionClock{session.id, session.start}, &set, now, effects);
  AddOperation(std::move(set), now, effects);
}

void CoordinatorCore::GoLive(Session& session, MonotonicTime now, Effects& effects) {
  Job& job = catalog_.At(session.job);
  if (job.info.state == JobState::kFailed) {
    return Fence(session, SessionState::kFencing, JobFailed(job.info), now, effects);
  }
  session.state = SessionState::kLive;
  session.lease_end = now + session.lease;
  session.report.clock = session.start;
  effects.persist[KeyOf(session)] = Encode(session);
  if (session.clocked && job.joined.insert(session.rank.value()).second) {
    job.info.ranks_joined = static_cast<int32_t>(job.joined.size());
    if (job.info.ranks_joined == job.info.spec.ranks) {
      job.info.state = JobState::kRunning;
      job.start_deadline = MonotonicTime::Max();
    }
    effects.persist[KeyOf(job)] = Encode(job);
  }
  for (const Waiter& waiter : std::exchange(session.waiters, {})) {
    effects.answers.push_back({waiter.request, MakeJoinResult(session)});
  }
}

JoinResult CoordinatorCore::MakeJoinResult(const Session& session) {
  return {session.id,    session.token, session.rank,
          session.start, session.lease, catalog_.At(session.job).info,
          GetMap()};
}

void CoordinatorCore::AnswerWaiters(Session& session, const absl::Status& status,
                                    Effects& effects) {
  for (const Waiter& waiter : std::exchange(session.waiters, {})) {
    effects.answers.push_back({waiter.request, status});
  }
}

// --- Ending -----------------------------------------------------------------------------------

// C6: a reproducible job stops, by name, when a rank is lost.
void CoordinatorCore::LoseRank(const Session& session, std::string_view why, MonotonicTime now,
                               Effects& effects) {
  Job& job = catalog_.At(session.job);
  if (!session.clocked || !job.info.spec.reproducible) return;
  FailJob(job,
          fmt::format("rank {} ({}) was lost: {}; a reproducible job cannot go on without it",
                      session.rank.value(), session.client, why),
          now, effects);
}

void CoordinatorCore::Fence(Session& session, SessionState state, const absl::Status& why,
                            MonotonicTime now, Effects& effects) {
  session.state = state;
  session.lease_end = MonotonicTime::Max();
  pieces_.Return(session.id);
  AnswerWaiters(session, why, effects);
  std::erase_if(operations_, [&](const auto& entry) {
    return entry.second.session == session.id && entry.second.kind != Operation::Kind::kFence;
  });
  // A session that waited for its turn is known to no server.
  if (!session.installed_on.empty()) effects.persist[KeyOf(session)] = Encode(session);
  AddOperation(MakeFence(session, now, effects), now, effects);
}

// Every server that holds the session and still runs must acknowledge.
CoordinatorCore::Operation CoordinatorCore::MakeFence(const Session& session, MonotonicTime now,
                                                      Effects& effects) {
  Operation operation;
  operation.kind = Operation::Kind::kFence;
  operation.session = session.id;
  for (const auto& [id, boot] : session.installed_on) {
    const ServerRegistry::Server* const server = registry_.Find(id);
    if (server == nullptr || server->entry.boot != boot) continue;
    operation.waiting[id] =
        queues_.started(id) ? queues_.Add(id, FenceSession{session.id}, now, effects.commands) : 0;
  }
  return operation;
}

void CoordinatorCore::OnFenced(Session& session, MonotonicTime now, Effects& effects) {
  const JobId job = session.job;
  const Rank rank = session.rank;
  const bool clocked = session.clocked;
  if (!session.installed_on.empty()) effects.persist[KeyOf(session)] = std::nullopt;
  const bool fencing = session.state == SessionState::kFencing;
  book_.End(session.id, fencing ? SessionState::kFenced : session.state);
  if (clocked) StartWhenFenced(job, rank, now, effects);
}

absl::Status CoordinatorCore::CloseSession(const SessionKey& key, MonotonicTime now,
                                           Effects& effects) {
  if (book_.HasLeft(key)) return absl::OkStatus();
  ASSIGN_OR_RETURN(Session* const session, book_.VerifyLive(key));
  if (session->state == SessionState::kOpening) {
    Fence(*session, SessionState::kFencing,
          MakeError(absl::StatusCode::kCancelled, Detail::kNone, "the session was closed"), now,
          effects);
    return absl::OkStatus();
  }
  pieces_.Return(session->id);
  session->state = SessionState::kLeft;
  session->lease_end = MonotonicTime::Max();
  effects.persist[KeyOf(*session)] = Encode(*session);
  // A slot in which the client did not leave would count its clock for ever; where it did leave,
  // the fence changes nothing.
  AddOperation(MakeFence(*session, now, effects), now, effects);
  return absl::OkStatus();
}

absl::StatusOr<HeartbeatResult> CoordinatorCore::Heartbeat(const SessionKey& key,
                                                           const WorkerReport& report,
                                                           MonotonicTime now) {
  ASSIGN_OR_RETURN(Session* const session, book_.VerifyLive(key));
  session->report = report;
  if (session->state == SessionState::kLive) session->lease_end = now + session->lease;
  HeartbeatResult result;
  if (registry_.map() != nullptr) result.epoch = registry_.map()->epoch();
  result.lease = session->lease;
  const JobInfo& job = catalog_.At(session->job).info;
  if (job.state == JobState::kFailed) result.job_error = JobFailed(job);
  return result;
}

void CoordinatorCore::ExpireLeases(MonotonicTime now, Effects& effects) {
  std::vector<SessionId> due;
  for (const auto& [id, session] : book_.sessions()) {
    if (session.state == SessionState::kLive && session.lease_end <= now) due.push_back(id);
  }
  for (SessionId id : due) {
    Session& session = *book_.Find(id);
    LoseRank(session, "its lease expired", now, effects);
    Fence(session, SessionState::kFencing, absl::OkStatus(), now, effects);
  }
}

void CoordinatorCore::ExpireStarts(MonotonicTime now, Effects& effects) {
  for (auto& [id, job] : catalog_.jobs()) {
    if (job.start_deadline > now) continue;
    std::string missing;
    for (int32_t rank = 0; rank < job.info.spec.ranks; ++rank) {
      if (!job.joined.contains(rank) && missing.size() < kMaxErrorMessageBytes / 2) {
        missing += fmt::format(" {}", rank);
      }
    }
    FailJob(job,
            fmt::format("of {} declared ranks these did not join within {} ms of the first:{}",
                        job.info.spec.ranks, job.info.spec.start_timeout.count(), missing),
            now, effects);
  }
}

std::string CoordinatorCore::WaitsFor(SessionId session, MonotonicTime now) const {
  for (const auto& [number, operation] : operations_) {
    if (operation.session == session) return Describe(operation.waiting, now);
  }
  return " the fence of its rank's last session";
}

// Sessions without a nonce cannot be asked for again, so they end with their request.
void CoordinatorCore::ExpireWaiters(MonotonicTime now, Effects& effects) {
  std::vector<SessionId> abandoned;
  for (auto& entry : book_.sessions()) {
    Session& session = entry.second;
    const size_t before = session.waiters.size();
    std::erase_if(session.waiters, [&](const Waiter& waiter) {
      if (waiter.deadline > now) return false;
      effects.answers.push_back(
          {waiter.request, MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                                     "the session waits for{}; retry with the same nonce",
                                     WaitsFor(session.id, now))});
      return true;
    });
    if (before > 0 && session.waiters.empty() && session.nonce.empty()) {
      abandoned.push_back(session.id);
    }
  }
  for (SessionId id : abandoned) {
    Fence(*book_.Find(id), SessionState::kFencing, absl::OkStatus(), now, effects);
  }
}

// --- Lists and pieces -------------------------------------------------------------------------

SessionInfo CoordinatorCore::Describe(const Session& session, MonotonicTime now) {
  SessionInfo info{.id = session.id,
                   .job = session.job,
                   .job_name = catalog_.At(session.job).info.spec.name,
                   .rank = session.rank,
                   .clocked = session.clocked,
                   .client = session.client,
                   .principal = session.principal,
                   .report = session.report,
                   .lease_left = std::chrono::milliseconds(0),
                   .state = session.state};
  if (session.state == SessionState::kLive) {
    info.lease_left =
        std::chrono::duration_cast<std::chrono::milliseconds>(session.lease_end - now);
  }
  return info;
}

std::vector<SessionInfo> CoordinatorCore::ListSessions(bool include_ended, MonotonicTime now) {
  std::vector<SessionInfo> list;
  for (const auto& [id, session] : book_.sessions()) {
    if (session.state != SessionState::kLeft) list.push_back(Describe(session, now));
  }
  if (!include_ended) return list;
  for (const auto& [id, session] : book_.sessions()) {
    if (session.state == SessionState::kLeft) list.push_back(Describe(session, now));
  }
  for (const SessionInfo& note : book_.ended()) {
    list.push_back(note);
    list.back().job_name = catalog_.At(note.job).info.spec.name;
  }
  return list;
}

absl::Status CoordinatorCore::CheckReader(const Job& job, SessionId id) {
  RETURN_IF_ERROR(book_.CheckNotOver(id));
  if (book_.Find(id)->job == job.info.id) return absl::OkStatus();
  return MakeError(absl::StatusCode::kNotFound, Detail::kSessionUnknown,
                   "session {} is not one of job {}; open a session there", id.ToString(),
                   job.info.spec.name);
}

absl::Status CoordinatorCore::OpenPass(const std::string& job, uint64_t pass, uint64_t pieces) {
  ASSIGN_OR_RETURN(const Job* const found, catalog_.FindJob(job));
  if (found->info.spec.reproducible) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "job {} is reproducible: its workers read static pieces", job);
  }
  return pieces_.Open(found->info.id, pass, pieces);
}

absl::StatusOr<PieceLease> CoordinatorCore::LeasePiece(const std::string& job, uint64_t pass,
                                                       SessionId session) {
  ASSIGN_OR_RETURN(const Job* const found, catalog_.FindJob(job));
  RETURN_IF_ERROR(CheckReader(*found, session));
  return pieces_.Lease(found->info.id, pass, session);
}

absl::Status CoordinatorCore::ReportPiece(const std::string& job, uint64_t pass, uint64_t piece,
                                          SessionId session) {
  ASSIGN_OR_RETURN(const Job* const found, catalog_.FindJob(job));
  RETURN_IF_ERROR(CheckReader(*found, session));
  return pieces_.Report(found->info.id, pass, piece, session);
}

}  // namespace syncline::coordinator
