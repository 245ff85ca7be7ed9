#include "worker/data/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

// Deviations of the planted parameters. Chosen so that the logit has a deviation of about 1.4 (a
// Bayes AUC near 0.8, as in click logs) with 20 % of its variance in pairs.
constexpr double kDenseDeviation = 0.35;
constexpr double kWeightDeviation = 0.6;
constexpr double kVectorDeviation = 0.45;
constexpr uint32_t kMaxColumns = 1'000;
constexpr uint32_t kMaxBagSize = 1'000;

std::string Complaints(const SyntheticOptions& o) {
  std::string all;
  const auto require = [&all](bool holds, std::string_view complaint) {
    if (!holds) all += fmt::format("{}{}", all.empty() ? "" : "; ", complaint);
  };
  require(o.rows > 0, "rows is 0, at least 1 is needed");
  require(o.fields > 0 && o.fields <= kMaxColumns, "fields is not 1 to 1000");
  require(o.dense_features <= kMaxColumns, "dense_features is above 1000");
  require(o.multi_hot_fields <= o.fields, "multi_hot_fields is above fields");
  require(o.max_bag > 0 && o.max_bag <= kMaxBagSize, "max_bag is not 1 to 1000");
  require(o.ids_per_field > 0 && o.ids_per_field <= kMaxSyntheticIds,
          "ids_per_field is not 1 to 2^24");
  require(o.fields == 0 || o.ids_per_field <= (uint64_t{1} << 28) / o.fields,
          "fields x ids_per_field is above 2^28");
  require(o.zipf_exponent >= 0 && o.zipf_exponent <= 10, "zipf_exponent is not 0 to 10");
  require(std::isfinite(o.bias), "bias is not finite");
  return all;
}

std::vector<double> Normals(size_t count, double deviation, SplitMix64& random) {
  std::vector<double> values(count);
  for (double& value : values) value = deviation * random.Normal();
  return values;
}

}  // namespace

absl::StatusOr<SyntheticClicks> SyntheticClicks::Create(const SyntheticOptions& options) {
  const std::string complaints = Complaints(options);
  if (!complaints.empty()) return InvalidArgument("synthetic data: {}", complaints);
  SyntheticOptions fitting = options;
  fitting.head_ids = std::min(options.head_ids, options.ids_per_field);
  return SyntheticClicks(fitting);
}

SyntheticClicks::SyntheticClicks(const SyntheticOptions& options)
    : options_(options), ids_(options.ids_per_field, options.zipf_exponent) {
  SplitMix64 random(Mix64(options.seed + 1));
  dense_weights_ = Normals(options.dense_features, kDenseDeviation, random);
  weights_ = Normals(options.fields * options.ids_per_field, kWeightDeviation, random);
  for (uint64_t id = options.head_ids + 1; id < options.ids_per_field; ++id) {
    const double shrink = static_cast<double>(options.head_ids) / static_cast<double>(id);
    for (uint32_t f = 0; f < options.fields; ++f)
      weights_[f * options.ids_per_field + id] *= shrink;
  }
  vectors_ = Normals(options.fields * options.head_ids * kPairDim, kVectorDeviation, random);
}

DataSchema SyntheticClicks::schema() const {
  DataSchema schema;
  for (uint32_t i = 0; i < options_.dense_features; ++i) {
    schema.dense.push_back(fmt::format("dense{}", i));
  }
  for (uint32_t i = 0; i < options_.fields; ++i) {
    schema.fields.push_back(fmt::format("field{}", i));
  }
  return schema;
}

void SyntheticClicks::DrawFeatures(SplitMix64& random, DataRow& row) const {
  row.dense.resize(options_.dense_features);
  for (float& value : row.dense) value = static_cast<float>(random.Normal());
  row.bags.resize(options_.fields);
  const uint32_t one_hot_fields = options_.fields - options_.multi_hot_fields;
  for (uint32_t field = 0; field < options_.fields; ++field) {
    row.bags[field].resize(field < one_hot_fields ? 1 : random.Below(options_.max_bag + 1));
    for (uint64_t& id : row.bags[field]) id = ids_.Draw(random);
  }
}

double SyntheticClicks::Logit(const DataRow& row) const {
  double logit = options_.bias;
  for (size_t i = 0; i < row.dense.size(); ++i) logit += dense_weights_[i] * row.dense[i];
  // sum_{f<g} v_f . v_g = (|sum v|^2 - sum |v|^2) / 2
  std::array<double, kPairDim> sum{};
  double squares = 0;
  for (size_t field = 0; field < row.bags.size(); ++field) {
    const std::vector<uint64_t>& bag = row.bags[field];
    std::array<double, kPairDim> mean{};
    for (const uint64_t id : bag) {
      const auto share = 1.0 / static_cast<double>(bag.size());
      logit += share * weights_[field * options_.ids_per_field + id];
      if (id >= options_.head_ids) continue;
      const double* vector = &vectors_[(field * options_.head_ids + id) * kPairDim];
      for (uint32_t k = 0; k < kPairDim; ++k) mean[k] += share * vector[k];
    }
    for (uint32_t k = 0; k < kPairDim; ++k) {
      sum[k] += mean[k];
      squares += mean[k] * mean[k];
    }
  }
  double square_of_sum = 0;
  for (const double value : sum) square_of_sum += value * value;
  return logit + (square_of_sum - squares) / 2;
}

double SyntheticClicks::MakeRow(uint64_t number, DataRow& row) const {
  SplitMix64 random(Mix64(Mix64(options_.seed) ^ number));
  DrawFeatures(random, row);
  const double probability = 1.0 / (1.0 + std::exp(-Logit(row)));
  row.label = random.Uniform() < probability ? 1.0f : 0.0f;
  return probability;
}

absl::StatusOr<SyntheticData> MakeSynthetic(const SyntheticOptions& options) {
  ASSIGN_OR_RETURN(const SyntheticClicks clicks, SyntheticClicks::Create(options));
  SyntheticData made{.data = Dataset(clicks.schema()), .probability = {}};
  made.probability.reserve(options.rows);
  DataRow row;
  for (uint32_t i = 0; i < options.rows; ++i) {
    made.probability.push_back(clicks.MakeRow(options.first_row + i, row));
    made.data.Append(row);
  }
  return made;
}

double BayesAuc(std::span<const double> probabilities) {
  std::vector<double> sorted(probabilities.begin(), probabilities.end());
  std::sort(sorted.begin(), sorted.end());
  double total_positive = 0;
  double total_negative = 0;
  double same_row = 0;  // pairs of a row with itself, to be left out
  double ordered = 0;
  for (size_t begin = 0; begin < sorted.size();) {
    const double p = sorted[begin];
    size_t end = begin;
    while (end < sorted.size() && sorted[end] == p) ++end;
    const auto count = static_cast<double>(end - begin);
    // Rows of equal p count half against each other, and not at all against themselves.
    ordered += count * p * (total_negative + (count - 1) * (1 - p) / 2);
    total_positive += count * p;
    total_negative += count * (1 - p);
    same_row += count * p * (1 - p);
    begin = end;
  }
  const double pairs = total_positive * total_negative - same_row;
  return pairs > 0 ? ordered / pairs : 0.5;
}

}  // namespace syncline
