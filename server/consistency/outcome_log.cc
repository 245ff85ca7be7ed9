#include "server/consistency/outcome_log.h"

#include "common/status/status.h"

namespace syncline {

OutcomeLog::Place OutcomeLog::PlaceOf(Sequence sequence) const {
  if (sequence > last_) return sequence == expected() ? Place::kNext : Place::kGap;
  if (sequence.value() == 0) return Place::kGap;  // numbers start at 1
  return last_ - sequence < kOutcomeWindow ? Place::kDecided : Place::kForgotten;
}

void OutcomeLog::Record(Outcome outcome, const absl::Status& reason) {
  SYNCLINE_CHECK(IsFinal(outcome), "only final outcomes use up a number (S3)");
  ++last_;
  ring_[last_.value() % kOutcomeWindow] = outcome;
  if (!reason.ok()) reasons_.emplace(last_, reason);
  while (!reasons_.empty() && last_ - reasons_.begin()->first >= kOutcomeWindow) {
    reasons_.erase(reasons_.begin());
  }
}

Outcome OutcomeLog::OutcomeOf(Sequence sequence) const {
  return ring_[sequence.value() % kOutcomeWindow];
}

absl::Status OutcomeLog::ReasonOf(Sequence sequence) const {
  const auto entry = reasons_.find(sequence);
  return entry == reasons_.end() ? absl::OkStatus() : entry->second;
}

}  // namespace syncline
