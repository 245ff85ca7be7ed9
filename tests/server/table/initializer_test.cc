#include "server/table/initializer.h"

#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using Kind = InitializerSpec::Kind;

std::vector<float> Fill(const InitializerSpec& spec, Key key, size_t n = 4,
                        TableId table = TableId(1)) {
  std::vector<float> out(n);
  Initializer(spec, table).Fill(key, out);
  return out;
}

// Many rows, one after the other.
std::vector<float> Draw(const InitializerSpec& spec, size_t rows = 4'000, size_t dim = 50) {
  std::vector<float> all;
  for (Key key = 0; key < rows; ++key) {
    const auto row = Fill(spec, key, dim);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

struct Moments {
  double mean = 0, deviation = 0, min = INFINITY, max = -INFINITY;
};

Moments MomentsOf(const std::vector<float>& values) {
  Moments m;
  for (double v : values) {
    m.mean += v / static_cast<double>(values.size());
    m.min = std::min(m.min, v);
    m.max = std::max(m.max, v);
  }
  for (double v : values) {
    m.deviation += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

struct Golden {
  Kind kind;
  double a, b;
  uint64_t seed;
  uint32_t table;
  Key key;
  std::array<uint32_t, 4> bits;
};

// Computed by a separate program from the formulas in the header.
TEST(InitializerTest, GivesTheGoldenBits) {
  const Golden cases[] = {
      {Kind::kUniform, -0.5, 0.25, 0, 1, 0, {0x3e37df0d, 0x3e209a1d, 0xbe6de20b, 0xbed463c2}},
      {Kind::kUniform,
       -0.5,
       0.25,
       7,
       3,
       UINT64_MAX,
       {0xbefe52ea, 0xbe90f256, 0x3d71d181, 0xbc08b70b}},
      {Kind::kInverseSqrt, 1000, 0, 0, 1, 0, {0x3cd264f6, 0x3cc2b24b, 0xbc144223, 0xbcc8368c}},
      {Kind::kInverseSqrt,
       1000,
       0,
       7,
       3,
       UINT64_MAX,
       {0xbd00656a, 0xbc5a6ebe, 0x3c7e452b, 0x3c212c78}},
      {Kind::kNormal, 1, 0.5, 0, 1, 0, {0x3fd449e6, 0x3fc9ddd9, 0x3f511022, 0x3ecacfd0}},
      {Kind::kNormal, 1, 0.5, 7, 3, UINT64_MAX, {0xbe9f5960, 0x3f38de34, 0x3faa3dfa, 0x3f999ee5}},
      {Kind::kTruncatedNormal, 0, 0.01, 0, 1, 0, {0x3c46e255, 0x3c3008f9, 0xbb64ea49, 0xbc37a8b4}},
      {Kind::kTruncatedNormal,
       0,
       0.01,
       7,
       3,
       UINT64_MAX,
       {0xbc9df4d8, 0xbbacf967, 0x3bcd00fc, 0x3b79ceb3}},
  };
  for (const Golden& golden : cases) {
    const auto row =
        Fill({golden.kind, golden.a, golden.b, golden.seed}, golden.key, 4, TableId(golden.table));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(std::bit_cast<uint32_t>(row[i]), golden.bits[i])
          << "kind " << static_cast<int>(golden.kind) << " element " << i;
    }
  }
}

TEST(InitializerTest, ConstantsAreConstant) {
  EXPECT_THAT(Fill({Kind::kZeros}, 5), ::testing::Each(0.0f));
  EXPECT_THAT(Fill({Kind::kConstant, 0.25}, 5), ::testing::Each(0.25f));
}

TEST(InitializerTest, AnElementDependsOnSeedTableKeyAndPlaceAndOnNothingElse) {
  const InitializerSpec spec{Kind::kUniform, 0, 1, 3};
  const float value = Fill(spec, 10)[2];
  EXPECT_EQ(Fill(spec, 10, 64)[2], value);
  EXPECT_NE(Fill(spec, 11)[2], value);
  EXPECT_NE(Fill(spec, 10)[3], value);
  EXPECT_NE(Fill(spec, 10, 4, TableId(2))[2], value);
  EXPECT_NE(Fill({Kind::kUniform, 0, 1, 4}, 10)[2], value);
}

TEST(InitializerTest, UniformFillsItsRangeEvenly) {
  const auto values = Draw({Kind::kUniform, -2, 4, 1});
  const Moments m = MomentsOf(values);
  EXPECT_NEAR(m.mean, 1, 0.02);
  EXPECT_NEAR(m.deviation, 6 / std::sqrt(12.0), 0.01);
  EXPECT_GE(m.min, -2);
  EXPECT_LT(m.max, 4);
  std::array<int, 10> bins{};
  for (float v : values) ++bins[static_cast<size_t>((v + 2) / 6 * 10)];
  double chi_square = 0;
  for (int count : bins) chi_square += std::pow(count - 20'000.0, 2) / 20'000.0;
  EXPECT_LT(chi_square, 27.9);  // 9 degrees of freedom, 0.1 %
}

TEST(InitializerTest, UniformNeverRoundsUpToItsUpperEnd) {
  // Between 1 and the next float there is nothing: half the draws would round up.
  const auto values = Draw({Kind::kUniform, 1, 1 + 0x1.0p-23, 1}, 100, 50);
  EXPECT_THAT(values, ::testing::Each(1.0f));
}

TEST(InitializerTest, InverseSqrtIsUniformInItsBound) {
  const Moments m = MomentsOf(Draw({Kind::kInverseSqrt, 100, 0, 1}));
  EXPECT_NEAR(m.mean, 0, 1e-3);
  EXPECT_NEAR(m.deviation, 0.1 / std::sqrt(3.0), 1e-3);
  EXPECT_GE(m.min, -0.1);
  EXPECT_LE(m.max, 0.1);
}

TEST(InitializerTest, NormalHasItsMomentsAndTails) {
  const auto values = Draw({Kind::kNormal, 3, 2, 1});
  const Moments m = MomentsOf(values);
  EXPECT_NEAR(m.mean, 3, 0.02);
  EXPECT_NEAR(m.deviation, 2, 0.02);
  double beyond_two = 0;
  for (float v : values) beyond_two += std::abs(v - 3) > 4 ? 1.0 : 0.0;
  EXPECT_NEAR(beyond_two / static_cast<double>(values.size()), 0.0455, 0.002);
}

TEST(InitializerTest, TruncatedNormalStopsAtTwoDeviations) {
  const Moments m = MomentsOf(Draw({Kind::kTruncatedNormal, 0, 1, 1}));
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.deviation, 0.8796, 0.01);
  EXPECT_GE(m.min, -2);
  EXPECT_LE(m.max, 2);
  EXPECT_GT(m.max, 1.99);
}

TEST(InitializerTest, NeighbouringElementsAndKeysAreUncorrelated) {
  const auto values = Draw({Kind::kNormal, 0, 1, 1});
  for (size_t lag : {1u, 2u, 50u, 100u}) {
    double sum = 0;
    for (size_t i = lag; i < values.size(); ++i) sum += double{values[i]} * values[i - lag];
    EXPECT_NEAR(sum / static_cast<double>(values.size()), 0, 0.012) << "lag " << lag;
  }
}

TEST(InitializerTest, ManyRowsDoNotRepeat) {
  std::set<float> first;
  for (Key key = 0; key < 1'000; ++key) first.insert(Fill({Kind::kNormal, 0, 1, 1}, key, 1)[0]);
  EXPECT_GT(first.size(), 995u);
}

TEST(InitializerTest, RefusesValuesThatAreNoFloats) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Initializer::Validate({Kind::kConstant, 1e39}), StatusIs(kInvalid));
  EXPECT_THAT(Initializer::Validate({Kind::kConstant, NAN}), StatusIs(kInvalid));
  EXPECT_THAT(Initializer::Validate({Kind::kUniform, -1e39, 1}), StatusIs(kInvalid));
  EXPECT_THAT(Initializer::Validate({Kind::kUniform, 1, 1}), StatusIs(kInvalid));
  EXPECT_THAT(Initializer::Validate({Kind::kNormal, 0, 1e38}), StatusIs(kInvalid));
  EXPECT_THAT(Initializer::Validate({Kind::kNormal, 0, 0}), StatusIs(kInvalid));
  EXPECT_THAT(Initializer::Validate({Kind::kInverseSqrt, 0}), StatusIs(kInvalid));
  EXPECT_THAT(Initializer::Validate({static_cast<Kind>(77)}), StatusIs(kInvalid));
  EXPECT_OK(Initializer::Validate({Kind::kNormal, 0, 0.01}));
}

}  // namespace
}  // namespace syncline
