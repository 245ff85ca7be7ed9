#include "worker/dlrm/metrics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"
#include "worker/dlrm/best_pass.h"

namespace syncline {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;

// The definition: every pair of a positive and a negative sample.
double BruteForceAuc(const std::vector<float>& scores, const std::vector<float>& labels) {
  double won = 0, pairs = 0;
  for (size_t p = 0; p < scores.size(); ++p) {
    for (size_t n = 0; n < scores.size(); ++n) {
      if (labels[p] != 1 || labels[n] != 0) continue;
      pairs += 1;
      won += scores[p] > scores[n] ? 1 : scores[p] == scores[n] ? 0.5 : 0;
    }
  }
  return won / pairs;
}

TEST(AucTest, EqualsTheShareOfOrderedPairsTiesIncluded) {
  const uint64_t seed = TestSeed(31);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (uint64_t distinct : {1u, 2u, 7u, 1000u}) {  // few distinct scores: many ties
    std::vector<float> scores = {0, 1}, labels = {0, 1};
    for (int i = 0; i < 200; ++i) {
      scores.push_back(static_cast<float>(random.Below(distinct)));
      labels.push_back(random.Below(3) == 0 ? 1.0F : 0.0F);
    }
    EXPECT_THAT(Auc(scores, labels), Optional(DoubleNear(BruteForceAuc(scores, labels), 1e-12)));
  }
}

TEST(AucTest, IsEmptyWhenItHasNoMeaning) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Auc({}, {}), std::nullopt);
  EXPECT_EQ(Auc(std::vector<float>{1, 2}, std::vector<float>{1, 1}), std::nullopt);
  EXPECT_EQ(Auc(std::vector<float>{1, nan}, std::vector<float>{1, 0}), std::nullopt);
}

TEST(LogLossTest, IsTheMeanBinaryCrossEntropy) {
  const std::vector<float> logits = {2, -1, 0}, labels = {1, 0, 1};
  const double want = -(std::log(1 / (1 + std::exp(-2.0))) + std::log(1 - 1 / (1 + std::exp(1.0))) +
                        std::log(0.5)) /
                      3;
  EXPECT_THAT(LogLoss(logits, labels), Optional(DoubleNear(want, 1e-12)));
  EXPECT_EQ(LogLoss({}, {}), std::nullopt);
}

TEST(NormalizedEntropyTest, IsOneWhenPredictingTheShareOfPositives) {
  const std::vector<float> labels = {1, 0, 0, 0};
  const std::vector<float> base_rate(4, std::log(0.25F / 0.75F));
  EXPECT_THAT(NormalizedEntropy(base_rate, labels), Optional(DoubleNear(1, 1e-6)));
  const std::vector<float> better = {0, -3, -3, -3};
  EXPECT_THAT(NormalizedEntropy(better, labels), Optional(::testing::Lt(1.0)));
  EXPECT_EQ(NormalizedEntropy(better, std::vector<float>(4, 0.0F)), std::nullopt);
}

TEST(BestPassTest, KeepsTheEarliestOfTheHighestAuc) {
  BestPass<int> best;
  EXPECT_FALSE(best.Offer(0, std::nullopt, 1));
  EXPECT_FALSE(best.best().has_value());
  EXPECT_TRUE(best.Offer(1, 0.7, 10));
  EXPECT_TRUE(best.Offer(2, 0.8, 20));
  EXPECT_FALSE(best.Offer(3, 0.8, 30));
  EXPECT_FALSE(best.Offer(4, std::numeric_limits<double>::quiet_NaN(), 40));
  EXPECT_EQ(best.best()->pass, 2u);
  EXPECT_EQ(best.best()->result, 20);
}

}  // namespace
}  // namespace syncline
