#include "worker/psctl/exit_code.h"

namespace syncline::psctl {

std::span<const ExitCodeText> ExitCodeTexts() {
  static constexpr ExitCodeText kTexts[] = {
      {ExitCode::kOk, "done"},
      {ExitCode::kFailed, "the operation failed"},
      {ExitCode::kUsage, "the command line is wrong"},
      {ExitCode::kCannotConnect, "no endpoint could be reached"},
      {ExitCode::kTimeout, "no answer within --timeout"},
      {ExitCode::kUnhealthy, "the cluster is not healthy (cluster health)"},
      {ExitCode::kNotFound, "what was named does not exist"},
      {ExitCode::kConflict, "it exists already, or a precondition does not hold"},
      {ExitCode::kDenied, "not authenticated, or not allowed"},
  };
  return kTexts;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case absl::StatusCode::kUnavailable:
      return ExitCode::kCannotConnect;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kTimeout;
    case absl::StatusCode::kNotFound:
      return ExitCode::kNotFound;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return ExitCode::kConflict;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kDenied;
    default:
      return ExitCode::kFailed;
  }
}

}  // namespace syncline::psctl
