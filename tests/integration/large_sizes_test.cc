// Sizes far beyond a frame, with default settings: what one call carries has no bound of its own.
#include <cstdint>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_cluster.h"
#include "worker/client/ps_client.h"

namespace syncline {
namespace {

std::unique_ptr<PsClient> Connect(const TestCluster& cluster) {
  ClientOptions options;
  options.coordinator = cluster.coordinator();
  options.job = {.name = "large", .ranks = 1};
  options.call_deadline = std::chrono::seconds(120);
  auto client = PsClient::Connect(options);
  EXPECT_OK(client);
  return client.ok() ? *std::move(client) : nullptr;
}

// A row is minus the sum of its gradients.
TableSpec PlainSgd(const std::string& name, uint32_t dim) {
  TableSpec spec;
  spec.name = name;
  spec.dim = dim;
  spec.optimizer = {"sgd", {{"lr", 1.0}}};
  spec.reduce = Reduce::kSum;
  spec.consistency = {ConsistencyMode::kAsync, Staleness(0), ApplyMode::kImmediate};
  return spec;
}

// Differs between neighbours, between blocks and between frames; exact in a float.
float ValueAt(size_t i) { return static_cast<float>(i % 8'191); }

TEST(LargeSizesTest, ATensorBeyondTheClientsQueueIsPushedAndPulledWhole) {
  const TestCluster cluster({.servers = 2, .slots = 64});
  const auto client = Connect(cluster);
  ASSERT_NE(client, nullptr);
  TableSpec spec = PlainSgd("tensor", kDefaultDenseBlock);
  spec.kind = TableKind::kDense;
  spec.elements = (int64_t{1} << 26) + 1;
  const auto size = static_cast<size_t>(spec.elements);
  ASSERT_GT(size * sizeof(float), kClientQueuedBytes);
  ASSERT_OK_AND_ASSIGN(const TableInfo tensor, client->CreateTable(spec));
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = ValueAt(i);
  ASSERT_OK(client->PushDense(tensor, values, 1));
  std::fill(values.begin(), values.end(), 1.0f);
  ASSERT_OK(client->PullDense(tensor, values));
  size_t wrong = 0;
  for (size_t i = 0; i < size; ++i) wrong += values[i] != -ValueAt(i);
  EXPECT_EQ(wrong, 0u);
  EXPECT_OK(client->Leave());
}

TEST(LargeSizesTest, AMillionKeysArePushedAndPulledInOneCall) {
  const TestCluster cluster({.servers = 2, .slots = 64});
  const auto client = Connect(cluster);
  ASSERT_NE(client, nullptr);
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(PlainSgd("rows", 4)));
  constexpr size_t kRows = 1'000'000;
  std::vector<Key> keys(kRows);
  std::vector<float> values(kRows * 4);
  for (size_t i = 0; i < kRows; ++i) keys[i] = i * 0x9E3779B97F4A7C15U;
  for (size_t i = 0; i < values.size(); ++i) values[i] = ValueAt(i);
  ASSERT_OK(client->Push(table, keys, {values.data()}, 1));
  std::fill(values.begin(), values.end(), 1.0f);
  ASSERT_OK(client->Pull(table, keys, {values.data()}));
  size_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) wrong += values[i] != -ValueAt(i);
  EXPECT_EQ(wrong, 0u);
  EXPECT_OK(client->Leave());
}

TEST(LargeSizesTest, RowsOfTheLargestDimFitManyToACall) {
  const TestCluster cluster({.servers = 2, .slots = 4});
  const auto client = Connect(cluster);
  ASSERT_NE(client, nullptr);
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(PlainSgd("wide", kMaxDim)));
  EXPECT_THAT(client->CreateTable(PlainSgd("wider", kMaxDim + 1)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  std::vector<Key> keys;
  for (Key key = 0; key < 40; ++key) keys.push_back(UINT64_MAX - key);
  std::vector<float> values(keys.size() * kMaxDim);
  for (size_t i = 0; i < values.size(); ++i) values[i] = ValueAt(i);
  ASSERT_OK(client->Push(table, keys, {values.data()}, 1));
  std::fill(values.begin(), values.end(), 1.0f);
  ASSERT_OK(client->Pull(table, keys, {values.data()}));
  size_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) wrong += values[i] != -ValueAt(i);
  EXPECT_EQ(wrong, 0u);
  EXPECT_OK(client->Leave());
}

}  // namespace
}  // namespace syncline
