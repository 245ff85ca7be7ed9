// How a value of a configuration is written: one pair of functions per type, the text of one being
// readable by the other. FormatValue(ParseValue(text)) is the canonical form.
#ifndef SYNCLINE_COMMON_CONFIG_VALUES_H_
#define SYNCLINE_COMMON_CONFIG_VALUES_H_

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "common/status/status.h"

namespace syncline {

// A number of bytes, written "64MiB", "1.5GiB", "200MB" (10^6), "4096B" or "4096".
struct ByteSize {
  uint64_t bytes = 0;
  constexpr auto operator<=>(const ByteSize&) const = default;
};

// All of these set `out` on success and leave it alone otherwise.
// Errors: INVALID_ARGUMENT that quotes the text and says what is expected.
absl::Status ParseValue(std::string_view text, std::string& out);
absl::Status ParseValue(std::string_view text, bool& out);  // true/false, yes/no, on/off, 1/0
absl::Status ParseValue(std::string_view text, int32_t& out);
absl::Status ParseValue(std::string_view text, int64_t& out);
absl::Status ParseValue(std::string_view text, uint32_t& out);
absl::Status ParseValue(std::string_view text, uint64_t& out);
absl::Status ParseValue(std::string_view text, double& out);  // finite
absl::Status ParseValue(std::string_view text, ByteSize& out);
// "2s", "500ms", "1.5h", "0"; units ns, us, ms, s, m, h. A bare number other than 0 is refused: its
// unit would be a guess. Not negative.
absl::Status ParseValue(std::string_view text, std::chrono::nanoseconds& out);

std::string FormatValue(const std::string& value);
std::string FormatValue(bool value);
std::string FormatValue(int32_t value);
std::string FormatValue(int64_t value);
std::string FormatValue(uint32_t value);
std::string FormatValue(uint64_t value);
std::string FormatValue(double value);
std::string FormatValue(ByteSize value);
std::string FormatValue(std::chrono::nanoseconds value);  // the largest unit that divides it

// Any other whole duration (std::chrono::milliseconds, ...): the same text, refused when the value
// is not a whole number of its unit.
template <typename Rep, typename Period>
absl::Status ParseValue(std::string_view text, std::chrono::duration<Rep, Period>& out) {
  using Duration = std::chrono::duration<Rep, Period>;
  std::chrono::nanoseconds exact{0};
  RETURN_IF_ERROR(ParseValue(text, exact));
  const auto cut = std::chrono::duration_cast<Duration>(exact);
  if (cut != exact) {
    return InvalidArgument("'{}' is finer than this setting, which counts in steps of {}", text,
                           FormatValue(std::chrono::nanoseconds(Duration(1))));
  }
  out = cut;
  return absl::OkStatus();
}
template <typename Rep, typename Period>
std::string FormatValue(std::chrono::duration<Rep, Period> value) {
  return FormatValue(std::chrono::duration_cast<std::chrono::nanoseconds>(value));
}

}  // namespace syncline

#endif  // SYNCLINE_COMMON_CONFIG_VALUES_H_
