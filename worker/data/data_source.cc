#include "worker/data/data_source.h"

#include <charconv>
#include <numeric>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "worker/data/criteo.h"
#include "worker/data/movielens.h"
#include "worker/data/synthetic.h"

namespace syncline {
namespace {

struct SyntheticRequest {
  SyntheticOptions options;
  uint32_t rows = 400'000;
  std::optional<uint32_t> test_rows;
};

template <typename T>
absl::Status SetNumber(std::string_view name, std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size()) return absl::OkStatus();
  return InvalidArgument("synthetic data: {}={} is not a number that fits", name, text);
}

absl::Status SetOption(std::string_view name, std::string_view text, SyntheticRequest& request) {
  SyntheticOptions& options = request.options;
  if (name == "seed") return SetNumber(name, text, options.seed);
  if (name == "rows") return SetNumber(name, text, request.rows);
  if (name == "test_rows") return SetNumber(name, text, request.test_rows.emplace());
  if (name == "dense") return SetNumber(name, text, options.dense_features);
  if (name == "fields") return SetNumber(name, text, options.fields);
  if (name == "multi_hot") return SetNumber(name, text, options.multi_hot_fields);
  if (name == "max_bag") return SetNumber(name, text, options.max_bag);
  if (name == "ids") return SetNumber(name, text, options.ids_per_field);
  if (name == "zipf") return SetNumber(name, text, options.zipf_exponent);
  if (name == "head") return SetNumber(name, text, options.head_ids);
  if (name == "bias") return SetNumber(name, text, options.bias);
  return InvalidArgument(
      "synthetic data: unknown option '{}'; there are seed, rows, test_rows, dense, fields, "
      "multi_hot, "
      "max_bag, ids, zipf, head, bias",
      name);
}

absl::StatusOr<SyntheticRequest> ParseSynthetic(std::string_view text) {
  SyntheticRequest request;
  if (text.empty()) return request;
  std::vector<std::string_view> parts;
  SplitInto(text, ',', parts);
  for (const std::string_view part : parts) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgument("synthetic data: '{}' is not name=value", part);
    }
    RETURN_IF_ERROR(SetOption(part.substr(0, equals), part.substr(equals + 1), request));
  }
  return request;
}

std::vector<uint32_t> Range(uint32_t begin, uint32_t end) {
  std::vector<uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

absl::StatusOr<SourceData> LoadSynthetic(std::string_view text) {
  ASSIGN_OR_RETURN(SyntheticRequest request, ParseSynthetic(text));
  const uint64_t test_rows = request.test_rows.value_or(request.rows / 4);
  const uint64_t validation_end = request.rows + test_rows / 2;
  const uint64_t total = validation_end + test_rows;
  if (total > kMaxDatasetRows) {
    return InvalidArgument("synthetic data: {} rows are too many, at most {} fit", total,
                           kMaxDatasetRows);
  }
  request.options.rows = static_cast<uint32_t>(total);
  ASSIGN_OR_RETURN(SyntheticData made, MakeSynthetic(request.options));
  SourceData source{.data = std::move(made.data), .report = {}, .split = {}, .bayes_auc = {}};
  source.split.train = Range(0, request.rows);
  source.split.validation = Range(request.rows, static_cast<uint32_t>(validation_end));
  source.split.test = Range(static_cast<uint32_t>(validation_end), static_cast<uint32_t>(total));
  source.bayes_auc = BayesAuc(std::span(made.probability).subspan(validation_end));
  return source;
}

SourceData SplitUp(LoadedData loaded, uint64_t split_seed) {
  const auto rows = static_cast<uint32_t>(loaded.data.size());
  return {.data = std::move(loaded.data),
          .report = std::move(loaded.report),
          .split = SplitRows(rows, split_seed),
          .bayes_auc = std::nullopt};
}

}  // namespace

absl::StatusOr<SourceData> LoadSource(std::string_view text, uint64_t split_seed,
                                      const LoadOptions& options) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string where(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (kind == "synthetic") return LoadSynthetic(where);
  if (kind == "movielens" && !where.empty()) {
    ASSIGN_OR_RETURN(LoadedData loaded, LoadMovieLens(where, options));
    return SplitUp(std::move(loaded), split_seed);
  }
  if (kind == "criteo" && !where.empty()) {
    ASSIGN_OR_RETURN(LoadedData loaded, LoadCriteo(where, options));
    return SplitUp(std::move(loaded), split_seed);
  }
  return InvalidArgument(
      "data '{}' is not movielens:FOLDER, criteo:PATH or synthetic[:name=value,...]", text);
}

}  // namespace syncline
