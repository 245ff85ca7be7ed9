// What a training loop drives: one process's own model, or a model whose parameters live in a
// cluster.
#ifndef SYNCLINE_WORKER_DLRM_LEARNER_H_
#define SYNCLINE_WORKER_DLRM_LEARNER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "worker/data/batch.h"

namespace syncline {

struct StepResult {
  double loss_sum = 0;        // over the batch's samples, before the update
  std::vector<float> logits;  // the predictions that the loss judges
};

// Where the training stands, for progress reports. Sums since the learner was made.
struct LearnerStats {
  int64_t clock = 0;
  double wait_seconds = 0;  // waiting for parameters
  double staleness_mean = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

// Not thread-safe. After an error the learner is of no further use.
class Learner {
 public:
  virtual ~Learner() = default;

  // Trains on one batch (which may be empty: the round still ends) and ends the clock.
  // `reader_position` says where in the data this was.
  virtual absl::StatusOr<StepResult> Step(const Batch& batch, std::string_view reader_position) = 0;

  // A logit per sample, with the parameters as they are now. Trains nothing, makes no rows.
  virtual absl::StatusOr<std::vector<float>> Predict(const Batch& batch) = 0;

  // Returns when every rank has called it as often as this one.
  virtual absl::Status Barrier() = 0;

  // Ends the training: all updates are decided and nobody waits for this rank any more.
  virtual absl::Status Finish() = 0;

  virtual LearnerStats Stats() const = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_LEARNER_H_
