#include "common/wire/outcome_proto.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "common/wire/utf8.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

TEST(OutcomeProtoTest, NumbersAreThoseOfTheProto) {
  for (int n = 0; n < 64; ++n) {
    if (!v1::Outcome_IsValid(n)) continue;
    const auto outcome = static_cast<Outcome>(n);
    EXPECT_EQ(IsFinal(outcome), n >= 1 && n < 16) << n;
    EXPECT_EQ(IsRetry(outcome), n >= 16 && n < 32) << n;
    EXPECT_EQ(IsGone(outcome), n >= 32) << n;
  }
  EXPECT_EQ(static_cast<int>(Outcome::kCancelled), v1::CANCELLED);
  EXPECT_EQ(static_cast<int>(Outcome::kRetryResumeFirst), v1::RETRY_RESUME_FIRST);
  EXPECT_EQ(static_cast<int>(Outcome::kGoneJobFailed), v1::GONE_JOB_FAILED);
}

TEST(OutcomeProtoTest, DetailNamesAreThoseOfTheProto) {
  for (int n = 1; n <= v1::ErrorDetail_MAX; ++n) {
    EXPECT_EQ(DetailName(static_cast<Detail>(n)), v1::ErrorDetail_Name(n));
  }
}

TEST(OutcomeProtoTest, ErrorsKeepCodeDetailAndText) {
  const absl::Status status =
      MakeStatus(absl::StatusCode::kNotFound, Detail::kUnknownTable, "table 7: no such table");
  EXPECT_EQ(FromProto(ToProto(status)), status);
  EXPECT_OK(FromProto(v1::ErrorInfo()));
  EXPECT_EQ(ToProto(absl::OkStatus()).ByteSizeLong(), 0u);
}

TEST(OutcomeProtoTest, ErrorsOfALaterVersionStayErrors) {
  v1::ErrorInfo error;
  error.set_code(99);
  error.set_detail(static_cast<v1::ErrorDetail>(77));
  EXPECT_THAT(FromProto(error), StatusIs(absl::StatusCode::kUnknown));
  EXPECT_EQ(static_cast<int>(DetailOf(FromProto(error))), 77);
}

TEST(OutcomeProtoTest, ErrorTextIsCutAndMadeUtf8) {
  const std::string text = "bad \xff name " + std::string(kMaxErrorMessageBytes, 'x');
  const v1::ErrorInfo error = ToProto(MakeStatus(absl::StatusCode::kInternal, Detail::kNone, text));
  EXPECT_EQ(error.message().size(), kMaxErrorMessageBytes);
  EXPECT_EQ(error.message().substr(0, 11), "bad ? name ");
  v1::ErrorInfo parsed;
  EXPECT_TRUE(parsed.ParseFromString(error.SerializeAsString()));
}

TEST(OutcomeProtoTest, PartOutcomesRoundTrip) {
  PartOutcome outcome;
  outcome.slot = SlotId(3);
  outcome.incarnation = Incarnation(4);
  outcome.sequence = Sequence(5);
  outcome.outcome = Outcome::kRetryOutOfOrder;
  outcome.expected = Sequence(6);
  outcome.durable = Sequence(2);
  outcome.oldest_round = Round(-1);
  outcome.min_clock = Clock(8);
  outcome.error = MakeStatus(absl::StatusCode::kAborted, Detail::kOutOfOrder, "resend from 6");
  ASSERT_OK_AND_ASSIGN(const PartOutcome back, FromProto(ToProto(outcome)));
  EXPECT_EQ(back.slot, outcome.slot);
  EXPECT_EQ(back.incarnation, outcome.incarnation);
  EXPECT_EQ(back.sequence, outcome.sequence);
  EXPECT_EQ(back.outcome, outcome.outcome);
  EXPECT_EQ(back.expected, outcome.expected);
  EXPECT_EQ(back.durable, outcome.durable);
  EXPECT_EQ(back.oldest_round, outcome.oldest_round);
  EXPECT_EQ(back.min_clock, outcome.min_clock);
  EXPECT_EQ(back.error, outcome.error);
}

TEST(OutcomeProtoTest, OutcomesOfALaterVersionStillSort) {
  v1::PartOutcome outcome;
  outcome.set_outcome(static_cast<v1::Outcome>(30));
  ASSERT_OK_AND_ASSIGN(const PartOutcome read, FromProto(outcome));
  EXPECT_TRUE(IsRetry(read.outcome));
  outcome.set_outcome(v1::OUTCOME_UNSPECIFIED);
  EXPECT_THAT(FromProto(outcome), StatusIs(absl::StatusCode::kInvalidArgument));
  outcome.set_outcome(static_cast<v1::Outcome>(256));
  EXPECT_THAT(FromProto(outcome), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(Utf8Test, KeepsWhatIsValidAndMarksTheRest) {
  EXPECT_EQ(ValidUtf8("gr\xc3\xbc\xc3\x9f", 100), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(ValidUtf8("\xc0\xaf", 100), "??");            // overlong
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80", 100), "???");       // surrogate
  EXPECT_EQ(ValidUtf8("\xf4\x90\x80\x80", 100), "????");  // beyond U+10FFFF
  EXPECT_EQ(ValidUtf8("\xf0\x9f\x98\x80", 100), "\xf0\x9f\x98\x80");
  EXPECT_EQ(ValidUtf8("a\xe2\x82", 100), "a??");  // cut short
}

TEST(Utf8Test, NeverCutsACharacter) {
  EXPECT_EQ(ValidUtf8("ab\xc3\xbc", 3), "ab");
  EXPECT_EQ(ValidUtf8("ab\xc3\xbc", 4), "ab\xc3\xbc");
}

}  // namespace
}  // namespace syncline
