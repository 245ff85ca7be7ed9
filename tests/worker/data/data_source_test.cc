#include "worker/data/data_source.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "worker/data/synthetic.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(DataSourceTest, GeneratedDataKeepsTrainingAndTestRowsApart) {
  ASSERT_OK_AND_ASSIGN(
      const SourceData source,
      LoadSource("synthetic:seed=3,rows=1000,test_rows=200,fields=4,ids=50,dense=2", 1));
  EXPECT_EQ(source.data.size(), 1300u);
  EXPECT_EQ(source.split.train.size(), 1000u);
  EXPECT_EQ(source.split.validation.size(), 100u);
  EXPECT_EQ(source.split.test.size(), 200u);
  EXPECT_EQ(source.split.validation.front(), 1000u);
  EXPECT_EQ(source.split.test.front(), 1100u);
  EXPECT_EQ(source.split.test.back(), 1299u);
  EXPECT_EQ(source.data.schema().fields.size(), 4u);
  ASSERT_OK_AND_ASSIGN(const SyntheticData test_rows, MakeSynthetic({.seed = 3,
                                                                     .first_row = 1100,
                                                                     .rows = 200,
                                                                     .dense_features = 2,
                                                                     .fields = 4,
                                                                     .ids_per_field = 50}));
  EXPECT_THAT(source.bayes_auc, Optional(BayesAuc(test_rows.probability)));
}

TEST(DataSourceTest, FilesAreSplitByTheSeed) {
  const char* folder = std::getenv("SYNCLINE_SOURCE_DIR");
  ASSERT_NE(folder, nullptr) << "set by CTest";
  ASSERT_OK_AND_ASSIGN(
      const SourceData source,
      LoadSource(std::string("movielens:") + folder + "/bench/data/ml-latest-small", 7));
  EXPECT_EQ(source.split.train, SplitRows(100'836, 7).train);
  EXPECT_EQ(source.bayes_auc, std::nullopt);
}

TEST(DataSourceTest, AnotherTextIsRefusedWithTheForms) {
  for (const std::string_view text : {"", "movielens", "criteo:", "parquet:/x"}) {
    EXPECT_THAT(LoadSource(text, 1),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("criteo:PATH")))
        << text;
  }
  EXPECT_THAT(LoadSource("synthetic:speed=1", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown option 'speed'")));
  EXPECT_THAT(LoadSource("synthetic:rows=many", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rows=many")));
  EXPECT_THAT(LoadSource("synthetic:rows", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not name=value")));
  EXPECT_THAT(LoadSource("synthetic:rows=4294967295,test_rows=5", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many")));
  EXPECT_THAT(LoadSource("synthetic:rows=10,ids=0", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ids_per_field")));
  EXPECT_THAT(LoadSource("criteo:/nonexistent", 1), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace syncline
