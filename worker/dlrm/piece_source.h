// Leased data pieces (PROTOCOL.md D1): who trains which part of the data is decided as it goes.
#ifndef SYNCLINE_WORKER_DLRM_PIECE_SOURCE_H_
#define SYNCLINE_WORKER_DLRM_PIECE_SOURCE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace syncline {

// The pieces of a pass are numbered from 0; each is held by one rank at a time until it is
// reported. Blocking; called by one thread. Errors that are not named: those of the session.
class PieceSource {
 public:
  struct Lease {
    bool pass_closed = false;       // every piece was reported
    std::optional<uint64_t> piece;  // unset: none is free now, ask again
  };

  virtual ~PieceSource() = default;

  // Idempotent for an equal number of pieces.
  virtual absl::Status OpenPass(uint64_t pass, uint64_t pieces) = 0;

  // Asked again before the report it gives the same piece.
  // Errors: NOT_FOUND without a detail, the pass is not open.
  virtual absl::StatusOr<Lease> LeasePiece(uint64_t pass) = 0;

  // Waits until every update of the piece is decided, then reports it. False: the coordinator does
  // not know any more that this rank holds the piece, so that somebody will train it again (D2).
  virtual absl::StatusOr<bool> ReportPiece(uint64_t pass, uint64_t piece) = 0;

  // Ends the clock without samples once a read in it is served, so that nobody waits for a rank
  // that has nothing to do; then pauses for kPieceAskInterval.
  virtual absl::Status Idle() = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_PIECE_SOURCE_H_
