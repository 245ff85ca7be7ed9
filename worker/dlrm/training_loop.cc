#include "worker/dlrm/training_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fmt/format.h"

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

constexpr size_t kEvaluationBatch = 4'096;

}  // namespace

TrainingLoop::TrainingLoop(const TrainingLoopOptions& options, const TrainingData& data,
                           Learner& learner, ProgressReporter& reporter, const TimeSource& time,
                           PieceSource* leases)
    : options_(options),
      data_(data),
      learner_(learner),
      reporter_(reporter),
      time_(time),
      leases_(leases),
      rank_batch_(std::max<uint32_t>(1, options.global_batch / options.ranks)),
      pieces_(data.split.train,
              leases == nullptr ? options_.global_batch : rank_batch_ * kClocksPerPiece,
              options_.seed),
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
    const bool leased = leases_ != nullptr;
    RETURN_IF_ERROR(leased ? RunLeasedPass(pass, stop) : RunStaticPass(pass, stop));
    if (stop) break;
    if (!leased) RETURN_IF_ERROR(learner_.Barrier());
    if (options_.rank == 0) RETURN_IF_ERROR(EvaluatePass(pass));
    if (!leased) RETURN_IF_ERROR(learner_.Barrier());
  }
  RETURN_IF_ERROR(learner_.Finish());
  ReportSummary(stop);
  return absl::OkStatus();
}

absl::Status TrainingLoop::RunStaticPass(size_t pass, const std::atomic<bool>& stop) {
  for (uint64_t round = 0; round < pieces_.rounds_per_pass() && !stop; ++round) {
    RETURN_IF_ERROR(Train(pass, pieces_.Piece(pass, round, options_.rank, options_.ranks),
                          fmt::format("{}:{}", pass, round)));
  }
  return absl::OkStatus();
}

absl::Status TrainingLoop::RunLeasedPass(size_t pass, const std::atomic<bool>& stop) {
  MonotonicTime not_open_since = time_.Now();
  while (!stop) {
    const absl::StatusOr<PieceSource::Lease> lease = leases_->LeasePiece(pass);
    if (absl::IsNotFound(lease.status()) && DetailOf(lease.status()) == Detail::kNone) {
      RETURN_IF_ERROR(AwaitOpenPass(pass, not_open_since));
      continue;
    }
    RETURN_IF_ERROR(lease.status());
    not_open_since = time_.Now();
    if (lease->pass_closed) return absl::OkStatus();
    RETURN_IF_ERROR(lease->piece ? TrainPiece(pass, *lease->piece, stop) : leases_->Idle());
  }
  return absl::OkStatus();
}

// Rank 0 opens a pass once it has evaluated the last one. Also when the coordinator has restarted:
// what was done in the pass is then done again (D2).
absl::Status TrainingLoop::AwaitOpenPass(size_t pass, MonotonicTime since) {
  if (options_.rank == 0 || time_.Now() - since >= kPassOpenTimeout) {
    return leases_->OpenPass(pass, pieces_.rounds_per_pass());
  }
  return leases_->Idle();
}

// A piece that is left half way goes back with the session.
absl::Status TrainingLoop::TrainPiece(size_t pass, uint64_t piece, const std::atomic<bool>& stop) {
  const std::span<const uint32_t> rows = pieces_.GlobalBatch(pass, piece);
  for (size_t first = 0; first < rows.size(); first += rank_batch_) {
    if (stop) return absl::OkStatus();
    const size_t size = std::min<size_t>(rank_batch_, rows.size() - first);
    RETURN_IF_ERROR(
        Train(pass, rows.subspan(first, size), fmt::format("{}:{}:{}", pass, piece, first)));
  }
  ASSIGN_OR_RETURN(const bool counted, leases_->ReportPiece(pass, piece));
  if (!counted) ++pieces_repeated_;
  return absl::OkStatus();
}

absl::Status TrainingLoop::Train(size_t pass, std::span<const uint32_t> rows,
                                 const std::string& position) {
  data_.dataset.MakeBatch(rows, batch_);
  ASSIGN_OR_RETURN(const StepResult result, learner_.Step(batch_, position));
  Account(pass, batch_, result);
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
                       .pieces_repeated = pieces_repeated_,
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
