#include "common/status/status.h"

#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;

TEST(StatusTest, CarriesATypedDetailThroughAnnotation) {
  const absl::Status status =
      MakeError(absl::StatusCode::kNotFound, Detail::kSessionUnknown, "session {} is unknown", 7);
  const absl::Status outer = Annotate(status, "push to table user");
  EXPECT_THAT(outer,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("push to table user: session 7")));
  EXPECT_THAT(outer, HasDetail(Detail::kSessionUnknown));
}

TEST(StatusTest, OkHasNoDetailAndStaysOkWhenAnnotated) {
  EXPECT_OK(Annotate(absl::OkStatus(), "anything"));
  EXPECT_EQ(DetailOf(absl::OkStatus()), Detail::kNone);
}

absl::StatusOr<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("{} is odd", n);
  return n / 2;
}

absl::StatusOr<int> Quarter(int n) {
  ASSIGN_OR_RETURN(const int half, Half(n));
  RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(StatusTest, MacrosReturnEarly) {
  EXPECT_THAT(Quarter(8), IsOkAndHolds(2));
  EXPECT_THAT(Quarter(6), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 is odd")));
}

TEST(PanicDeathTest, NamesTheBrokenInvariant) {
  EXPECT_DEATH(SYNCLINE_CHECK(1 == 2, "numbers are broken"), "numbers are broken");
}

}  // namespace
}  // namespace syncline
