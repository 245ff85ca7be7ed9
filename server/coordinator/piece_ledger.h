// Leased data pieces: who reads which part of the data (PROTOCOL.md D1, D2).
#ifndef SYNCLINE_SERVER_COORDINATOR_PIECE_LEDGER_H_
#define SYNCLINE_SERVER_COORDINATOR_PIECE_LEDGER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/types.h"

namespace syncline::coordinator {

struct PieceLease {
  bool closed = false;            // every piece is reported
  std::optional<uint64_t> piece;  // nullopt: none is free now, ask again
};

// Every piece of a pass is handed to one session at a time and is done once it is reported. Pieces
// of a session that ended go back and are handed out first. Kept in memory only: after a restart of
// the coordinator its clients open the pass again and what was done is done again, counted (D2).
//
// Pure and single-threaded. Memory: a bit per piece of an open pass, at most kMaxOpenPieces.
class PieceLedger {
 public:
  // Idempotent for the same number of pieces.
  // Errors: INVALID_ARGUMENT (0 pieces or more than kMaxPiecesPerPass), ALREADY_EXISTS (another
  // number), RESOURCE_EXHAUSTED (kMaxPassesPerJob, kMaxOpenPieces).
  absl::Status Open(JobId job, uint64_t pass, uint64_t pieces);

  // A session holds one piece of a pass at a time: asking again before reporting gives the same
  // one, so that a lost reply loses no piece.
  // Errors: NOT_FOUND (the pass is not open).
  absl::StatusOr<PieceLease> Lease(JobId job, uint64_t pass, SessionId session);

  // Idempotent: reporting a piece that is done is OK.
  // Errors: NOT_FOUND; FAILED_PRECONDITION when the session does not hold the piece.
  absl::Status Report(JobId job, uint64_t pass, uint64_t piece, SessionId session);

  // Takes back what the session holds.
  void Return(SessionId session);

 private:
  struct Pass {
    uint64_t pieces = 0;
    uint64_t next = 0;  // never handed out yet: next, next + 1, ...
    uint64_t done_count = 0;
    std::vector<bool> done;  // empty once closed
    std::set<uint64_t> returned;
    std::map<SessionId, uint64_t> held;
    bool closed() const { return done_count == pieces; }
  };

  absl::StatusOr<Pass*> Find(JobId job, uint64_t pass);

  std::map<std::pair<JobId, uint64_t>, Pass> passes_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_PIECE_LEDGER_H_
