#include "worker/dlrm/config.h"

#include <algorithm>

#include "fmt/format.h"

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

constexpr size_t kMaxWidth = size_t{1} << 20;

void CheckWidths(const char* name, const std::vector<size_t>& widths, std::string& problems) {
  for (size_t width : widths) {
    if (width == 0 || width > kMaxWidth) {
      problems +=
          fmt::format("; {} has a layer of width {}, must be 1 to {}", name, width, kMaxWidth);
    }
  }
}

void CheckFields(const DlrmConfig& config, std::string& problems) {
  if (config.fields.empty()) problems += "; there are no categorical fields, at least 1 is needed";
  for (const FieldConfig& field : config.fields) {
    if (field.table.empty()) problems += "; a field has no table";
    const auto first =
        std::find_if(config.fields.begin(), config.fields.end(),
                     [&](const FieldConfig& other) { return other.table == field.table; });
    if (first->initializer != field.initializer) {
      problems += fmt::format("; fields share table {} but differ in its initializer", field.table);
    }
  }
}

void AppendLayers(const char* mlp, const std::vector<size_t>& widths, uint64_t seed,
                  std::vector<DenseTensor>& tensors) {
  for (size_t l = 0; l + 1 < widths.size(); ++l) {
    const size_t in = widths[l];
    const size_t out = widths[l + 1];
    const InitializerSpec initializer{InitializerSpec::Kind::kInverseSqrt, static_cast<double>(in),
                                      0, seed};
    tensors.push_back({fmt::format("{}.{}.weight", mlp, l), out, in, initializer});
    tensors.push_back({fmt::format("{}.{}.bias", mlp, l), 1, out, initializer});
  }
}

}  // namespace

absl::Status ValidateDlrmConfig(const DlrmConfig& config) {
  std::string problems;
  if (config.dim == 0 || config.dim > kMaxDim) {
    problems += fmt::format("; dim is {}, must be 1 to {}", config.dim, kMaxDim);
  }
  if (config.dense_count > kMaxWidth) {
    problems +=
        fmt::format("; dense_count is {}, at most {} are allowed", config.dense_count, kMaxWidth);
  }
  CheckWidths("the bottom MLP", config.bottom_hidden, problems);
  CheckWidths("the top MLP", config.top_hidden, problems);
  CheckFields(config, problems);
  if (problems.empty()) return absl::OkStatus();
  return InvalidArgument("model: {}", problems.substr(2));
}

size_t VectorCount(const DlrmConfig& config) {
  return config.fields.size() + (config.dense_count > 0 ? 1 : 0);
}

size_t TopInputWidth(const DlrmConfig& config) {
  const size_t vectors = VectorCount(config);
  const size_t passed_on = config.dense_count > 0 ? 1 : vectors;
  return passed_on * config.dim + PairCount(vectors);
}

std::vector<size_t> BottomWidths(const DlrmConfig& config) {
  if (config.dense_count == 0) return {};
  std::vector<size_t> widths = {config.dense_count};
  widths.insert(widths.end(), config.bottom_hidden.begin(), config.bottom_hidden.end());
  widths.push_back(config.dim);
  return widths;
}

std::vector<size_t> TopWidths(const DlrmConfig& config) {
  std::vector<size_t> widths = {TopInputWidth(config)};
  widths.insert(widths.end(), config.top_hidden.begin(), config.top_hidden.end());
  widths.push_back(1);
  return widths;
}

std::vector<DenseTensor> DenseTensorsOf(const DlrmConfig& config) {
  std::vector<DenseTensor> tensors;
  AppendLayers("bottom", BottomWidths(config), config.seed, tensors);
  AppendLayers("top", TopWidths(config), config.seed, tensors);
  return tensors;
}

std::vector<EmbeddingTable> EmbeddingTablesOf(const DlrmConfig& config) {
  std::vector<EmbeddingTable> tables;
  for (const FieldConfig& field : config.fields) {
    const bool known = std::any_of(tables.begin(), tables.end(), [&](const EmbeddingTable& table) {
      return table.name == field.table;
    });
    if (!known) tables.push_back({field.table, config.dim, field.initializer});
  }
  return tables;
}

std::vector<size_t> TableOfField(const DlrmConfig& config) {
  const auto tables = EmbeddingTablesOf(config);
  std::vector<size_t> places;
  for (const FieldConfig& field : config.fields) {
    const auto found = std::find_if(tables.begin(), tables.end(), [&](const EmbeddingTable& table) {
      return table.name == field.table;
    });
    places.push_back(static_cast<size_t>(found - tables.begin()));
  }
  return places;
}

}  // namespace syncline
