// Errors: absl::Status with what, where and the remedy in the text, and a typed detail that code
// can act on. Also the one place that converts between Abseil's string_view (its own type in
// Debian's build) and std's.
#ifndef SYNCLINE_COMMON_STATUS_STATUS_H_
#define SYNCLINE_COMMON_STATUS_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"

namespace syncline {

// What a caller can act on. The numbers are part of the wire contract (proto/README.md); they match
// ErrorDetail in parameter_server.proto.
enum class Detail : int {
  kNone = 0,
  kSessionUnknown = 1,  // the server does not know the session; open a new one
  kFenced = 2,          // the session's lease expired; open a new one
  kWrongOwner = 3,      // the slot lives elsewhere; the new map comes along
  kOutOfOrder = 4,      // a gap in the sequence; resend from the expected number
  kNotReady = 5,        // too far ahead of the oldest open round; retry later
  kResumeFirst = 6,     // the slot has another incarnation; Resume, then retry
  kOverloaded = 7,      // a named limit is full; retry later
  kNoOptimizer = 8,     // the table has no optimizer yet
  kSpecDiffers = 9,     // a table of that name exists with another spec
  kNonFinite = 10,      // a gradient is NaN or infinite
  kUnknownTable = 11,
  kUnsupported = 12,  // a known option that this build or version does not support
  kJobFailed = 13,    // the job stopped (start_timeout, a lost rank of a reproducible job)
  kSessionLost = 14,  // the server restarted without durable state; the session's updates are gone
  kAlreadyDecided = 15,  // the number is used up and its outcome is no longer kept (S4)
  kIdRejected = 16,      // the table's id policy refuses a key
};

std::string_view DetailName(Detail detail);

inline absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view ToStd(absl::string_view s) { return {s.data(), s.size()}; }

// Builds a status; `detail` travels as a payload and over the wire.
absl::Status MakeStatus(absl::StatusCode code, Detail detail, std::string_view message);
Detail DetailOf(const absl::Status& status);
inline std::string_view MessageOf(const absl::Status& status) { return ToStd(status.message()); }

// Adds where and what once, at a boundary: "<context>: <message>". Keeps code and detail. OK stays
// OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

template <typename... Args>
absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, Detail::kNone,
                    fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
absl::Status MakeError(absl::StatusCode code, Detail detail, fmt::format_string<Args...> format,
                       Args&&... args) {
  return MakeStatus(code, detail, fmt::format(format, std::forward<Args>(args)...));
}

// A broken invariant: prints the message with file and line, then aborts. Never reachable from
// client input.
[[noreturn]] void Panic(const char* file, int line, std::string_view message);

}  // namespace syncline

#define SYNCLINE_CONCAT_INNER(a, b) a##b
#define SYNCLINE_CONCAT(a, b) SYNCLINE_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                                \
  do {                                                       \
    ::absl::Status status_macro_value = (expr);              \
    if (!status_macro_value.ok()) return status_macro_value; \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): lhs may be a declaration.
#define ASSIGN_OR_RETURN(lhs, expr) \
  SYNCLINE_ASSIGN_OR_RETURN_IMPL(SYNCLINE_CONCAT(status_or_, __LINE__), lhs, expr)
#define SYNCLINE_ASSIGN_OR_RETURN_IMPL(var, lhs, expr) \
  auto var = (expr);                                   \
  if (!var.ok()) return std::move(var).status();       \
  lhs = std::move(var).value()
// NOLINTEND(bugprone-macro-parentheses)

// Checks an invariant in every build.
#define SYNCLINE_CHECK(condition, message)            \
  do {                                                \
    if (!(condition)) [[unlikely]]                    \
      ::syncline::Panic(__FILE__, __LINE__, message); \
  } while (false)

#endif  // SYNCLINE_COMMON_STATUS_STATUS_H_
