#include "worker/dlrm/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/status/status.h"

namespace syncline {
namespace {

bool IsPositive(float label) { return label > 0.5F; }

size_t CountPositive(std::span<const float> labels) {
  return static_cast<size_t>(std::count_if(labels.begin(), labels.end(), IsPositive));
}

std::vector<size_t> OrderByScore(std::span<const float> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  return order;
}

// Sum over positive samples of their rank (from 1), equal scores sharing the average of theirs.
double PositiveRankSum(std::span<const float> scores, std::span<const float> labels) {
  const auto order = OrderByScore(scores);
  double sum = 0;
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    size_t positive = 0;
    while (end < order.size() && scores[order[end]] == scores[order[first]]) {
      positive += IsPositive(labels[order[end++]]) ? 1 : 0;
    }
    const double average_rank = (static_cast<double>(first + 1) + static_cast<double>(end)) / 2;
    sum += average_rank * static_cast<double>(positive);
    first = end;
  }
  return sum;
}

}  // namespace

std::optional<double> Auc(std::span<const float> scores, std::span<const float> labels) {
  SYNCLINE_CHECK(scores.size() == labels.size(), "AUC: scores and labels differ in number");
  const auto positive = static_cast<double>(CountPositive(labels));
  const double negative = static_cast<double>(labels.size()) - positive;
  if (positive == 0 || negative == 0) return std::nullopt;
  if (std::any_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s); })) {
    return std::nullopt;
  }
  const double above = PositiveRankSum(scores, labels) - positive * (positive + 1) / 2;
  return above / (positive * negative);
}

std::optional<double> LogLoss(std::span<const float> logits, std::span<const float> labels) {
  SYNCLINE_CHECK(logits.size() == labels.size(), "log loss: logits and labels differ in number");
  if (logits.empty()) return std::nullopt;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double z = logits[i];
    sum += std::max(z, 0.0) - z * labels[i] + std::log1p(std::exp(-std::abs(z)));
  }
  return sum / static_cast<double>(logits.size());
}

std::optional<double> NormalizedEntropy(std::span<const float> logits,
                                        std::span<const float> labels) {
  const auto loss = LogLoss(logits, labels);
  const auto positive = static_cast<double>(CountPositive(labels));
  const auto total = static_cast<double>(labels.size());
  if (!loss || positive == 0 || positive == total) return std::nullopt;
  const double p = positive / total;
  return *loss / -(p * std::log(p) + (1 - p) * std::log1p(-p));
}

Evaluation Evaluate(std::span<const float> logits, std::span<const float> labels) {
  return {logits.size(), Auc(logits, labels), LogLoss(logits, labels),
          NormalizedEntropy(logits, labels)};
}

}  // namespace syncline
