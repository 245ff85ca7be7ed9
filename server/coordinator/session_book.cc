#include "server/coordinator/session_book.h"

#include <algorithm>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline::coordinator {
namespace {

absl::Status OverError(SessionId id, SessionState state) {
  constexpr auto kCode = absl::StatusCode::kNotFound;
  switch (state) {
    case SessionState::kLost:
      return MakeError(kCode, Detail::kSessionLost,
                       "session {}: a server restarted and lost its state; open a new session",
                       id.ToString());
    case SessionState::kFencing:
    case SessionState::kFenced:
      return MakeError(kCode, Detail::kFenced,
                       "session {}: its lease expired, or its rank was taken over; open a new "
                       "session",
                       id.ToString());
    default:
      return MakeError(kCode, Detail::kSessionUnknown,
                       "session {} is not known; open a new session", id.ToString());
  }
}

}  // namespace

std::string_view SessionStateName(SessionState state) {
  switch (state) {
    case SessionState::kOpening:
      return "opening";
    case SessionState::kLive:
      return "live";
    case SessionState::kFencing:
      return "fencing";
    case SessionState::kFenced:
      return "fenced";
    case SessionState::kLost:
      return "lost";
    case SessionState::kLeft:
      return "left";
  }
  return "unknown";
}

Session& SessionBook::Add(Session session) {
  const SessionId id = session.id;
  if (session.clocked) by_rank_.emplace(std::make_pair(session.job, session.rank), id);
  if (!session.nonce.empty()) by_nonce_[NonceOf(session)] = id;
  return sessions_[id] = std::move(session);
}

void SessionBook::End(SessionId id, SessionState state) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  const Session& s = it->second;
  ended_.push_back({.id = id,
                    .job = s.job,
                    .job_name = {},
                    .rank = s.rank,
                    .clocked = s.clocked,
                    .client = s.client,
                    .principal = s.principal,
                    .report = s.report,
                    .lease_left = std::chrono::milliseconds(0),
                    .state = state});
  if (ended_.size() > kMaxEndedSessions) ended_.pop_front();
  auto [first, last] = by_rank_.equal_range({s.job, s.rank});
  const auto rank = std::find_if(first, last, [&](const auto& e) { return e.second == id; });
  if (rank != last) by_rank_.erase(rank);
  const auto nonce = by_nonce_.find(NonceOf(s));
  if (nonce != by_nonce_.end() && nonce->second == id) by_nonce_.erase(nonce);
  sessions_.erase(it);
}

Session* SessionBook::Find(SessionId id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

const SessionInfo* SessionBook::FindEnded(SessionId id) const {
  const auto it = std::find_if(ended_.rbegin(), ended_.rend(),
                               [id](const SessionInfo& info) { return info.id == id; });
  return it == ended_.rend() ? nullptr : &*it;
}

absl::StatusOr<Session*> SessionBook::Verify(const SessionKey& key) {
  Session* const session = Find(key.id);
  if (session == nullptr) return CheckNotOver(key.id);
  if (session->principal != key.principal) {
    return MakeError(absl::StatusCode::kPermissionDenied, Detail::kNone,
                     "session {} belongs to another principal than {}; open one of your own",
                     key.id.ToString(), key.principal.name);
  }
  if (session->token != key.token) return OverError(key.id, SessionState::kLeft);
  return session;
}

absl::StatusOr<Session*> SessionBook::VerifyLive(const SessionKey& key) {
  ASSIGN_OR_RETURN(Session* const session, Verify(key));
  if (session->over()) return OverError(key.id, session->state);
  return session;
}

absl::Status SessionBook::CheckNotOver(SessionId id) const {
  const auto it = sessions_.find(id);
  if (it != sessions_.end()) {
    return it->second.over() ? OverError(id, it->second.state) : absl::OkStatus();
  }
  const SessionInfo* const note = FindEnded(id);
  return OverError(id, note == nullptr ? SessionState::kLeft : note->state);
}

bool SessionBook::HasLeft(const SessionKey& key) const {
  if (const auto it = sessions_.find(key.id); it != sessions_.end()) {
    return it->second.state == SessionState::kLeft && it->second.principal == key.principal;
  }
  const SessionInfo* const note = FindEnded(key.id);
  return note != nullptr && note->state == SessionState::kLeft && note->principal == key.principal;
}

Session* SessionBook::FindByNonce(JobId job, const Principal& principal, const std::string& nonce) {
  if (nonce.empty()) return nullptr;
  const auto it = by_nonce_.find({job, principal.name, nonce});
  return it == by_nonce_.end() ? nullptr : Find(it->second);
}

std::vector<Session*> SessionBook::OfRank(JobId job, Rank rank) {
  std::vector<Session*> found;
  const auto [first, last] = by_rank_.equal_range({job, rank});
  for (auto it = first; it != last; ++it) found.push_back(Find(it->second));
  return found;
}

std::optional<Rank> SessionBook::LowestFreeRank(JobId job, int32_t ranks) const {
  for (Rank rank(0); rank < Rank(ranks); ++rank) {
    const auto [first, last] = by_rank_.equal_range({job, rank});
    const bool held = std::any_of(
        first, last, [this](const auto& entry) { return !sessions_.at(entry.second).over(); });
    if (!held) return rank;
  }
  return std::nullopt;
}

}  // namespace syncline::coordinator
