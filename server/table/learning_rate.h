// The learning rate of a table, by clock.
#ifndef SYNCLINE_SERVER_TABLE_LEARNING_RATE_H_
#define SYNCLINE_SERVER_TABLE_LEARNING_RATE_H_

#include <map>

#include "absl/status/status.h"

#include "common/types.h"

namespace syncline {

// A base rate and changes. A change names a clock c and holds for pushes issued at c or later, up
// to the next change. It is by the clock of the push, not by when it arrives: a push of an earlier
// clock that arrives late still gets the old rate, in every slot the same.
//
// Not thread-safe.
class LearningRate {
 public:
  // REQUIRES: base is above 0 and finite.
  explicit LearningRate(float base) : base_(base) {}

  // A second change from the same clock replaces the first.
  // Errors, nothing changed: INVALID_ARGUMENT when lr is not a finite float above 0;
  // RESOURCE_EXHAUSTED (OVERLOADED) beyond kMaxLearningRateChanges.
  absl::Status Change(Clock from_clock, double lr);

  float At(Clock push_clock) const;

 private:
  float base_;
  std::map<Clock, float> changes_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_TABLE_LEARNING_RATE_H_
