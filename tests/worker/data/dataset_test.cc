#include "worker/data/dataset.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Dataset ThreeRows() {
  Dataset data({.dense = {"a", "b"}, .fields = {"user", "tags"}});
  data.Append({.label = 1, .dense = {1, 2}, .bags = {{10}, {7, 8, 7}}});
  data.Append({.label = 0, .dense = {3, 4}, .bags = {{20}, {}}});
  data.Append({.label = 1, .dense = {5, 6}, .bags = {{UINT64_MAX}, {0}}});
  return data;
}

TEST(DatasetTest, ABatchHasTheRowsAskedForInTheirOrder) {
  const Batch batch = ThreeRows().MakeBatch(std::vector<uint32_t>{2, 1, 0, 2});
  EXPECT_EQ(batch.size, 4u);
  EXPECT_EQ(batch.dense_count, 2u);
  EXPECT_THAT(batch.labels, ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(batch.dense, ElementsAre(5, 6, 3, 4, 1, 2, 5, 6));
  ASSERT_EQ(batch.fields.size(), 2u);
  EXPECT_THAT(batch.fields[0].ids, ElementsAre(UINT64_MAX, 20, 10, UINT64_MAX));
  EXPECT_THAT(batch.fields[0].offsets, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(batch.fields[1].ids, ElementsAre(0, 7, 8, 7, 0));
  EXPECT_THAT(batch.fields[1].offsets, ElementsAre(0, 1, 1, 4, 5));
}

TEST(DatasetTest, ABatchOfNoRowsKeepsTheShape) {
  const Batch batch = ThreeRows().MakeBatch(std::vector<uint32_t>{});
  EXPECT_EQ(batch.size, 0u);
  EXPECT_EQ(batch.dense_count, 2u);
  ASSERT_EQ(batch.fields.size(), 2u);
  EXPECT_THAT(batch.fields[1].offsets, ElementsAre(0));
}

TEST(DatasetTest, AReusedBatchHoldsNothingOfThePreviousOne) {
  const Dataset data = ThreeRows();
  Batch batch = data.MakeBatch(std::vector<uint32_t>{0, 1, 2});
  data.MakeBatch(std::vector<uint32_t>{1}, batch);
  EXPECT_EQ(batch.size, 1u);
  EXPECT_THAT(batch.labels, ElementsAre(0));
  EXPECT_THAT(batch.dense, ElementsAre(3, 4));
  EXPECT_THAT(batch.fields[0].ids, ElementsAre(20));
  EXPECT_THAT(batch.fields[1].ids, IsEmpty());
  EXPECT_THAT(batch.fields[1].offsets, ElementsAre(0, 0));
}

TEST(DatasetTest, RowsCanBeReadOneByOne) {
  const Dataset data = ThreeRows();
  EXPECT_THAT(data.dense(1), ElementsAre(3, 4));
  EXPECT_THAT(data.bag(0, 1), ElementsAre(7, 8, 7));
  EXPECT_THAT(data.bag(1, 1), IsEmpty());
  EXPECT_EQ(data.label(2), 1);
}

TEST(DatasetDeathTest, ARowOfAnotherShapeIsABrokenInvariant) {
  Dataset data({.dense = {"a"}, .fields = {"user"}});
  EXPECT_DEATH(data.Append({.label = 0, .dense = {}, .bags = {{1}}}), "shape");
  EXPECT_DEATH(data.MakeBatch(std::vector<uint32_t>{0}), "rows of its data set");
}

}  // namespace
}  // namespace syncline
