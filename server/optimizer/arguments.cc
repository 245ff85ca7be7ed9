#include "server/optimizer/arguments.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/status/status.h"

namespace syncline {

const ArgumentRange kAboveZero = {"above 0", [](float v) { return v > 0; }};
const ArgumentRange kAtLeastZero = {"at least 0", [](float v) { return v >= 0; }};
const ArgumentRange kUnitHalfOpen = {"from 0 to below 1", [](float v) { return v >= 0 && v < 1; }};
const ArgumentRange kZeroOrOne = {"0 or 1", [](float v) { return v == 0 || v == 1; }};

double ArgumentReader::Take(std::string_view name, const ArgumentRange& range,
                            std::optional<double> fallback) {
  taken_.push_back(name);
  accepted_.push_back(fallback.has_value()
                          ? fmt::format("{} ({}, default {})", name, range.text, *fallback)
                          : fmt::format("{} ({}, required)", name, range.text));
  const auto found = spec_.arguments.find(std::string(name));
  if (found == spec_.arguments.end()) {
    if (!fallback.has_value()) problems_.push_back(fmt::format("argument {} is missing", name));
    return fallback.value_or(0);
  }
  const double value = found->second;
  // A double beyond the floats must not be converted: the result would be undefined.
  const bool is_float = std::abs(value) <= 3.4028234663852886e38;
  if (!is_float || !range.contains(static_cast<float>(value))) {
    problems_.push_back(
        fmt::format("argument {} is {}, must be {} and a finite float", name, value, range.text));
  }
  return value;
}

absl::Status ArgumentReader::Finish() const {
  std::vector<std::string> problems = problems_;
  for (const auto& [name, value] : spec_.arguments) {
    if (std::find(taken_.begin(), taken_.end(), name) == taken_.end()) {
      problems.push_back(fmt::format("argument {} is unknown", name));
    }
  }
  if (problems.empty()) return absl::OkStatus();
  return InvalidArgument("optimizer {}: {}; it accepts {}", spec_.name, fmt::join(problems, "; "),
                         fmt::join(accepted_, ", "));
}

}  // namespace syncline
