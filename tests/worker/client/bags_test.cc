// Bags against a plain reference: one loop over bags and keys in double precision.
#include <cmath>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"
#include "tests/worker/client/model_cluster.h"
#include "worker/client/client_core.h"
#include "worker/client/push_plan.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;

struct Bags {
  std::vector<Key> keys;
  std::vector<uint32_t> offsets{0};
};

Bags RandomBags(SplitMix64& random, size_t bags, uint64_t most, uint64_t key_space) {
  Bags result;
  for (size_t b = 0; b < bags; ++b) {
    for (uint64_t n = random.Below(most + 1); n > 0; --n) {
      result.keys.push_back(random.Below(key_space));
    }
    result.offsets.push_back(static_cast<uint32_t>(result.keys.size()));
  }
  return result;
}

double Scale(Pooling pooling, size_t count) {
  if (count == 0 || pooling == Pooling::kSum) return 1;
  return pooling == Pooling::kMean ? static_cast<double>(count)
                                   : std::sqrt(static_cast<double>(count));
}

void Await(ModelCluster& cluster, ClientCore& core, std::optional<absl::Status>& result) {
  ASSERT_TRUE(cluster.Run(core, [&] { return result.has_value(); }));
  ASSERT_OK(*result);
}

void CheckBags(uint64_t seed, Pooling pooling, size_t dim, size_t bag_count, uint64_t most,
               uint64_t key_space, uint32_t servers = 3) {
  SCOPED_TRACE(SeedTrace(seed));
  ModelCluster cluster(servers, 16, seed);
  ClientCore core({}, cluster.Session());
  SplitMix64 random(seed);
  const TableInfo table = ModelTable(static_cast<uint32_t>(dim), static_cast<uint32_t>(dim));
  const Bags bags = RandomBags(random, bag_count, most, key_space);

  std::vector<float> gradients(bag_count * dim);
  for (float& g : gradients) g = static_cast<float>(random.Uniform() - 0.5);
  std::map<Key, std::vector<double>> rows;
  for (size_t b = 0; b < bag_count; ++b) {
    const size_t count = bags.offsets[b + 1] - bags.offsets[b];
    for (uint32_t i = bags.offsets[b]; i < bags.offsets[b + 1]; ++i) {
      auto& row = rows[bags.keys[i]];
      row.resize(dim);
      for (size_t e = 0; e < dim; ++e) {
        row[e] += static_cast<double>(gradients[b * dim + e]) / Scale(pooling, count);
      }
    }
  }
  std::optional<absl::Status> pushed;
  core.PushBags(
      table, bags.keys, bags.offsets, pooling, {gradients.data()}, 1,
      [&](const absl::Status& s) { pushed = s; }, cluster.now());
  Await(cluster, core, pushed);
  for (const auto& [key, row] : rows) {
    for (size_t e = 0; e < dim; ++e) ASSERT_NEAR(cluster.Weight(table, key, e), row[e], 1e-4);
  }

  std::vector<float> out(bag_count * dim, -1);
  std::optional<absl::Status> pulled;
  core.PullBags(
      table, bags.keys, bags.offsets, pooling, {out.data()}, {},
      [&](const absl::Status& s) { pulled = s; }, cluster.now());
  Await(cluster, core, pulled);
  for (size_t b = 0; b < bag_count; ++b) {
    const size_t count = bags.offsets[b + 1] - bags.offsets[b];
    for (size_t e = 0; e < dim; ++e) {
      double sum = 0;
      for (uint32_t i = bags.offsets[b]; i < bags.offsets[b + 1]; ++i) sum += rows[bags.keys[i]][e];
      const double want = sum / Scale(pooling, count);
      ASSERT_NEAR(out[b * dim + e], want, 1e-3 * std::max(1.0, std::fabs(want))) << "bag " << b;
    }
  }
  EXPECT_LE(cluster.counters.largest_frame, kTargetFrameBytes + 64 * 1'024);
}

TEST(BagsTest, SmallBagsPoolAsTheReferenceDoes) {
  const uint64_t seed = TestSeed(3);
  for (const Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN}) {
    for (uint64_t i = 0; i < 5; ++i) CheckBags(seed + i, pooling, 4, 50, 6, 30);
  }
}

TEST(BagsTest, ManyBagsOfFewKeysAreCutIntoFrames) {
  CheckBags(TestSeed(4), Pooling::kMean, 64, 6'000, 4, 2'000);
}

TEST(BagsTest, LongBagsOfManyKeysGoAsBags) {
  CheckBags(TestSeed(5), Pooling::kSqrtN, 8, 60, 3'000, 50'000);
}

TEST(BagsTest, OneBagLargerThanAFrameIsPooledFromSeveral) {
  CheckBags(TestSeed(6), Pooling::kSum, 2, 1, 150'000, 400'000, 1);
}

TEST(BagsTest, OffsetsThatDoNotCutTheKeysAreRefused) {
  ModelCluster cluster(1, 4, 1);
  ClientCore core({}, cluster.Session());
  const TableInfo table = ModelTable(1, 1);
  const std::vector<Key> keys{1, 2, 3};
  std::vector<float> out(3);
  for (const std::vector<uint32_t>& offsets :
       {std::vector<uint32_t>{}, {1, 3}, {0, 2}, {0, 3, 2, 3}}) {
    std::optional<absl::Status> result;
    core.PullBags(
        table, keys, offsets, Pooling::kSum, {out.data()}, {},
        [&](const absl::Status& s) { result = s; }, cluster.now());
    ASSERT_TRUE(cluster.Run(core, [&] { return result.has_value(); }));
    EXPECT_THAT(*result, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("offsets")));
  }
}

TEST(BagsTest, APushTakesTheSmallerOfBothShapes) {
  ModelCluster cluster(1, 4, 1);
  const TableInfo table = ModelTable(64, 64);
  std::vector<Key> keys(100);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> gradients(100 * 64, 1.0F);
  const std::vector<uint32_t> one_bag{0, 100};
  const auto as_bags = PlanBagPush({&table, keys, {gradients.data()}, 1, CodecId::kFp32},
                                   {one_bag, Pooling::kSum}, cluster.map());
  ASSERT_OK(as_bags);
  EXPECT_EQ(as_bags->front().bag_count, 1U);
  std::vector<uint32_t> hundred(101);
  for (uint32_t i = 0; i <= 100; ++i) hundred[i] = i;
  const std::vector<Key> same(100, 7);
  const auto as_rows = PlanBagPush({&table, same, {gradients.data()}, 1, CodecId::kFp32},
                                   {hundred, Pooling::kSum}, cluster.map());
  ASSERT_OK(as_rows);
  EXPECT_EQ(as_rows->front().bag_count, 0U);
  EXPECT_EQ(as_rows->front().keys.size(), 1U);
}

}  // namespace
}  // namespace syncline
