#include "worker/data/synthetic.h"

#include <algorithm>
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SyntheticData Make(const SyntheticOptions& options) {
  absl::StatusOr<SyntheticData> made = MakeSynthetic(options);
  EXPECT_OK(made);
  return *std::move(made);
}

// By definition: every pair of a click and a non-click.
double AucOf(const Dataset& data, const std::vector<double>& score) {
  double ordered = 0;
  double pairs = 0;
  for (uint32_t i = 0; i < data.size(); ++i) {
    for (uint32_t j = 0; j < data.size(); ++j) {
      if (data.label(i) != 1 || data.label(j) != 0) continue;
      ++pairs;
      ordered += score[i] > score[j] ? 1 : (score[i] == score[j] ? 0.5 : 0);
    }
  }
  return ordered / pairs;
}

TEST(SyntheticTest, ARowDependsOnSeedAndNumberAlone) {
  const SyntheticData all = Make({.rows = 300});
  const SyntheticData part = Make({.first_row = 100, .rows = 50});
  const SyntheticData other = Make({.seed = 2, .rows = 300});
  int differences = 0;
  for (uint32_t i = 0; i < 50; ++i) {
    EXPECT_EQ(part.probability[i], all.probability[100 + i]);
    EXPECT_EQ(part.data.label(i), all.data.label(100 + i));
    for (size_t field = 0; field < all.data.schema().fields.size(); ++field) {
      EXPECT_TRUE(std::ranges::equal(part.data.bag(i, field), all.data.bag(100 + i, field)));
    }
    differences += other.probability[i] != all.probability[i] ? 1 : 0;
  }
  EXPECT_EQ(differences, 50);
}

TEST(SyntheticTest, RowsHaveTheShapeAskedFor) {
  const SyntheticData made = Make({.rows = 2'000,
                                   .dense_features = 3,
                                   .fields = 5,
                                   .multi_hot_fields = 2,
                                   .max_bag = 4,
                                   .ids_per_field = 50});
  EXPECT_EQ(made.data.schema().dense.size(), 3u);
  EXPECT_EQ(made.data.schema().fields.size(), 5u);
  size_t longest = 0;
  size_t shortest = SIZE_MAX;
  for (uint32_t row = 0; row < made.data.size(); ++row) {
    for (size_t field = 0; field < 3; ++field) ASSERT_EQ(made.data.bag(row, field).size(), 1u);
    for (size_t field = 0; field < 5; ++field) {
      for (const uint64_t id : made.data.bag(row, field)) ASSERT_LT(id, 50u);
    }
    longest = std::max(longest, made.data.bag(row, 4).size());
    shortest = std::min(shortest, made.data.bag(row, 4).size());
  }
  EXPECT_EQ(longest, 4u);
  EXPECT_EQ(shortest, 0u);
}

TEST(SyntheticTest, HeadIdsCarryMostAccesses) {
  const SyntheticData made = Make({.rows = 20'000});
  int head = 0;
  for (uint32_t row = 0; row < made.data.size(); ++row)
    head += made.data.bag(row, 0)[0] < 30 ? 1 : 0;
  EXPECT_GT(head, 20'000 * 0.6);
}

TEST(SyntheticTest, LabelsAreDrawnFromThePlantedProbabilities) {
  const SyntheticData made = Make({.rows = 100'000});
  std::vector<double> clicks(10), expected(10), rows(10);
  for (uint32_t row = 0; row < made.data.size(); ++row) {
    const auto bin = static_cast<size_t>(made.probability[row] * 10);
    ++rows[bin];
    clicks[bin] += made.data.label(row);
    expected[bin] += made.probability[row];
  }
  for (size_t bin = 0; bin < 10; ++bin) {
    EXPECT_NEAR(clicks[bin], expected[bin], 5 * std::sqrt(rows[bin]) / 2 + 1) << "bin " << bin;
  }
}

TEST(SyntheticTest, TheBayesAucIsWhatTheProbabilitiesReachOnDrawnLabels) {
  const SyntheticData made = Make({.rows = 4'000});
  EXPECT_NEAR(AucOf(made.data, made.probability), BayesAuc(made.probability), 0.02);
  EXPECT_GT(BayesAuc(made.probability), 0.75);
  EXPECT_LT(BayesAuc(made.probability), 0.88);
}

TEST(BayesAucTest, EqualsTheSumOverPairs) {
  const uint64_t seed = TestSeed(5);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> p(2 + random.Below(30));
    for (double& value : p) value = static_cast<double>(random.Below(8)) / 7;  // with ties
    double ordered = 0;
    double pairs = 0;
    for (size_t a = 0; a < p.size(); ++a) {
      for (size_t b = 0; b < p.size(); ++b) {
        if (a == b) continue;
        const double weight = p[a] * (1 - p[b]);
        pairs += weight;
        ordered += weight * (p[a] > p[b] ? 1 : (p[a] == p[b] ? 0.5 : 0));
      }
    }
    EXPECT_NEAR(BayesAuc(p), pairs > 0 ? ordered / pairs : 0.5, 1e-12);
  }
}

TEST(BayesAucTest, OfNothingOrCertaintiesIsDefined) {
  EXPECT_EQ(BayesAuc({}), 0.5);
  EXPECT_EQ(BayesAuc(std::vector<double>{1, 1}), 0.5);
  EXPECT_EQ(BayesAuc(std::vector<double>{0, 1}), 1.0);
}

TEST(SyntheticTest, EverythingWrongWithTheOptionsIsNamed) {
  EXPECT_THAT(MakeSynthetic({.rows = 0,
                             .fields = 2,
                             .multi_hot_fields = 3,
                             .max_bag = 0,
                             .ids_per_field = uint64_t{1} << 40,
                             .zipf_exponent = -1,
                             .bias = std::nan("")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("rows"), HasSubstr("multi_hot_fields"), HasSubstr("max_bag"),
                             HasSubstr("ids_per_field"), HasSubstr("zipf"), HasSubstr("bias"))));
}

}  // namespace
}  // namespace syncline
