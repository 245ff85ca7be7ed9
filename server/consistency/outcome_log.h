// One session's numbered operations in one slot: what comes next, and what became of the last ones.
#ifndef SYNCLINE_SERVER_CONSISTENCY_OUTCOME_LOG_H_
#define SYNCLINE_SERVER_CONSISTENCY_OUTCOME_LOG_H_

#include <array>
#include <cstdint>
#include <map>

#include "absl/status/status.h"

#include "common/limits.h"
#include "common/types.h"
#include "common/wire/outcome.h"

namespace syncline {

// Numbers are dense: 1, 2, 3, ... (PROTOCOL.md S2). Only final outcomes use one up (S3), and the
// last kOutcomeWindow of them are kept with their reasons, so that a retry is answered as the
// operation was (S4). Pure. Memory: 64 bytes, and the reasons of refusals within the window.
class OutcomeLog {
 public:
  enum class Place {
    kNext,       // decide it
    kDecided,    // a duplicate: answer what is stored
    kForgotten,  // a duplicate older than the window
    kGap         // an operation before it is missing
  };

  Place PlaceOf(Sequence sequence) const;

  // Stores the outcome of the next operation. REQUIRES: it is final.
  void Record(Outcome outcome, const absl::Status& reason);

  // REQUIRES: PlaceOf(sequence) == kDecided.
  Outcome OutcomeOf(Sequence sequence) const;
  absl::Status ReasonOf(Sequence sequence) const;

  Sequence last() const { return last_; }
  Sequence expected() const { return last_.Next(); }

 private:
  Sequence last_;
  std::array<Outcome, kOutcomeWindow> ring_{};
  std::map<Sequence, absl::Status> reasons_;  // of the outcomes in the ring that have one
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_CONSISTENCY_OUTCOME_LOG_H_
