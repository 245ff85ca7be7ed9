#include "worker/psctl/format.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace syncline::psctl {
namespace {

TEST(Format, BytesHaveThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(1536 * 1024), "1.50 MiB");
  EXPECT_EQ(FormatBytes(15.04 * 1024), "15.0 KiB");
  EXPECT_EQ(FormatBytes(150.0 * 1024 * 1024 * 1024), "150 GiB");
}

TEST(Format, BytesNeverShowAFullUnitAsTheSmallerOne) {
  EXPECT_EQ(FormatBytes(1023.4 * 1024), "1023 KiB");
  EXPECT_EQ(FormatBytes(1023.7 * 1024), "1.00 MiB");
}

TEST(Format, SecondsTakeTheUnitThatFits) {
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatSeconds(250e-6), "250 us");
  EXPECT_EQ(FormatSeconds(0.0123), "12.3 ms");
  EXPECT_EQ(FormatSeconds(1.5), "1.50 s");
  EXPECT_EQ(FormatSeconds(125), "2m 05s");
  EXPECT_EQ(FormatSeconds(12'000), "3h 20m");
  EXPECT_EQ(FormatSeconds(4 * 86'400 + 6 * 3'600), "4d 06h");
}

TEST(Format, SecondsRoundIntoTheNextUnit) {
  EXPECT_EQ(FormatSeconds(0.9996), "1.00 s");
  EXPECT_EQ(FormatSeconds(59.99), "1m 00s");
}

TEST(Format, RatesAndRatios) {
  EXPECT_EQ(FormatPerSecond(950), "950/s");
  EXPECT_EQ(FormatPerSecond(0.25), "0.25/s");
  EXPECT_EQ(FormatPerSecond(1'200), "1.20k/s");
  EXPECT_EQ(FormatPerSecond(3.4e6), "3.40M/s");
  EXPECT_EQ(FormatRatio(0.125), "12.5%");
}

TEST(Format, AnUnknownCellIsADash) {
  EXPECT_EQ(FormatCell({}, Unit::kBytes), "-");
  EXPECT_EQ(FormatCell(std::string(), Unit::kPlain), "-");
  EXPECT_EQ(FormatCell(std::nan(""), Unit::kSeconds), "-");
  EXPECT_EQ(FormatCell(std::vector<std::string>(), Unit::kPlain), "-");
}

TEST(Format, PlainNumbersKeepAllDigits) {
  EXPECT_EQ(FormatCell(UINT64_MAX, Unit::kPlain), "18446744073709551615");
  EXPECT_EQ(FormatCell(INT64_MIN, Unit::kPlain), "-9223372036854775808");
}

TEST(Format, LongListsAreCut) {
  const std::vector<float> ten(10, 0.5f);
  EXPECT_EQ(FormatCell(ten, Unit::kPlain), "0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ... (2 more)");
  EXPECT_EQ(FormatCell(std::vector<float>{1, -2.25}, Unit::kPlain), "1, -2.25");
}

TEST(Format, TextCannotDriveTheTerminal) {
  EXPECT_EQ(FormatCell(std::string("a\x1b[2Jb\n\x7f"), Unit::kPlain), "a?[2Jb??");
}

}  // namespace
}  // namespace syncline::psctl
