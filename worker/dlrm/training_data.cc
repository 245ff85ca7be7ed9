#include "worker/dlrm/training_data.h"

#include <algorithm>
#include <utility>

#include "common/hash.h"
#include "common/status/status.h"
#include "worker/data/data_source.h"

namespace syncline {
namespace {

constexpr size_t kFewestTrainRows = 100;

// Keeps the first `max_rows` rows of a data set and those entries of the split that name them.
void KeepFirstRows(size_t max_rows, Split& split) {
  for (std::vector<uint32_t>* part : {&split.train, &split.validation, &split.test}) {
    std::erase_if(*part, [max_rows](uint32_t row) { return row >= max_rows; });
  }
}

// One table per field, named after it. A field with several ids per sample pools their mean.
DlrmConfig ModelFor(const DataSchema& schema, uint64_t seed) {
  DlrmConfig model;
  model.dense_count = schema.dense.size();
  model.seed = seed;
  for (const std::string& name : schema.fields) {
    FieldConfig field{.table = "emb." + name, .pooling = Pooling::kMean};
    field.initializer.seed = StableHash(name) ^ seed;
    model.fields.push_back(std::move(field));
  }
  return model;
}

// What each kind of data trains well with; worker/dlrm/README.md has the measurements.
void ChooseDefaults(std::string_view kind, TrainingData& data) {
  if (kind == "criteo") {
    data.passes = 4;
    data.batch = 16;
    data.learning_rate = 0.02;
  }
  if (kind == "synthetic") {
    data.passes = 2;
    data.batch = 256;
    data.learning_rate = 0.03;
  }
}

void ReportMalformed(const LoadReport& report, std::vector<std::string>& warnings) {
  if (report.malformed == 0) return;
  warnings.push_back(
      fmt::format("skipped {} malformed lines of {}", report.malformed, report.lines));
  warnings.insert(warnings.end(), report.first_malformed.begin(), report.first_malformed.end());
}

}  // namespace

absl::StatusOr<TrainingData> LoadTrainingData(std::string_view name, uint64_t seed,
                                              size_t max_rows) {
  const std::string_view kind = name.substr(0, name.find(':'));
  const uint64_t split_number = kind == "criteo" ? seed - 1 : 0;
  ASSIGN_OR_RETURN(SourceData source, LoadSource(name, kPinnedSplitSeed + split_number));
  DlrmConfig model = ModelFor(source.data.schema(), seed);
  TrainingData data{.dataset = std::move(source.data),
                    .split = std::move(source.split),
                    .bayes_auc = source.bayes_auc,
                    .model = std::move(model)};
  ReportMalformed(source.report, data.warnings);
  ChooseDefaults(kind, data);
  if (max_rows > 0) KeepFirstRows(max_rows, data.split);
  if (data.split.train.size() < kFewestTrainRows) {
    return InvalidArgument("data '{}' leaves {} rows to train on: at least {} are needed", name,
                           data.split.train.size(), kFewestTrainRows);
  }
  return data;
}

}  // namespace syncline
