#include "worker/data/criteo.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"
#include "tests/worker/data/temp_file.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A line in which I1 and C1 can be chosen; the other columns are 3 and "ab".
std::string Line(std::string label, const std::string& first_dense,
                 const std::string& first_field) {
  std::string line = std::move(label);
  for (size_t i = 0; i < kCriteoDense; ++i) line += "\t" + (i == 0 ? first_dense : "3");
  for (size_t i = 0; i < kCriteoFields; ++i) line += "\t" + (i == 0 ? first_field : "ab");
  return line;
}

TEST(CriteoTest, ALineBecomesLabelLogCountsAndHexIds) {
  DataRow row;
  ASSERT_OK(ParseCriteoLine(Line("1", "9", "ffffffff"), row));
  EXPECT_EQ(row.label, 1);
  EXPECT_FLOAT_EQ(row.dense[0], std::log(10.0f));
  EXPECT_FLOAT_EQ(row.dense[12], std::log(4.0f));
  EXPECT_THAT(row.bags[0], ElementsAre(0xffffffffu));
  EXPECT_THAT(row.bags[25], ElementsAre(0xabu));
}

TEST(CriteoTest, NegativeAndMissingCountsReadAsZero) {
  DataRow row;
  ASSERT_OK(ParseCriteoLine(Line("0", "-3", "1"), row));
  EXPECT_EQ(row.dense[0], 0);
  ASSERT_OK(ParseCriteoLine(Line("0", "", "1"), row));
  EXPECT_EQ(row.dense[0], 0);
}

TEST(CriteoTest, AMissingCategoryHasAnIdThatNoRealOneHas) {
  DataRow row;
  ASSERT_OK(ParseCriteoLine(Line("0", "1", ""), row));
  EXPECT_THAT(row.bags[0], ElementsAre(kCriteoMissingId));
  ASSERT_OK(ParseCriteoLine(Line("0", "1", "00000000"), row));
  EXPECT_THAT(row.bags[0], ElementsAre(0u));
}

TEST(CriteoTest, LinesThatMakeNoSenseAreRefusedWithTheColumn) {
  DataRow row;
  const auto refuses = [&](const std::string& line, const std::string& reason) {
    EXPECT_THAT(ParseCriteoLine(line, row),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason)))
        << line;
  };
  refuses("", "1 columns, 40 expected");
  refuses(Line("0", "1", "1") + "\t", "41 columns, 40 expected");
  refuses(Line("2", "1", "1"), "the label is '2'");
  refuses(Line("", "1", "1"), "the label is ''");
  refuses(Line("0", "1.5", "1"), "I1 is '1.5'");
  refuses(Line("0", "99999999999999999999", "1"), "I1 is");
  refuses(Line("0", "1", "xyz"), "C1 is 'xyz'");
  refuses(Line("0", "1", "123456789"), "C1 is '123456789'");
  refuses(Line("0", "1", "-1"), "C1 is '-1'");
  refuses(Line("0", "1", "0x1"), "C1 is '0x1'");
}

TEST(CriteoTest, MalformedLinesAreCountedNamedAndSkipped) {
  const TempFolder folder;
  const std::string path =
      folder.Write("a.tsv", Line("1", "1", "1") + "\nnonsense\n" + Line("0", "2", "2") + "\r\n" +
                                std::string(kMaxDataLineBytes * 2, '1') + "\n");
  ASSERT_OK_AND_ASSIGN(const LoadedData loaded, LoadCriteo(path));
  EXPECT_EQ(loaded.data.size(), 2u);
  EXPECT_EQ(loaded.report.lines, 4u);
  EXPECT_EQ(loaded.report.malformed, 2u);
  EXPECT_THAT(loaded.report.first_malformed, ElementsAre(path + ":2: 1 columns, 40 expected",
                                                         path + ":4: longer than 65536 bytes"));
  EXPECT_THAT(LoadCriteo(path, {.max_malformed = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.tsv:4: more than 1")));
}

TEST(CriteoTest, AFolderIsItsTsvFilesInTheOrderOfTheirNames) {
  const TempFolder folder;
  folder.Write("b.tsv", Line("0", "1", "b") + "\n");
  folder.Write("a.tsv", Line("1", "1", "a"));
  folder.Write("README.txt", "not data");
  ASSERT_OK_AND_ASSIGN(const LoadedData loaded, LoadCriteo(folder.path()));
  ASSERT_EQ(loaded.data.size(), 2u);
  EXPECT_THAT(loaded.data.bag(0, 0), ElementsAre(0xau));
  EXPECT_THAT(loaded.data.bag(1, 0), ElementsAre(0xbu));
}

TEST(CriteoTest, WhatHoldsNoDataIsRefused) {
  const TempFolder folder;
  EXPECT_THAT(LoadCriteo(folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no *.tsv")));
  EXPECT_THAT(LoadCriteo(folder.path() + "/none"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(CriteoTest, DamagedLinesAreRefusedOrHaveTheRightShape) {
  const uint64_t seed = TestSeed(17);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  int refused = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string line = Line("1", "-12", "00ff12ab");
    for (uint64_t change = random.Below(4); change > 0; --change) {
      line[random.Below(line.size())] = static_cast<char>(random());
    }
    if (random.Below(4) == 0) line.resize(random.Below(line.size()));
    DataRow row;
    if (!ParseCriteoLine(line, row).ok()) {
      ++refused;
      continue;
    }
    ASSERT_EQ(row.dense.size(), kCriteoDense);
    ASSERT_EQ(row.bags.size(), kCriteoFields);
    for (const auto& bag : row.bags) ASSERT_TRUE(bag.size() == 1 && bag[0] <= kCriteoMissingId);
  }
  EXPECT_GT(refused, 1'000);
  EXPECT_LT(refused, 4'999);
}

// Criteo's terms do not let us ship the data: name a folder with the first rows of the Kaggle set.
TEST(CriteoTest, ReadsTheRealDataWhereThereIsSome) {
  const char* folder = std::getenv("SYNCLINE_CRITEO_DIR");
  if (folder == nullptr) GTEST_SKIP() << "1 test skipped: SYNCLINE_CRITEO_DIR names no folder";
  ASSERT_OK_AND_ASSIGN(const LoadedData loaded, LoadCriteo(folder, {.max_malformed = 0}));
  EXPECT_EQ(loaded.report.malformed, 0u);
  EXPECT_EQ(loaded.data.size(), loaded.report.lines);
  ASSERT_GT(loaded.data.size(), 0u);
  double positive = 0;
  std::set<uint64_t> first_field;
  for (uint32_t row = 0; row < loaded.data.size(); ++row) {
    positive += loaded.data.label(row);
    first_field.insert(loaded.data.bag(row, 0)[0]);
    for (const float value : loaded.data.dense(row)) ASSERT_GE(value, 0.0f);
  }
  EXPECT_GT(positive / static_cast<double>(loaded.data.size()), 0.1);
  EXPECT_LT(positive / static_cast<double>(loaded.data.size()), 0.5);
  EXPECT_GT(first_field.size(), 10u);
}

}  // namespace
}  // namespace syncline
