#include "common/config/values.h"

#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;

template <typename T>
T Parsed(std::string_view text) {
  T value{};
  const absl::Status status = ParseValue(text, value);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return value;
}

template <typename T>
absl::Status Refused(std::string_view text) {
  T value{};
  return ParseValue(text, value);
}

TEST(ValuesTest, DurationsHaveUnits) {
  EXPECT_EQ(Parsed<nanoseconds>("2s"), std::chrono::seconds(2));
  EXPECT_EQ(Parsed<nanoseconds>("1.5h"), std::chrono::minutes(90));
  EXPECT_EQ(Parsed<milliseconds>("500ms"), milliseconds(500));
  EXPECT_EQ(Parsed<milliseconds>("0"), milliseconds(0));
  EXPECT_EQ(Parsed<nanoseconds>("7us"), nanoseconds(7000));
}

TEST(ValuesTest, ADurationThatIsAGuessIsRefused) {
  for (const std::string_view text :
       {"", "5", "s", "-1s", "1 s", "5sec", "1.5ns", "1e3s", "nan s"}) {
    EXPECT_THAT(Refused<nanoseconds>(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("such as 2s or 500ms")))
        << text;
  }
  EXPECT_THAT(Refused<milliseconds>("1500us"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("steps of 1ms")));
  EXPECT_THAT(Refused<nanoseconds>("9999999999h"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ValuesTest, SizesHaveBinaryAndDecimalUnits) {
  EXPECT_EQ(Parsed<ByteSize>("64MiB").bytes, uint64_t{64} << 20);
  EXPECT_EQ(Parsed<ByteSize>("1.5GiB").bytes, uint64_t{3} << 29);
  EXPECT_EQ(Parsed<ByteSize>("200MB").bytes, 200'000'000u);
  EXPECT_EQ(Parsed<ByteSize>("4096").bytes, 4096u);
  EXPECT_EQ(Parsed<ByteSize>("9007199254740993").bytes, 9007199254740993u);  // 2^53 + 1
  for (const std::string_view text : {"", "MiB", "-1", "64mib", "1.5", "99999999999TiB"}) {
    EXPECT_THAT(Refused<ByteSize>(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

TEST(ValuesTest, NumbersAreWholeAndInRange) {
  EXPECT_EQ(Parsed<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(Parsed<int32_t>("-7"), -7);
  EXPECT_EQ(Parsed<double>("1e-3"), 1e-3);
  EXPECT_THAT(Refused<uint32_t>("-1"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Refused<int32_t>("3000000000"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("out of range")));
  EXPECT_THAT(Refused<int64_t>("7x"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Refused<double>("inf"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ValuesTest, BooleansTakeTheUsualWords) {
  EXPECT_TRUE(Parsed<bool>("yes"));
  EXPECT_FALSE(Parsed<bool>("off"));
  EXPECT_THAT(Refused<bool>("maybe"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ValuesTest, WhatIsWrittenReadsBackToTheSameValue) {
  const uint64_t seed = TestSeed(1);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t any = random() >> random.Below(64);
    const nanoseconds time(static_cast<int64_t>(any >> 1) / 60'000'000'000 * 60'000'000'000);
    EXPECT_EQ(Parsed<nanoseconds>(FormatValue(time)), time);
    EXPECT_EQ(Parsed<nanoseconds>(FormatValue(nanoseconds(any >> 12))), nanoseconds(any >> 12));
    EXPECT_EQ(Parsed<ByteSize>(FormatValue(ByteSize{any >> 1})).bytes, any >> 1);
    const double number = random.Normal();
    EXPECT_EQ(Parsed<double>(FormatValue(number)), number);
  }
  EXPECT_EQ(FormatValue(nanoseconds(0)), "0s");
  EXPECT_EQ(FormatValue(milliseconds(90'000)), "90s");
  EXPECT_EQ(FormatValue(ByteSize{64 << 20}), "64MiB");
}

}  // namespace
}  // namespace syncline
