#include "worker/dlrm/training_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fmt/format.h"

#include "common/status/status.h"

namespace syncline {
namespace {

constexpr size_t kEvaluationBatch = 4'096;

}  // namespace

TrainingLoop::TrainingLoop(const TrainingLoopOptions& options, const TrainingData& data,
                           Learner& learner, ProgressReporter& reporter, const TimeSource& time)
    : options_(options),
      data_(data),
      learner_(learner),
      reporter_(reporter),
      time_(time),
      pieces_(data.split.train, options_.global_batch, options_.seed),
      began_(time.Now()) {}

double TrainingLoop::Seconds() const {
  return std::chrono::duration<double>(time_.Now() - began_).count() - evaluation_seconds_;
}

double TrainingLoop::WaitShare() const {
  const double seconds = Seconds();
  return seconds > 0 ? std::min(1.0, learner_.Stats().wait_seconds / seconds) : 0;
}

absl::Status TrainingLoop::Run(const std::atomic<bool>& stop) {
  for (size_t pass = 1; pass <= options_.passes && !stop; ++pass) {
    RETURN_IF_ERROR(RunPass(pass, stop));
    if (stop) break;
    RETURN_IF_ERROR(learner_.Barrier());
    if (options_.rank == 0) {
      RETURN_IF_ERROR(EvaluatePass(pass));
    }
    RETURN_IF_ERROR(learner_.Barrier());
  }
  RETURN_IF_ERROR(learner_.Finish());
  ReportSummary(stop);
  return absl::OkStatus();
}

absl::Status TrainingLoop::RunPass(size_t pass, const std::atomic<bool>& stop) {
  Batch batch;
  for (uint64_t round = 0; round < pieces_.rounds_per_pass() && !stop; ++round) {
    data_.dataset.MakeBatch(pieces_.Piece(pass, round, options_.rank, options_.ranks), batch);
    ASSIGN_OR_RETURN(const StepResult result,
                     learner_.Step(batch, fmt::format("{}:{}", pass, round)));
    Account(pass, batch, result);
  }
  return absl::OkStatus();
}

void TrainingLoop::Account(size_t pass, const Batch& batch, const StepResult& result) {
  ++steps_;
  samples_ += batch.size;
  window_loss_ += result.loss_sum;
  window_logits_.insert(window_logits_.end(), result.logits.begin(), result.logits.end());
  window_labels_.insert(window_labels_.end(), batch.labels.begin(), batch.labels.end());
  if (Seconds() - last_report_ >= options_.report_seconds) ReportStep(pass);
}

void TrainingLoop::ReportStep(size_t pass) {
  last_report_ = Seconds();
  const LearnerStats stats = learner_.Stats();
  StepReport report{.rank = static_cast<int>(options_.rank),
                    .pass = pass,
                    .step = steps_,
                    .clock = stats.clock,
                    .seconds = last_report_,
                    .samples_per_second = static_cast<double>(samples_) / last_report_,
                    .auc = Auc(window_logits_, window_labels_),
                    .wait_share = WaitShare(),
                    .staleness = stats.staleness_mean,
                    .bytes_sent = stats.bytes_sent,
                    .bytes_received = stats.bytes_received};
  if (!window_labels_.empty()) {
    report.loss = window_loss_ / static_cast<double>(window_labels_.size());
  }
  window_loss_ = 0;
  window_logits_.clear();
  window_labels_.clear();
  reporter_.Step(report);
}

absl::StatusOr<Evaluation> TrainingLoop::EvaluateRows(std::span<const uint32_t> rows) {
  std::vector<float> logits;
  std::vector<float> labels;
  Batch batch;
  for (size_t first = 0; first < rows.size(); first += kEvaluationBatch) {
    data_.dataset.MakeBatch(rows.subspan(first, std::min(kEvaluationBatch, rows.size() - first)),
                            batch);
    ASSIGN_OR_RETURN(const std::vector<float> part, learner_.Predict(batch));
    logits.insert(logits.end(), part.begin(), part.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  return Evaluate(logits, labels);
}

absl::Status TrainingLoop::EvaluatePass(size_t pass) {
  const double began = Seconds();
  EvaluationReport report{.rank = static_cast<int>(options_.rank),
                          .pass = pass,
                          .clock = learner_.Stats().clock,
                          .seconds = began};
  ASSIGN_OR_RETURN(report.validation, EvaluateRows(data_.split.validation));
  ASSIGN_OR_RETURN(report.test, EvaluateRows(data_.split.test));
  best_.Offer(pass, report.validation.auc, report.test);
  evaluation_seconds_ += Seconds() - began;
  reporter_.Evaluated(report);
  return absl::OkStatus();
}

void TrainingLoop::ReportSummary(bool interrupted) {
  const LearnerStats stats = learner_.Stats();
  SummaryReport report{.rank = static_cast<int>(options_.rank),
                       .clock = stats.clock,
                       .samples = samples_,
                       .train_seconds = Seconds(),
                       .samples_per_second = static_cast<double>(samples_) / Seconds(),
                       .wait_share = WaitShare(),
                       .staleness_mean = stats.staleness_mean,
                       .bytes_sent = stats.bytes_sent,
                       .bytes_received = stats.bytes_received,
                       .bayes_auc = data_.bayes_auc,
                       .interrupted = interrupted};
  if (best_.best()) {
    report.best_pass = best_.best()->pass;
    report.validation_auc = best_.best()->validation_auc;
    report.test = best_.best()->result;
  }
  reporter_.Summary(report);
}

}  // namespace syncline
