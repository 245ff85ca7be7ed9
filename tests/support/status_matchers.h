// GoogleMock matchers for absl::Status and StatusOr.
#ifndef SYNCLINE_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define SYNCLINE_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <ostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

#include "common/status/status.h"

namespace syncline {

inline const absl::Status& StatusPart(const absl::Status& s) { return s; }
template <typename T>
const absl::Status& StatusPart(const absl::StatusOr<T>& s) {
  return s.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << "which is " << StatusPart(arg).ToString();
  return StatusPart(arg).ok();
}

MATCHER_P(StatusIs, code, "") {
  *result_listener << "which is " << StatusPart(arg).ToString();
  return StatusPart(arg).code() == code;
}

MATCHER_P2(StatusIs, code, message_matcher, "") {
  *result_listener << "which is " << StatusPart(arg).ToString();
  return StatusPart(arg).code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(MessageOf(StatusPart(arg))),
                                       result_listener);
}

MATCHER_P(HasDetail, detail, "") {
  *result_listener << "whose detail is " << DetailName(DetailOf(StatusPart(arg)));
  return DetailOf(StatusPart(arg)) == detail;
}

MATCHER_P(IsOkAndHolds, value_matcher, "") {
  if (!arg.ok()) {
    *result_listener << "which is " << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

}  // namespace syncline

#define ASSERT_OK(expr) ASSERT_THAT(expr, ::syncline::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT(expr, ::syncline::IsOk())
// Declares lhs from a StatusOr, or fails the test.
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  SYNCLINE_ASSERT_OK_AND_ASSIGN_IMPL(SYNCLINE_CONCAT(status_or_, __LINE__), lhs, expr)
#define SYNCLINE_ASSERT_OK_AND_ASSIGN_IMPL(var, lhs, expr) \
  auto var = (expr);                                       \
  ASSERT_TRUE(var.ok()) << var.status().ToString();        \
  lhs = std::move(var).value()

#endif  // SYNCLINE_TESTS_SUPPORT_STATUS_MATCHERS_H_
