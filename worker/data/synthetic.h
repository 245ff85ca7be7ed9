// A click log whose true model is known, so that a trained model can be held against the best
// possible one.
#ifndef SYNCLINE_WORKER_DATA_SYNTHETIC_H_
#define SYNCLINE_WORKER_DATA_SYNTHETIC_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "worker/data/dataset.h"
#include "worker/data/zipf.h"

namespace syncline {

// Row k is a pure function of (options without rows and first_row, k). So take the test set from
// row numbers that training does not reach: same seed, another first_row.
struct SyntheticOptions {
  uint64_t seed = 1;
  uint64_t first_row = 0;
  uint32_t rows = 200'000;
  uint32_t dense_features = 4;  // independent, standard normal
  uint32_t fields = 6;          // of which
  uint32_t multi_hot_fields =
      2;  //   the last ones have bags of 0 .. max_bag ids, the others of one
  uint32_t max_bag = 3;
  uint64_t ids_per_field = 500;  // ids 0 (most frequent) .. ids_per_field - 1
  double zipf_exponent = 1.2;    // of the ids' frequencies
  uint64_t head_ids = 30;        // per field: those whose pairs matter
  double bias = -1.0;            // moves the share of clicks
};

struct SyntheticData {
  Dataset data;
  std::vector<double> probability;  // [rows] of a click, as planted; the best score there is
};

// The planted model. With x the dense features, and over a bag the mean (0 for an empty one) of
// weights w and vectors v that are fixed per (seed, field, id):
//
//   P(click) = 1 / (1 + exp(-(bias + a . x + sum_f w_f + sum_{f<g} v_f . v_g)))
//
// Outside the head ids v is zero and w shrinks by head_ids / id, so that everything that matters is
// seen often enough to be learned: with the default options a factorization machine comes within
// 0.006 of the Bayes AUC from 400,000 rows (README.md has the measurement). Immutable; thread-safe.
class SyntheticClicks {
 public:
  // Errors: INVALID_ARGUMENT with all that is wrong with the options.
  static absl::StatusOr<SyntheticClicks> Create(const SyntheticOptions& options);

  // Fills `row` with row `number`, and returns the probability that its label is 1.
  double MakeRow(uint64_t number, DataRow& row) const;
  DataSchema schema() const;

 private:
  explicit SyntheticClicks(const SyntheticOptions& options);
  void DrawFeatures(SplitMix64& random, DataRow& row) const;
  double Logit(const DataRow& row) const;

  static constexpr uint32_t kPairDim = 2;

  SyntheticOptions options_;
  Zipf ids_;
  std::vector<double> dense_weights_;  // [dense_features]
  std::vector<double> weights_;        // [fields][ids_per_field]
  std::vector<double> vectors_;        // [fields][head_ids][kPairDim]
};

// Rows first_row .. first_row + rows - 1. Errors: as SyntheticClicks::Create.
absl::StatusOr<SyntheticData> MakeSynthetic(const SyntheticOptions& options);

// The AUC to expect from scoring each row with its own probability, over labels drawn from these
// probabilities: the greatest that any score can expect. Over pairs i, j of different rows,
//
//   sum p_i (1 - p_j) ([p_i > p_j] + [p_i = p_j] / 2)  /  sum p_i (1 - p_j)
//
// 0.5 when that is 0 / 0. The AUC of one drawing of labels differs by about 0.001 at 200,000 rows.
double BayesAuc(std::span<const double> probabilities);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_SYNTHETIC_H_
