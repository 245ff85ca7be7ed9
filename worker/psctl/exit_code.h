// What psctl's process returns, so that scripts and probes can tell failures apart.
#ifndef SYNCLINE_WORKER_PSCTL_EXIT_CODE_H_
#define SYNCLINE_WORKER_PSCTL_EXIT_CODE_H_

#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace syncline::psctl {

// A contract: numbers keep their meaning for ever.
enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kCannotConnect = 3,
  kTimeout = 4,
  kUnhealthy = 5,
  kNotFound = 6,
  kConflict = 7,
  kDenied = 8,
};

struct ExitCodeText {
  ExitCode code;
  std::string_view meaning;
};

// All of them, ascending, for `psctl help exit-codes`.
std::span<const ExitCodeText> ExitCodeTexts();

// Codes that have no number of their own are kFailed.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_EXIT_CODE_H_
