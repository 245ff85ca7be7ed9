// PsClient against real servers over gRPC.
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_cluster.h"
#include "worker/client/ps_client.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

ClientOptions OptionsFor(const TestCluster& cluster, uint32_t ranks = 1) {
  ClientOptions options;
  options.coordinator = cluster.coordinator();
  options.job.name = "ctr";
  options.job.ranks = ranks;
  options.job.lease = milliseconds(2'000);
  options.call_deadline = milliseconds(20'000);
  return options;
}

std::unique_ptr<PsClient> Connect(const ClientOptions& options) {
  auto client = PsClient::Connect(options);
  EXPECT_OK(client);
  return client.ok() ? *std::move(client) : nullptr;
}

// Weights start at zero and lose each gradient: integer sums are exact.
TableSpec SgdTable(std::string name, uint32_t dim) {
  TableSpec spec;
  spec.name = std::move(name);
  spec.dim = dim;
  spec.optimizer.name = "sgd";
  spec.optimizer.arguments["lr"] = 1;
  spec.reduce = Reduce::kSum;
  spec.consistency = {ConsistencyMode::kSsp, Staleness(1), ApplyMode::kImmediate};
  return spec;
}

TEST(ClusterTest, PushesReachTwoServersAndComeBack) {
  TestCluster cluster({.servers = 2});
  const auto client = Connect(OptionsFor(cluster));
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(SgdTable("user", 4)));
  std::vector<Key> keys{0, 1, (1U << 24) + 1, (1ULL << 53) + 1, 1ULL << 63, UINT64_MAX, 1};
  std::vector<float> gradients(keys.size() * 4);
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(i);
  ASSERT_OK(client->Push(table, keys, {gradients.data()}, 1));
  ASSERT_OK(client->Tick(1));
  std::vector<float> out(keys.size() * 4);
  ASSERT_OK(client->Pull(table, keys, {out.data()}));
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t e = i % 4;
    const bool twice = i / 4 == 1 || i / 4 == 6;
    const float want = twice ? gradients[4 + e] + gradients[24 + e] : gradients[i];
    EXPECT_EQ(out[i], -want) << i;
  }
  EXPECT_EQ(client->stats().staleness_max, 0);
  ASSERT_OK(client->Leave());
}

