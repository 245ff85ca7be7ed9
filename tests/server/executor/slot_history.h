// A random history of one slot, checked twice: against a plain model, and by witness rows alone.
#ifndef SYNCLINE_TESTS_SERVER_EXECUTOR_SLOT_HISTORY_H_
#define SYNCLINE_TESTS_SERVER_EXECUTOR_SLOT_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace syncline {

struct HistoryReport {
  // What a reader saw that the promises exclude, judged without the model (I1 to I4 and I11).
  std::vector<std::string> violations;
  // Where SlotCore and the model differ; the history stops there.
  std::string difference;
  size_t served = 0;
  size_t parked = 0;
  size_t retried = 0;
  size_t as_stale_as_allowed = 0;  // reads that missed something only just allowed to be missing
};

struct HistoryOptions {
  uint64_t seed = 1;
  int steps = 300;
  // Off: only the witness rows judge, as they must for a slot that is wrong on purpose.
  bool compare_with_model = true;
};

HistoryReport RunSlotHistory(const HistoryOptions& options);

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SERVER_EXECUTOR_SLOT_HISTORY_H_
