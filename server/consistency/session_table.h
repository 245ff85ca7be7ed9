// The sessions that one slot knows, and those it remembers as ended.
#ifndef SYNCLINE_SERVER_CONSISTENCY_SESSION_TABLE_H_
#define SYNCLINE_SERVER_CONSISTENCY_SESSION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "absl/status/status.h"

#include "common/types.h"
#include "common/wire/outcome.h"
#include "server/consistency/outcome_log.h"

namespace syncline {

struct SessionDeclaration {
  SessionId id;
  Token token;
  JobId job;
  Rank rank = kNoRank;
  bool clocked = false;
  Principal principal;
};

// Who calls: the session as the request names it, and the principal that the transport proves.
struct Caller {
  SessionId session;
  Token token;
  Principal principal;
};

struct Session {
  SessionDeclaration declaration;
  uint64_t life = 0;  // number of the installation in this slot: the same in every slot
  OutcomeLog log;
};

// Only the coordinator adds sessions (PROTOCOL.md S1); asking for an unknown one creates nothing.
//
// An ended session is remembered so that it cannot be installed again and so that a fenced one is
// answered as such. At most kMaxEndedSessionsPerSlot are (common/limits.h); after that a fenced
// session is merely unknown, which asks the same of the client: open a new one.
//
// Pure and single-threaded.
class SessionTable {
 public:
  explicit SessionTable(Incarnation incarnation) : incarnation_(incarnation) {}

  // Returns the new session, or null when it is known or ended: repeating changes nothing.
  Session* Install(const SessionDeclaration& declaration);

  struct Lookup {
    Session* session = nullptr;
    // When session is null: kGone*, and why.
    //   kGoneFenced          fenced here, or the token is older than the session's
    //   kGoneSessionLost     unknown here, and `named` is an older incarnation of this slot
    //   kGoneSessionUnknown  unknown here, another token, or another principal's
    //                        (PERMISSION_DENIED)
    Outcome gone = Outcome::kUnspecified;
    absl::Status error;
  };
  // `named`: the incarnation that the request names.
  Lookup Find(const Caller& caller, Incarnation named);
  // Null when unknown.
  const Session* Find(SessionId id) const;

  enum class End { kLeft, kFenced };
  // Unknown sessions are remembered too: a fence may come before its session. An end that is
  // remembered stays as it was.
  void Remove(SessionId id, End end);

  void ForEach(const std::function<void(const Session&)>& fn) const;  // by id
  size_t size() const { return sessions_.size(); }
  size_t ended() const { return ended_.size(); }

 private:
  Lookup Missing(const Caller& caller, Incarnation named) const;

  Incarnation incarnation_;
  std::map<SessionId, Session> sessions_;
  std::map<SessionId, End> ended_;
  std::deque<SessionId> ended_order_;
  uint64_t installs_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_CONSISTENCY_SESSION_TABLE_H_
