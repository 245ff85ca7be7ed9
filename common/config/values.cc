#include "common/config/values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "fmt/format.h"

namespace syncline {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 6> kTimeUnits = {
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
constexpr std::array<Unit, 10> kSizeUnits = {{{"", 1},
                                              {"B", 1},
                                              {"KiB", 0x1p10},
                                              {"MiB", 0x1p20},
                                              {"GiB", 0x1p30},
                                              {"TiB", 0x1p40},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12}}};

template <typename T>
absl::Status ParseNumber(std::string_view text, std::string_view what, T& out) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return InvalidArgument("'{}' is out of range for {}", text, what);
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("'{}' is not {}", text, what);
  }
  out = value;
  return absl::OkStatus();
}

// A number and a unit from the list, e.g. "1.5h", in base units. A whole number stays exact.
absl::Status ParseScaled(std::string_view text, std::span<const Unit> units, std::string_view what,
                         uint64_t limit, uint64_t& out) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (error != std::errc() || suffix != unit.name) continue;
    const double scaled = number * unit.factor;
    if (!(scaled >= 0) || scaled >= static_cast<double>(limit)) break;
    if (scaled != std::floor(scaled) && unit.factor == 1) break;
    uint64_t whole = 0;
    const std::string_view digits = text.substr(0, text.size() - suffix.size());
    const bool is_whole = ParseNumber(digits, what, whole).ok();
    out = is_whole ? whole * static_cast<uint64_t>(unit.factor)
                   : static_cast<uint64_t>(std::llround(scaled));
    return absl::OkStatus();
  }
  return InvalidArgument("'{}' is not {}", text, what);
}

std::string FormatScaled(uint64_t value, std::span<const Unit> largest_first_from_back) {
  for (size_t i = largest_first_from_back.size(); i-- > 0;) {
    const Unit& unit = largest_first_from_back[i];
    const auto factor = static_cast<uint64_t>(unit.factor);
    if (value != 0 && value % factor == 0) return fmt::format("{}{}", value / factor, unit.name);
  }
  return fmt::format("{}{}", value, largest_first_from_back[0].name);
}

}  // namespace

absl::Status ParseValue(std::string_view text, std::string& out) {
  out = text;
  return absl::OkStatus();
}

absl::Status ParseValue(std::string_view text, bool& out) {
  for (const std::string_view word : {"true", "yes", "on", "1"}) {
    if (text == word) return out = true, absl::OkStatus();
  }
  for (const std::string_view word : {"false", "no", "off", "0"}) {
    if (text == word) return out = false, absl::OkStatus();
  }
  return InvalidArgument("'{}' is not true or false", text);
}

absl::Status ParseValue(std::string_view text, int32_t& out) {
  return ParseNumber(text, "a whole number", out);
}
absl::Status ParseValue(std::string_view text, int64_t& out) {
  return ParseNumber(text, "a whole number", out);
}
absl::Status ParseValue(std::string_view text, uint32_t& out) {
  return ParseNumber(text, "a whole number from 0", out);
}
absl::Status ParseValue(std::string_view text, uint64_t& out) {
  return ParseNumber(text, "a whole number from 0", out);
}

absl::Status ParseValue(std::string_view text, double& out) {
  double value = 0;
  RETURN_IF_ERROR(ParseNumber(text, "a number", value));
  if (!std::isfinite(value)) return InvalidArgument("'{}' is not a finite number", text);
  out = value;
  return absl::OkStatus();
}

absl::Status ParseValue(std::string_view text, ByteSize& out) {
  return ParseScaled(text, kSizeUnits, "a size such as 64MiB, 1.5GiB or 4096", UINT64_MAX,
                     out.bytes);
}

absl::Status ParseValue(std::string_view text, std::chrono::nanoseconds& out) {
  uint64_t count = 0;
  if (text != "0") {
    RETURN_IF_ERROR(ParseScaled(text, kTimeUnits, "a duration with its unit, such as 2s or 500ms",
                                INT64_MAX, count));
  }
  out = std::chrono::nanoseconds(static_cast<int64_t>(count));
  return absl::OkStatus();
}

std::string FormatValue(const std::string& value) { return value; }
std::string FormatValue(bool value) { return value ? "true" : "false"; }
std::string FormatValue(int32_t value) { return std::to_string(value); }
std::string FormatValue(int64_t value) { return std::to_string(value); }
std::string FormatValue(uint32_t value) { return std::to_string(value); }
std::string FormatValue(uint64_t value) { return std::to_string(value); }
std::string FormatValue(double value) { return fmt::format("{}", value); }
std::string FormatValue(ByteSize value) {
  return FormatScaled(value.bytes, std::span<const Unit>(kSizeUnits).subspan(1, 5));
}
std::string FormatValue(std::chrono::nanoseconds value) {
  if (value.count() <= 0) return value.count() == 0 ? "0s" : fmt::format("{}ns", value.count());
  return FormatScaled(static_cast<uint64_t>(value.count()), kTimeUnits);
}

}  // namespace syncline
