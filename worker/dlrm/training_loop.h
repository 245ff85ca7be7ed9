// Passes over the data: which batches, when to evaluate, what to report.
#ifndef SYNCLINE_WORKER_DLRM_TRAINING_LOOP_H_
#define SYNCLINE_WORKER_DLRM_TRAINING_LOOP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/time_source.h"
#include "worker/data/pieces.h"
#include "worker/dlrm/best_pass.h"
#include "worker/dlrm/learner.h"
#include "worker/dlrm/piece_source.h"
#include "worker/dlrm/progress.h"
#include "worker/dlrm/training_data.h"

namespace syncline {

struct TrainingLoopOptions {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  size_t passes = 3;
  uint32_t global_batch = 256;  // samples of all ranks together in one clock
  uint64_t seed = 1;            // of the order of the data
  double report_seconds = 0.5;  // between step reports
};

// Trains by static pieces (PROTOCOL.md D1): every rank makes the same number of clocks a pass.
// After each pass all ranks wait for each other, rank 0 evaluates, and all wait again, so that the
// evaluation sees exactly the finished passes.
//
// Or by leased pieces of kClocksPerPiece batches of one rank: the pass is over when every piece is
// reported, rank 0 evaluates, and the others wait for it to open the next pass.
//
// The best pass by validation AUC is what counts.
class TrainingLoop {
 public:
  // `leases`: null for static pieces. REQUIRES: everything outlives the loop.
  TrainingLoop(const TrainingLoopOptions& options, const TrainingData& data, Learner& learner,
               ProgressReporter& reporter, const TimeSource& time, PieceSource* leases = nullptr);

  // Returns after the last pass, or after the step in which `stop` was set (the summary then says
  // `interrupted`). Finishes the learner in both cases. Errors: the learner's.
  absl::Status Run(const std::atomic<bool>& stop);

 private:
  absl::Status RunStaticPass(size_t pass, const std::atomic<bool>& stop);
  absl::Status RunLeasedPass(size_t pass, const std::atomic<bool>& stop);
  // The pass was not open. `since`: the first time.
  absl::Status AwaitOpenPass(size_t pass, MonotonicTime since);
  absl::Status TrainPiece(size_t pass, uint64_t piece, const std::atomic<bool>& stop);
  absl::Status Train(size_t pass, std::span<const uint32_t> rows, const std::string& position);
  absl::Status EvaluatePass(size_t pass);
  absl::StatusOr<Evaluation> EvaluateRows(std::span<const uint32_t> rows);
  void Account(size_t pass, const Batch& batch, const StepResult& result);
  void ReportStep(size_t pass);
  void ReportSummary(bool interrupted);
  double Seconds() const;
  double WaitShare() const;

  const TrainingLoopOptions options_;
  const TrainingData& data_;
  Learner& learner_;
  ProgressReporter& reporter_;
  const TimeSource& time_;
  PieceSource* const leases_;
  const uint32_t rank_batch_;  // samples of one rank in one clock
  StaticPieces pieces_;
  const MonotonicTime began_;
  double evaluation_seconds_ = 0;  // not counted as training
  double last_report_ = 0;
  uint64_t steps_ = 0;
  uint64_t samples_ = 0;
  uint64_t pieces_repeated_ = 0;
  Batch batch_;
  // Since the last step report.
  double window_loss_ = 0;
  std::vector<float> window_logits_;
  std::vector<float> window_labels_;
  BestPass<Evaluation> best_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_TRAINING_LOOP_H_
