#include "worker/dlrm/training_data.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

#include "common/status/status.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

std::string MovieLens() {
  const char* root = std::getenv("SYNCLINE_SOURCE_DIR");
  return std::string("movielens:") + (root == nullptr ? "." : root) + "/bench/data/ml-latest-small";
}

TEST(TrainingDataTest, MovieLensHasAFixedSplitAndAModelWithoutDenseFeatures) {
  ASSERT_OK_AND_ASSIGN(const TrainingData data, LoadTrainingData(MovieLens(), 1, 0));
  EXPECT_EQ(data.dataset.size(), 100'836u);
  EXPECT_EQ(data.split.train.size(), 80'668u);
  EXPECT_EQ(data.model.dense_count, 0u);
  ASSERT_EQ(data.model.fields.size(), 3u);
  EXPECT_EQ(data.model.fields[2].table, "emb.genres");
  ASSERT_OK_AND_ASSIGN(const TrainingData other, LoadTrainingData(MovieLens(), 2, 0));
  EXPECT_EQ(data.split.test, other.split.test);  // the seed is the model's, not the split's
  EXPECT_NE(data.model.seed, other.model.seed);
}

TEST(TrainingDataTest, FewerRowsStayInTheirParts) {
  ASSERT_OK_AND_ASSIGN(const TrainingData all, LoadTrainingData(MovieLens(), 1, 0));
  ASSERT_OK_AND_ASSIGN(const TrainingData some, LoadTrainingData(MovieLens(), 1, 5'000));
  EXPECT_NEAR(static_cast<double>(some.split.train.size()), 4'000, 150);
  EXPECT_EQ(some.split.train.size() + some.split.validation.size() + some.split.test.size(),
            5'000u);
  for (uint32_t row : some.split.test) EXPECT_LT(row, 5'000u);
}

TEST(TrainingDataTest, RefusesWhatItDoesNotKnowAndWhatIsTooSmall) {
  EXPECT_THAT(LoadTrainingData("imagenet:x", 1, 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(LoadTrainingData(MovieLens(), 1, 50),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("at least 100")));
}

}  // namespace
}  // namespace syncline
