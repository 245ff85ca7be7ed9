// TableShard against a plain map from key to reference row in double.
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "common/random.h"
#include "server/table/initializer.h"
#include "server/table/table_shard.h"
#include "tests/server/optimizer/reference.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

constexpr uint64_t kVocabulary = 400;
constexpr uint32_t kDim = 6;

TableInfo Info(const OptimizerSpec& optimizer) {
  TableSpec spec;
  spec.name = "t";
  spec.dim = kDim;
  spec.optimizer = optimizer;
  spec.initializer = {InitializerSpec::Kind::kNormal, 0, 0.5, 42};
  spec.ids = {IdPolicy::Kind::kZero, kVocabulary};
  return {TableId(7), JobId(1), spec};
}

class Model {
 public:
  explicit Model(const TableInfo& info)
      : info_(info), initializer_(info.spec.initializer, info.id) {}

  std::vector<double> Read(Key key) const {
    if (key >= kVocabulary) return std::vector<double>(kDim);
    const auto it = rows_.find(key);
    return it == rows_.end() ? Initial(key) : it->second.w;
  }

  void Push(Key key, const float* sums, double divisor, double lr) {
    if (key >= kVocabulary) return;
    std::vector<double> gradient(sums, sums + kDim);
    for (double& g : gradient) g /= divisor;
    rows_.try_emplace(key, info_.spec.optimizer, Initial(key)).first->second.Apply(gradient, lr);
  }

  size_t rows() const { return rows_.size(); }

 private:
  std::vector<double> Initial(Key key) const {
    std::vector<float> row(kDim);
    initializer_.Fill(key, row);
    return {row.begin(), row.end()};
  }

  TableInfo info_;
  Initializer initializer_;
  std::map<Key, ReferenceRow> rows_;
};

std::vector<Key> RandomKeys(SplitMix64& random) {
  std::set<Key> keys;
  const uint64_t n = random.Below(300);
  for (uint64_t i = 0; i < n; ++i) keys.insert(random.Below(kVocabulary + 50));
  if (random.Below(10) == 0) keys.insert(UINT64_MAX);
  return {keys.begin(), keys.end()};
}

void ExpectSameRows(TableShard& shard, const Model& model, const std::vector<Key>& keys) {
  std::vector<float> out(keys.size() * kDim);
  shard.Read(keys, ReadMode::kReadOnly, out.data(), kDim);
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::vector<double> expected = model.Read(keys[i]);
    for (size_t j = 0; j < kDim; ++j) {
      ASSERT_NEAR(out[i * kDim + j], expected[j], 1e-5 * std::max(1.0, std::abs(expected[j])))
          << "key " << keys[i] << " element " << j;
    }
  }
}

TEST(TableShardPropertyTest, RandomUseAgreesWithAPlainModel) {
  const uint64_t seed = TestSeed(77);
  SCOPED_TRACE(SeedTrace(seed));
  const std::vector<OptimizerSpec> optimizers = {
      {"sgd", {{"lr", 0.1}, {"clip_norm", 1}, {"weight_decay", 0.01}}},
      {"momentum", {{"lr", 0.05}, {"nesterov", 1}}},
      {"adagrad", {{"lr", 0.1}}},
      {"rowwise_adagrad", {{"lr", 0.1}, {"clip_norm", 0.5}}},
      {"adam", {{"lr", 0.01}, {"weight_decay", 0.1}}}};
  for (const OptimizerSpec& optimizer : optimizers) {
    SCOPED_TRACE(optimizer.name);
    SplitMix64 random(seed);
    const TableInfo info = Info(optimizer);
    auto shard = TableShard::Create(info).value();
    Model model(info);
    std::map<int64_t, double> rates = {{INT64_MIN, optimizer.arguments.at("lr")}};
    for (int64_t step = 0; step < 60; ++step) {
      const auto keys = RandomKeys(random);
      std::vector<float> sums(keys.size() * kDim);
      for (float& g : sums) g = static_cast<float>(3 * random.Normal());
      const double divisor = static_cast<double>(1 + random.Below(64));
      const int64_t clock = step - static_cast<int64_t>(random.Below(3));
      const double lr = std::prev(rates.upper_bound(clock))->second;
      ASSERT_OK(shard->CheckKeys(keys));
      ASSERT_OK(shard->CheckGradients(keys, sums));
      shard->Apply(keys, sums, {.clock = Clock(clock), .divisor = divisor});
      for (size_t i = 0; i < keys.size(); ++i) {
        model.Push(keys[i], sums.data() + i * kDim, divisor, lr);
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSameRows(*shard, model, RandomKeys(random)));
      ASSERT_EQ(shard->rows(), model.rows());
      if (random.Below(8) == 0) {
        const int64_t from = step + static_cast<int64_t>(random.Below(5)) - 2;
        rates[from] = 0.01 + 0.1 * random.Uniform();
        ASSERT_OK(shard->ChangeLearningRate(Clock(from), rates[from]));
      }
    }
  }
}

// How a push is cut into calls, and which rows exist besides, changes no bit.
TEST(TableShardPropertyTest, BitsDependOnEachRowsOwnHistoryAlone) {
  const uint64_t seed = TestSeed(78);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  const TableInfo info = Info({"adam", {{"lr", 0.01}, {"clip_norm", 1}}});
  auto whole = TableShard::Create(info).value();
  auto one_by_one = TableShard::Create(info).value();
  for (int step = 0; step < 30; ++step) {
    const auto keys = RandomKeys(random);
    std::vector<float> sums(keys.size() * kDim);
    for (float& g : sums) g = static_cast<float>(random.Normal());
    whole->Apply(keys, sums, {.divisor = 3});
    for (size_t i = keys.size(); i-- > 0;) {
      one_by_one->Apply({&keys[i], 1}, {&sums[i * kDim], kDim}, {.divisor = 3});
    }
    StateHash a, b;
    whole->Fold(a);
    one_by_one->Fold(b);
    ASSERT_EQ(a.value(), b.value()) << "step " << step;
  }
}

}  // namespace
}  // namespace syncline