TEST(ClusterTest, LargeTensorsAndBagsCrossFrames) {
  TestCluster cluster({.servers = 2, .slots = 8});
  const auto client = Connect(OptionsFor(cluster));
  TableSpec spec = SgdTable("weights", 4'096);
  spec.kind = TableKind::kDense;
  spec.elements = 3'000'001;
  ASSERT_OK_AND_ASSIGN(const TableInfo tensor, client->CreateTable(spec));
  std::vector<float> gradients(spec.elements);
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(i % 1'000);
  ASSERT_OK(client->PushDense(tensor, gradients, 1));
  std::vector<float> out(spec.elements);
  ASSERT_OK(client->PullDense(tensor, out));
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], -gradients[i]) << i;

  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(SgdTable("user", 8)));
  SplitMix64 random(TestSeed(8));
  std::vector<Key> keys;
  std::vector<uint32_t> offsets{0};
  for (int b = 0; b < 500; ++b) {
    for (uint64_t n = random.Below(40); n > 0; --n) keys.push_back(random.Below(3'000));
    offsets.push_back(static_cast<uint32_t>(keys.size()));
  }
  std::vector<float> bag_gradients(500 * 8);
  for (float& g : bag_gradients) g = static_cast<float>(random.Uniform() - 0.5);
  ASSERT_OK(client->PushBags(table, keys, offsets, Pooling::kMean, {bag_gradients.data()}, 1));
  std::map<Key, std::vector<double>> rows;
  for (size_t b = 0; b < 500; ++b) {
    for (uint32_t i = offsets[b]; i < offsets[b + 1]; ++i) {
      auto& row = rows[keys[i]];
      row.resize(8);
      for (size_t e = 0; e < 8; ++e) {
        row[e] -= static_cast<double>(bag_gradients[b * 8 + e]) / (offsets[b + 1] - offsets[b]);
      }
    }
  }
  std::vector<float> pooled(500 * 8);
  ASSERT_OK(client->PullBags(table, keys, offsets, Pooling::kSqrtN, {pooled.data()}));
  for (size_t b = 0; b < 500; ++b) {
    const double count = offsets[b + 1] - offsets[b];
    for (size_t e = 0; e < 8; ++e) {
      double sum = 0;
      for (uint32_t i = offsets[b]; i < offsets[b + 1]; ++i) sum += rows[keys[i]][e];
      ASSERT_NEAR(pooled[b * 8 + e], count == 0 ? 0 : sum / std::sqrt(count), 1e-4);
    }
  }
}

TEST(ClusterTest, AReaderWaitsForTheSlowerWorkerAndPrefetchesForItsNextClock) {
  TestCluster cluster({.servers = 2});
  ClientOptions options = OptionsFor(cluster, 2);
  options.reply_timeout = milliseconds(100);  // parked reads are asked for again and again
  const auto fast = Connect(options);
  const auto slow = Connect(options);
  ASSERT_OK_AND_ASSIGN(const TableInfo table, fast->CreateTable(SgdTable("user", 1)));
  const std::vector<Key> keys{1, 2, 3};
  const std::vector<float> ones(3, 1);
  std::vector<float> out(3);
  ASSERT_OK(slow->Push(table, keys, {ones.data()}, 1));
  ASSERT_OK(fast->Tick(1));
  ASSERT_OK(fast->Pull(table, keys, {out.data()}));  // clock 1 needs min clock 0
  std::vector<float> ahead(3);
  std::atomic<bool> prefetched{false};
  fast->Prefetch(table, keys, {ahead.data()}, [&](const absl::Status& status) {
    EXPECT_OK(status);
    prefetched = true;
  });
  ASSERT_OK(fast->Tick(1));
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_FALSE(prefetched);  // clock 2 needs min clock 1
  ASSERT_OK(slow->Tick(1));
  ASSERT_OK(fast->WaitAll());
  EXPECT_TRUE(prefetched);
  EXPECT_THAT(ahead, Each(-1));
  EXPECT_EQ(fast->stats().staleness_max, 1);
  ASSERT_OK(slow->Leave());
  ASSERT_OK(fast->Leave());
}

TEST(ClusterTest, ManyClientsAddUpExactly) {
  TestCluster cluster({.servers = 2});
  constexpr uint32_t kClients = 3;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (uint32_t c = 0; c < kClients; ++c) {
    threads.emplace_back([&, c] {
      const auto client = Connect(OptionsFor(cluster, kClients));
      const auto table = client->CreateTable(SgdTable("user", 1));
      SplitMix64 random(c);
      for (int step = 0; step < 100; ++step) {
        std::vector<Key> keys(20);
        for (Key& key : keys) key = random.Below(50);
        const std::vector<float> ones(20, 1);
        client->PushAsync(*table, keys, {ones.data()}, 1, nullptr);
        client->TickAsync(1, "", nullptr);
      }
      if (!client->Leave().ok()) ++failures;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  ClientOptions options = OptionsFor(cluster, kClients);
  options.clocked = false;
  const auto reader = Connect(options);
  ASSERT_OK_AND_ASSIGN(const TableInfo table, reader->DescribeTable("user"));
  std::vector<Key> keys(50);
  for (Key key = 0; key < 50; ++key) keys[key] = key;
  std::vector<float> out(50);
  ASSERT_OK(reader->Pull(table, keys, {out.data()}, {.read_only = true}));
  double sum = 0;
  for (const float w : out) sum += static_cast<double>(w);
  EXPECT_EQ(sum, -static_cast<double>(kClients) * 100 * 20);
}

TEST(ClusterTest, ARestartedServerFailsTheSessionWithSessionLostAndRejoinGoesOn) {
  TestCluster cluster({.servers = 2});
  const auto client = Connect(OptionsFor(cluster));
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(SgdTable("user", 1)));
  std::vector<Key> keys(32);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> ones(keys.size(), 1);
  ASSERT_OK(client->Push(table, keys, {ones.data()}, 1));
  cluster.Stop(1);
  cluster.Restart(1);
  std::vector<float> out(keys.size());
  EXPECT_THAT(client->Pull(table, keys, {out.data()}), HasDetail(Detail::kSessionLost));
  EXPECT_EQ(client->state(), SessionState::kLost);
  ASSERT_OK(client->Rejoin());
  ASSERT_OK(client->Push(table, keys, {ones.data()}, 1));
  ASSERT_OK(client->Pull(table, keys, {out.data()}));
}

TEST(ClusterTest, ARankThatWasTakenOverIsFencedAndItsCallsFail) {
  TestCluster cluster({.servers = 2});
  ClientOptions options = OptionsFor(cluster);
  const auto first = Connect(options);
  ASSERT_OK_AND_ASSIGN(const TableInfo table, first->CreateTable(SgdTable("user", 1)));
  options.rank = Rank(0);
  EXPECT_THAT(PsClient::Connect(options), StatusIs(absl::StatusCode::kAlreadyExists));
  options.take_over = true;
  const auto second = Connect(options);
  const std::vector<Key> keys{1};
  const float one = 1;
  EXPECT_THAT(first->Push(table, keys, {&one}, 1), HasDetail(Detail::kFenced));
  EXPECT_OK(second->Push(table, keys, {&one}, 1));
}

TEST(ClusterTest, ATableWithoutOptimizerRefusesPushesByItsTypedError) {
  TestCluster cluster;
  const auto client = Connect(OptionsFor(cluster));
  TableSpec spec = SgdTable("user", 1);
  spec.optimizer = {};
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(spec));
  const std::vector<Key> keys{1};
  const float one = 1;
  EXPECT_THAT(client->Push(table, keys, {&one}, 1), HasDetail(Detail::kNoOptimizer));
  OptimizerSpec sgd{.name = "sgd", .arguments = {{"lr", 1}}};
  ASSERT_OK(client->SetOptimizer(table, sgd));
  EXPECT_OK(client->Push(table, keys, {&one}, 1));
  spec.dim = 2;
  EXPECT_THAT(client->CreateTable(spec),
              AllOf(StatusIs(absl::StatusCode::kAlreadyExists), HasDetail(Detail::kSpecDiffers)));
}

TEST(ClusterTest, AnUnreachableCoordinatorIsNamed) {
  ClientOptions options;
  options.coordinator = "127.0.0.1:1";
  options.job.ranks = 1;
  options.call_deadline = milliseconds(300);
  EXPECT_THAT(PsClient::Connect(options).status().ToString(), HasSubstr("127.0.0.1:1"));
}

}  // namespace
}  // namespace syncline
