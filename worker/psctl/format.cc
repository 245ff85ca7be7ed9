#include "worker/psctl/format.h"

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "fmt/format.h"

namespace syncline::psctl {
namespace {

constexpr size_t kListedElements = 8;

// 1.50, 15.0, 150: as many decimals as make three digits.
std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string Whole(double value) { return fmt::format("{:.0f}", value); }

std::string Printable(const std::string& text) {
  std::string out = text;
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return out;
}

std::string Number(double value, Unit unit) {
  if (!std::isfinite(value)) return "-";
  switch (unit) {
    case Unit::kBytes:
      return FormatBytes(value);
    case Unit::kSeconds:
      return FormatSeconds(value);
    case Unit::kRatio:
      return FormatRatio(value);
    case Unit::kPerSecond:
      return FormatPerSecond(value);
    case Unit::kPlain:
      break;
  }
  return fmt::format("{:.6g}", value);
}

template <typename T>
std::string List(const std::vector<T>& elements) {
  std::string out;
  for (size_t i = 0; i < elements.size() && i < kListedElements; ++i) {
    if (i > 0) out += ", ";
    if constexpr (std::is_same_v<T, std::string>) {
      out += Printable(elements[i]);
    } else {
      out += fmt::format("{:.6g}", elements[i]);
    }
  }
  if (elements.size() > kListedElements) {
    out += fmt::format(", ... ({} more)", elements.size() - kListedElements);
  }
  return out.empty() ? "-" : out;
}

}  // namespace

std::string FormatBytes(double bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return Whole(bytes) + " B";
  size_t unit = 0;
  double value = bytes / 1024;
  // 1023.7 KiB would be written as 1024 KiB.
  while (value >= 1023.5 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return ThreeDigits(value) + " " + kUnits[unit];
}

std::string FormatSeconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 999.5e-6) return Whole(seconds * 1e6) + " us";
  if (seconds < 0.9995) return ThreeDigits(seconds * 1e3) + " ms";
  if (seconds < 59.95) return ThreeDigits(seconds) + " s";
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h {:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d {:02}h", whole / 86400, whole % 86400 / 3600);
}

std::string FormatRatio(double ratio) { return fmt::format("{:.1f}%", ratio * 100); }

std::string FormatPerSecond(double rate) {
  if (rate < 999.5) return (rate == std::floor(rate) ? Whole(rate) : ThreeDigits(rate)) + "/s";
  if (rate < 999.5e3) return ThreeDigits(rate / 1e3) + "k/s";
  return ThreeDigits(rate / 1e6) + "M/s";
}

std::string FormatCell(const Value& value, Unit unit) {
  return std::visit(
      [unit](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "-";
        } else if constexpr (std::is_same_v<T, bool>) {
          return v ? "yes" : "no";
        } else if constexpr (std::is_same_v<T, double>) {
          return Number(v, unit);
        } else if constexpr (std::is_integral_v<T>) {
          return unit == Unit::kPlain ? fmt::format("{}", v) : Number(static_cast<double>(v), unit);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return v.empty() ? "-" : Printable(v);
        } else {
          return List(v);
        }
      },
      value);
}

}  // namespace syncline::psctl
