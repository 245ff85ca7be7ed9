// One text names a data set: what --data takes.
#ifndef SYNCLINE_WORKER_DATA_DATA_SOURCE_H_
#define SYNCLINE_WORKER_DATA_DATA_SOURCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "worker/data/dataset.h"
#include "worker/data/line_reader.h"
#include "worker/data/split.h"

namespace syncline {

// A data set cut into its parts.
struct SourceData {
  Dataset data;
  LoadReport report;
  Split split;
  // Of the split's test rows, for generated data only: the AUC that the planted probabilities reach
  // in expectation.
  std::optional<double> bayes_auc;
};

// Loads what `text` names:
//
//   movielens:FOLDER           LoadMovieLens
//   criteo:PATH                LoadCriteo
//   synthetic[:name=value,..]  MakeSynthetic; names seed, rows (of training), test_rows (default
//                              rows / 4), dense, fields, multi_hot, max_bag, ids, zipf, head, bias
//
// Files are split 80/10/10 by `split_seed` (split.h). Generated data is not: rows 0 .. rows - 1
// train, then half of test_rows validate, and the last test_rows test.
//
// Errors: those of the readers; INVALID_ARGUMENT for another text, with the forms above.
absl::StatusOr<SourceData> LoadSource(std::string_view text, uint64_t split_seed,
                                      const LoadOptions& options = {});

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_DATA_SOURCE_H_
