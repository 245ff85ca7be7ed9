#include "server/storage/row_layout.h"

#include <vector>

#include "gtest/gtest.h"

namespace syncline {
namespace {

TEST(RowLayoutTest, WeightsComeFirstThenState) {
  const RowLayout layout(16, 5);
  EXPECT_EQ(layout.weights_offset(), 0u);
  EXPECT_EQ(layout.state_offset(), 16u);
  EXPECT_EQ(layout.stride(), 21u);
  std::vector<float> row(layout.stride());
  EXPECT_EQ(layout.Weights(row.data()).size(), 16u);
  EXPECT_EQ(layout.State(row.data()).data(), row.data() + 16);
}

TEST(RowLayoutTest, FieldsAreOffByDefaultAndCostNothing) {
  const RowLayout layout(4, 0);
  EXPECT_FALSE(layout.OffsetOf(RowField::kVersion).has_value());
  std::vector<float> row(layout.stride(), 1);
  layout.StoreField(row.data(), RowField::kVersion, 7);
  EXPECT_EQ(layout.LoadField(row.data(), RowField::kVersion), 0u);
  EXPECT_EQ(row, std::vector<float>(4, 1));
}

TEST(RowLayoutTest, EachEnabledFieldTakesEightBytesAndHolds64Bits) {
  const RowLayout layout(3, 1, {.version = true, .count = true});
  EXPECT_EQ(layout.stride(), 3u + 1u + 4u);
  EXPECT_FALSE(layout.OffsetOf(RowField::kLastUse).has_value());
  std::vector<float> row(layout.stride(), 1);
  layout.StoreField(row.data(), RowField::kVersion, UINT64_MAX);
  layout.StoreField(row.data(), RowField::kCount, 1);
  EXPECT_EQ(layout.LoadField(row.data(), RowField::kVersion), UINT64_MAX);
  EXPECT_EQ(layout.LoadField(row.data(), RowField::kCount), 1u);
  EXPECT_EQ(row[3], 1.0f);
}

TEST(RowLayoutDeathTest, ARowHasAtLeastOneWeight) {
  EXPECT_DEATH(RowLayout(0, 1), "at least one weight");
}

}  // namespace
}  // namespace syncline
