#include "common/status/status.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/cord.h"
#include "absl/types/optional.h"

namespace syncline {
namespace {

constexpr char kDetailUrl[] = "syncline/detail";

constexpr std::array<std::string_view, 17> kNames = {
    "NONE",         "SESSION_UNKNOWN", "FENCED",       "WRONG_OWNER",
    "OUT_OF_ORDER", "NOT_READY",       "RESUME_FIRST", "OVERLOADED",
    "NO_OPTIMIZER", "SPEC_DIFFERS",    "NON_FINITE",   "UNKNOWN_TABLE",
    "UNSUPPORTED",  "JOB_FAILED",      "SESSION_LOST", "ALREADY_DECIDED",
    "ID_REJECTED"};

}  // namespace

std::string_view DetailName(Detail detail) {
  const auto index = static_cast<size_t>(detail);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

absl::Status MakeStatus(absl::StatusCode code, Detail detail, std::string_view message) {
  absl::Status status(code, ToAbsl(message));
  if (detail != Detail::kNone && !status.ok()) {
    status.SetPayload(kDetailUrl, absl::Cord(std::to_string(static_cast<int>(detail))));
  }
  return status;
}

Detail DetailOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kDetailUrl);
  if (!payload.has_value()) return Detail::kNone;
  const std::string text(*payload);
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return static_cast<Detail>(value);
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return MakeStatus(status.code(), DetailOf(status),
                    fmt::format("{}: {}", context, MessageOf(status)));
}

void Panic(const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "broken invariant at %s:%d: %.*s\n", file, line,
               static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace syncline
