#include "worker/psctl/exit_code.h"

#include <set>

#include "gtest/gtest.h"

namespace syncline::psctl {
namespace {

ExitCode Of(absl::StatusCode code) { return ExitCodeOf(absl::Status(code, "x")); }

TEST(ExitCode, TellsFailuresApart) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(Of(absl::StatusCode::kInvalidArgument), ExitCode::kUsage);
  EXPECT_EQ(Of(absl::StatusCode::kUnavailable), ExitCode::kCannotConnect);
  EXPECT_EQ(Of(absl::StatusCode::kDeadlineExceeded), ExitCode::kTimeout);
  EXPECT_EQ(Of(absl::StatusCode::kNotFound), ExitCode::kNotFound);
  EXPECT_EQ(Of(absl::StatusCode::kAlreadyExists), ExitCode::kConflict);
  EXPECT_EQ(Of(absl::StatusCode::kFailedPrecondition), ExitCode::kConflict);
  EXPECT_EQ(Of(absl::StatusCode::kPermissionDenied), ExitCode::kDenied);
  EXPECT_EQ(Of(absl::StatusCode::kUnauthenticated), ExitCode::kDenied);
}

TEST(ExitCode, IsOneForWhatHasNoNumberOfItsOwn) {
  EXPECT_EQ(Of(absl::StatusCode::kInternal), ExitCode::kFailed);
  EXPECT_EQ(Of(absl::StatusCode::kUnimplemented), ExitCode::kFailed);
  EXPECT_EQ(Of(absl::StatusCode::kDataLoss), ExitCode::kFailed);
}

TEST(ExitCode, EveryNumberIsExplainedOnce) {
  std::set<int> numbers;
  for (const auto& [code, meaning] : ExitCodeTexts()) {
    EXPECT_TRUE(numbers.insert(static_cast<int>(code)).second);
    EXPECT_FALSE(meaning.empty());
  }
  EXPECT_EQ(numbers, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace syncline::psctl
