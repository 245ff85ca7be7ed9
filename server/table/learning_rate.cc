#include "server/table/learning_rate.h"

#include <iterator>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {

absl::Status LearningRate::Change(Clock from_clock, double lr) {
  constexpr double kMaxFloat = 3.4028234663852886e38;
  if (!(lr > 0 && lr <= kMaxFloat) || static_cast<float>(lr) == 0) {
    return InvalidArgument("learning rate {} from clock {}: must be above 0 and a finite float", lr,
                           from_clock.value());
  }
  if (changes_.size() >= kMaxLearningRateChanges && !changes_.contains(from_clock)) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "a table remembers {} learning-rate changes; change it less often",
                     kMaxLearningRateChanges);
  }
  changes_[from_clock] = static_cast<float>(lr);
  return absl::OkStatus();
}

float LearningRate::At(Clock push_clock) const {
  const auto later = changes_.upper_bound(push_clock);
  return later == changes_.begin() ? base_ : std::prev(later)->second;
}

}  // namespace syncline
