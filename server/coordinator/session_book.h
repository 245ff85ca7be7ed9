// The sessions that exist, by id, rank and nonce.
#ifndef SYNCLINE_SERVER_COORDINATOR_SESSION_BOOK_H_
#define SYNCLINE_SERVER_COORDINATOR_SESSION_BOOK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "common/time_source.h"
#include "common/types.h"
#include "server/coordinator/coordinator_types.h"

namespace syncline::coordinator {

// A client's request that waits; answered UNAVAILABLE at the deadline.
struct Waiter {
  RequestId request = 0;
  MonotonicTime deadline;
};

struct Session {
  SessionId id;
  Token token;
  JobId job;
  Rank rank = kNoRank;
  bool clocked = false;
  std::string client;
  std::string nonce;
  Principal principal;
  SessionState state = SessionState::kOpening;
  // Servers that were or will be told of the session, with the boot meant. Empty: it waits for the
  // fences of its rank's earlier sessions (S1).
  std::map<ServerId, uint64_t> installed_on;
  Clock start;
  MonotonicTime lease_end = MonotonicTime::Max();
  std::chrono::milliseconds lease{0};
  WorkerReport report;
  std::vector<Waiter> waiters;

  bool over() const { return state != SessionState::kOpening && state != SessionState::kLive; }
};

// A session stays here until every server has acknowledged its end; then only a note of it is kept
// (kMaxEndedSessions of them).
//
// Pure and single-threaded. Pointers stay valid until End.
class SessionBook {
 public:
  Session& Add(Session session);
  // Forgets a session; its note keeps `state`.
  void End(SessionId id, SessionState state);

  Session* Find(SessionId id);
  // The session that the client proves to own, whatever its state.
  // Errors: NOT_FOUND with detail SESSION_UNKNOWN, or with FENCED, SESSION_LOST for ended ones;
  // PERMISSION_DENIED (another principal).
  absl::StatusOr<Session*> Verify(const SessionKey& key);
  // Not over: for heartbeats and leases. Errors as Verify.
  absl::StatusOr<Session*> VerifyLive(const SessionKey& key);
  // The same for callers that show no token. Errors: NOT_FOUND with its detail.
  absl::Status CheckNotOver(SessionId id) const;
  bool HasLeft(const SessionKey& key) const;
  Session* FindByNonce(JobId job, const Principal& principal, const std::string& nonce);

  // Sessions of a rank that are still here, oldest first.
  std::vector<Session*> OfRank(JobId job, Rank rank);
  // The lowest rank below `ranks` that no opening or live session holds.
  std::optional<Rank> LowestFreeRank(JobId job, int32_t ranks) const;

  std::map<SessionId, Session>& sessions() { return sessions_; }
  const std::deque<SessionInfo>& ended() const { return ended_; }

 private:
  using Nonce = std::tuple<JobId, std::string, std::string>;

  static Nonce NonceOf(const Session& s) { return {s.job, s.principal.name, s.nonce}; }
  const SessionInfo* FindEnded(SessionId id) const;

  std::map<SessionId, Session> sessions_;
  std::multimap<std::pair<JobId, Rank>, SessionId> by_rank_;  // clocked ones
  std::map<Nonce, SessionId> by_nonce_;
  std::deque<SessionInfo> ended_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_SESSION_BOOK_H_
