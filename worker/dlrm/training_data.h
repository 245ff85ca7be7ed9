// The data sets that ps-worker knows by name, each with its split and a model that suits it.
#ifndef SYNCLINE_WORKER_DLRM_TRAINING_DATA_H_
#define SYNCLINE_WORKER_DLRM_TRAINING_DATA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "worker/data/dataset.h"
#include "worker/data/split.h"
#include "worker/dlrm/config.h"

namespace syncline {

// What to train on and how, as far as the data decides it.
struct TrainingData {
  Dataset dataset;
  Split split;
  std::optional<double> bayes_auc =
      {};  // planted data: the best that any model can reach on `test`
  std::vector<std::string> warnings = {};  // malformed lines that were skipped, with file and line

  // Choices that suit the data; every one can be overridden.
  DlrmConfig model;
  size_t passes = 3;
  uint32_t batch = 64;  // samples per rank and clock
  double learning_rate = 0.05;
};

// `name` is what LoadSource (worker/data/data_source.h) takes. `seed` seeds the model; Criteo files
// are cut by split number `seed` - 1 of the pinned ones, everything else by the pinned split.
// `max_rows` > 0 keeps only the first rows of the data, each in its part of the split.
// Errors: those of LoadSource; INVALID_ARGUMENT when too few rows are left to train on.
absl::StatusOr<TrainingData> LoadTrainingData(std::string_view name, uint64_t seed,
                                              size_t max_rows);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_TRAINING_DATA_H_
