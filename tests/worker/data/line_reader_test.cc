#include "worker/data/line_reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "tests/worker/data/temp_file.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> LinesOf(std::string_view text) {
  const TempFolder folder;
  absl::StatusOr<LineReader> reader = LineReader::Open(folder.Write("lines", text));
  EXPECT_OK(reader);
  std::vector<std::string> lines;
  for (std::string_view line; reader->Next(line);) lines.emplace_back(line);
  EXPECT_OK(reader->status());
  EXPECT_EQ(reader->line_number(), lines.size());
  return lines;
}

TEST(LineReaderTest, LinesEndWithEitherKindOfEndOrTheFile) {
  EXPECT_THAT(LinesOf("a\nb\r\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(LinesOf("a\n"), ElementsAre("a"));
  EXPECT_THAT(LinesOf(""), ElementsAre());
  EXPECT_THAT(LinesOf(std::string_view("a\0b\xff\n", 5)), ElementsAre(std::string("a\0b\xff", 4)));
}

TEST(LineReaderTest, AnEndlessLineIsCutAndTheNextOneIsWhole) {
  const TempFolder folder;
  const std::string path =
      folder.Write("long", std::string(kMaxDataLineBytes + 5, 'x') + "\nnext\n");
  ASSERT_OK_AND_ASSIGN(LineReader reader, LineReader::Open(path));
  std::string_view line;
  ASSERT_TRUE(reader.Next(line));
  EXPECT_EQ(line.size(), kMaxDataLineBytes);
  EXPECT_TRUE(reader.too_long());
  ASSERT_TRUE(reader.Next(line));
  EXPECT_EQ(line, "next");
  EXPECT_FALSE(reader.too_long());
}

TEST(LineReaderTest, WhatIsNoFileIsRefusedByName) {
  const TempFolder folder;
  EXPECT_THAT(LineReader::Open(folder.path() + "/none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none: no such file")));
  EXPECT_THAT(LineReader::Open(folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a directory")));
}

TEST(MalformedLinesTest, SkipsUpToTheLimitAndNamesTheFirstOnes) {
  LoadReport report;
  MalformedLines malformed({.max_malformed = 7}, report);
  for (uint64_t line = 1; line <= 7; ++line) EXPECT_OK(malformed.Skip("f.tsv", line, "no sense"));
  EXPECT_THAT(malformed.Skip("f.tsv", 9, "the last straw"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("f.tsv:9: more than 7 malformed lines"),
                                        HasSubstr("f.tsv:1: no sense"))));
  EXPECT_EQ(report.malformed, 8u);
  EXPECT_EQ(report.first_malformed.size(), kReportedMalformedLines);
}

TEST(SplitIntoTest, KeepsEmptyParts) {
  std::vector<std::string_view> parts;
  SplitInto("a,,b,", ',', parts);
  EXPECT_THAT(parts, ElementsAre("a", "", "b", ""));
  SplitInto("", ',', parts);
  EXPECT_THAT(parts, ElementsAre(""));
}

}  // namespace
}  // namespace syncline
