// A learner in one process, without servers.
#ifndef SYNCLINE_WORKER_DLRM_SINGLE_LEARNER_H_
#define SYNCLINE_WORKER_DLRM_SINGLE_LEARNER_H_

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/dlrm/learner.h"
#include "worker/dlrm/single.h"

namespace syncline {

// Drives a SingleTrainer; alone, so that a barrier has nobody to wait for.
class SingleLearner final : public Learner {
 public:
  explicit SingleLearner(std::unique_ptr<SingleTrainer> trainer) : trainer_(std::move(trainer)) {}

  absl::StatusOr<StepResult> Step(const Batch& batch, std::string_view reader_position) override;
  absl::StatusOr<std::vector<float>> Predict(const Batch& batch) override {
    return trainer_->Predict(batch);
  }
  absl::Status Barrier() override { return absl::OkStatus(); }
  absl::Status Finish() override { return absl::OkStatus(); }
  LearnerStats Stats() const override { return {.clock = clock_}; }

 private:
  std::unique_ptr<SingleTrainer> trainer_;
  int64_t clock_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_SINGLE_LEARNER_H_
