#include "worker/dlrm/single_learner.h"

#include "common/status/status.h"

namespace syncline {

absl::StatusOr<StepResult> SingleLearner::Step(const Batch& batch,
                                               std::string_view /*reader_position*/) {
  StepResult result;
  ++clock_;
  if (batch.size == 0) return result;
  ASSIGN_OR_RETURN(result.logits, trainer_->Predict(batch));
  ASSIGN_OR_RETURN(const double mean_loss, trainer_->Step(batch));
  result.loss_sum = mean_loss * static_cast<double>(batch.size);
  return result;
}

}  // namespace syncline
