// How good predictions are. Pure functions; every sum is taken in double and in one order.
#ifndef SYNCLINE_WORKER_DLRM_METRICS_H_
#define SYNCLINE_WORKER_DLRM_METRICS_H_

#include <cstddef>
#include <optional>
#include <span>

namespace syncline {

// Labels are 1 for positive samples and 0 for negative ones (above 0.5 counts as positive).
// REQUIRES everywhere: as many scores as labels.

// Area under the ROC curve, exact: the chance that a positive sample scores above a negative one,
// ties counting one half (the Mann-Whitney statistic, from average ranks; O(n log n)). Any strictly
// increasing function of the score gives the same value, so logits do.
// Empty when a class is missing or a score is NaN.
std::optional<double> Auc(std::span<const float> scores, std::span<const float> labels);

// Mean binary cross-entropy of sigmoid(logit), in nats. Empty without samples.
std::optional<double> LogLoss(std::span<const float> logits, std::span<const float> labels);

// LogLoss divided by the entropy of the share of positive samples (He and others, "Practical
// Lessons from Predicting Clicks on Ads at Facebook", 2014): below 1 is better than always
// predicting that share. Empty when a class is missing.
std::optional<double> NormalizedEntropy(std::span<const float> logits,
                                        std::span<const float> labels);

// All of them for one set of samples.
struct Evaluation {
  size_t samples = 0;
  std::optional<double> auc;
  std::optional<double> log_loss;
  std::optional<double> normalized_entropy;
};
Evaluation Evaluate(std::span<const float> logits, std::span<const float> labels);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_METRICS_H_
