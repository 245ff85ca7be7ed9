// What a training run says about itself while it goes on, and at its end.
#ifndef SYNCLINE_WORKER_DLRM_PROGRESS_H_
#define SYNCLINE_WORKER_DLRM_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "worker/dlrm/metrics.h"

namespace syncline {

struct StepReport {
  int rank = 0;
  size_t pass = 0;  // from 1
  uint64_t step = 0;
  int64_t clock = 0;
  double seconds = 0;  // since training began
  double samples_per_second = 0;
  std::optional<double> loss = {};  // mean since the last report
  std::optional<double> auc =
      {};                 // of the predictions made since the last report, before their updates
  double wait_share = 0;  // of the time so far, spent waiting for parameters
  double staleness = 0;   // mean over all reads so far, in clocks
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

struct EvaluationReport {
  int rank = 0;
  size_t pass = 0;
  int64_t clock = 0;
  double seconds = 0;
  Evaluation validation = {};
  Evaluation test = {};
};

struct SummaryReport {
  int rank = 0;
  int64_t clock = 0;
  uint64_t samples = 0;
  double train_seconds = 0;
  double samples_per_second = 0;
  double wait_share = 0;
  double staleness_mean = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t pieces_repeated =
      0;  // leased pieces that did not count, so that others repeat them (D2)
  // Of the pass with the best validation AUC; only the rank that evaluates has them.
  std::optional<size_t> best_pass = {};
  std::optional<double> validation_auc = {};
  Evaluation test = {};
  std::optional<double> bayes_auc = {};
  bool interrupted = false;
};

// Not thread-safe.
class ProgressReporter {
 public:
  virtual ~ProgressReporter() = default;
  virtual void Step(const StepReport& report) = 0;
  virtual void Evaluated(const EvaluationReport& report) = 0;
  virtual void Summary(const SummaryReport& report) = 0;
};

// One JSON object a line: {"event": "step" | "eval" | "summary", ...}. Absent numbers are null.
class JsonReporter final : public ProgressReporter {
 public:
  explicit JsonReporter(std::FILE* out) : out_(out) {}
  void Step(const StepReport& report) override;
  void Evaluated(const EvaluationReport& report) override;
  void Summary(const SummaryReport& report) override;

 private:
  std::FILE* out_;
};

// One line that is rewritten, for a terminal.
class TerminalReporter final : public ProgressReporter {
 public:
  explicit TerminalReporter(std::FILE* out) : out_(out) {}
  void Step(const StepReport& report) override;
  void Evaluated(const EvaluationReport& report) override;
  void Summary(const SummaryReport& report) override;

 private:
  std::FILE* out_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_PROGRESS_H_
