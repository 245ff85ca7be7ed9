#include "worker/dlrm/config.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "tests/worker/dlrm/test_batch.h"
#include "worker/dlrm/lookup.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DlrmConfigTest, WithDenseFieldsTheTopTakesTheBottomOutputAndAllDots) {
  const DlrmConfig config = SmallConfig(3, Activation::kRelu);
  EXPECT_EQ(VectorCount(config), 5u);
  EXPECT_EQ(TopInputWidth(config), 4u + 10u);
  EXPECT_THAT(BottomWidths(config), ElementsAre(3, 6, 4));
  EXPECT_THAT(TopWidths(config), ElementsAre(14, 7, 5, 1));
}

TEST(DlrmConfigTest, WithoutDenseFieldsTheTopTakesTheEmbeddingsAndAllDots) {
  const DlrmConfig config = SmallConfig(0, Activation::kRelu);
  EXPECT_EQ(TopInputWidth(config), 4u * 4u + 6u);
  EXPECT_TRUE(BottomWidths(config).empty());
}

TEST(DlrmConfigTest, DenseTensorsAreNamedByLayerAndStartWithinOneOverRootOfTheFanIn) {
  const auto tensors = DenseTensorsOf(SmallConfig(3, Activation::kRelu));
  ASSERT_EQ(tensors.size(), 10u);
  EXPECT_EQ(tensors[2].name, "bottom.1.weight");
  EXPECT_EQ(tensors[2].rows, 4u);
  EXPECT_EQ(tensors[2].cols, 6u);
  EXPECT_EQ(tensors[3].name, "bottom.1.bias");
  EXPECT_EQ(tensors[3].size(), 4u);
  EXPECT_EQ(tensors[3].initializer,
            (InitializerSpec{InitializerSpec::Kind::kInverseSqrt, 6, 0, 5}));
  EXPECT_EQ(tensors[9].name, "top.2.bias");
}

TEST(DlrmConfigTest, FieldsMayShareATable) {
  const DlrmConfig config = SmallConfig(0, Activation::kRelu);
  const auto tables = EmbeddingTablesOf(config);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[2].name, "tags");
  EXPECT_THAT(TableOfField(config), ElementsAre(0, 1, 1, 2));
}

TEST(DlrmConfigTest, AllProblemsAreInOneMessage) {
  DlrmConfig config = SmallConfig(0, Activation::kRelu);
  config.dim = 0;
  config.top_hidden = {0};
  config.fields[2].initializer.a = 7;
  EXPECT_THAT(
      ValidateDlrmConfig(config),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::AllOf(HasSubstr("dim"), HasSubstr("width 0"), HasSubstr("table item"))));
  config.fields.clear();
  EXPECT_THAT(ValidateDlrmConfig(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no categorical fields")));
}

TEST(LookupTest, NamesEachIdOncePerTableInOrder) {
  const DlrmConfig config = SmallConfig(0, Activation::kRelu);
  Batch batch;
  batch.size = 2;
  batch.labels = {0, 1};
  batch.fields = {{{9}, {0, 0, 1}}, {{5, 2}, {0, 1, 2}}, {{7, 5, 5}, {0, 1, 3}}, {{}, {0, 0, 0}}};
  ASSERT_OK_AND_ASSIGN(const Lookup lookup, MakeLookup(config, batch));
  EXPECT_THAT(lookup.keys, ElementsAre(ElementsAre(9), ElementsAre(2, 5, 7), ElementsAre()));
  EXPECT_THAT(lookup.indices,
              ElementsAre(ElementsAre(0), ElementsAre(1, 0), ElementsAre(2, 1, 1), ElementsAre()));
}

TEST(LookupTest, RefusesBatchesThatDoNotFitTheModel) {
  const DlrmConfig config = SmallConfig(2, Activation::kRelu);
  SplitMix64 random(1);
  const Batch good = RandomBatch(config, 3, random);
  ASSERT_OK(MakeLookup(config, good));

  const auto refused = [&](auto spoil, const char* text) {
    Batch batch = good;
    spoil(batch);
    EXPECT_THAT(MakeLookup(config, batch),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  refused([](Batch& b) { b.fields.pop_back(); }, "3 fields");
  refused([](Batch& b) { b.dense.pop_back(); }, "5 dense values");
  refused([](Batch& b) { b.labels.push_back(1); }, "4 labels");
  refused([](Batch& b) { b.fields[1].offsets.clear(); }, "field 1 has 0 offsets");
  refused([](Batch& b) { b.fields[1].offsets[0] = 1; }, "must rise");
  refused([](Batch& b) { b.fields[1].offsets.back() += 1; }, "must rise");
  refused([](Batch& b) { b.fields[1].offsets[1] = 1000; }, "must rise");
}

}  // namespace
}  // namespace syncline
