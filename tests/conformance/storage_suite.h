// What every Storage must do. An implementation registers itself with
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StorageSuite, ::testing::Values(StorageCase{"Memory", make}));
//
// in a binary that includes this header once.
#ifndef SYNCLINE_TESTS_CONFORMANCE_STORAGE_SUITE_H_
#define SYNCLINE_TESTS_CONFORMANCE_STORAGE_SUITE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "server/storage/storage.h"
#include "tests/support/seed.h"

namespace syncline {

struct StorageCase {
  std::string name;
  std::function<std::unique_ptr<Storage>(const RowLayout&)> make;
};

inline void PrintTo(const StorageCase& c, std::ostream* out) { *out << c.name; }

class StorageSuite : public ::testing::TestWithParam<StorageCase> {
 protected:
  using Contents = std::vector<std::pair<Key, std::vector<float>>>;

  std::unique_ptr<Storage> Make(uint32_t dim = 3, uint32_t state = 2, RowOptions options = {}) {
    return GetParam().make(RowLayout(dim, state, options));
  }

  static std::vector<float*> Find(Storage& storage, const std::vector<Key>& keys) {
    std::vector<float*> rows(keys.size());
    storage.Find(keys, rows);
    return rows;
  }

  // Makes or overwrites a row: every float of it becomes `value`.
  static bool Put(Storage& storage, Key key, float value) {
    float* row = nullptr;
    uint8_t created = 0;
    storage.FindOrCreate({&key, 1}, {&row, 1}, {&created, 1});
    std::fill_n(row, storage.layout().stride(), value);
    return created != 0;
  }

  static bool Erase(Storage& storage, Key key) { return storage.Erase({&key, 1}) == 1; }

  static Contents Dump(const Storage& storage) {
    Contents contents;
    storage.ForEachSorted([&](Key key, std::span<const float> row) {
      contents.emplace_back(key, std::vector<float>(row.begin(), row.end()));
    });
    return contents;
  }

  static Contents Expected(const std::map<Key, float>& model, uint32_t stride) {
    Contents contents;
    for (const auto& [key, value] : model) {
      contents.emplace_back(key, std::vector<float>(stride, value));
    }
    return contents;
  }
};

TEST_P(StorageSuite, StartsEmpty) {
  auto storage = Make();
  EXPECT_EQ(storage->size(), 0u);
  EXPECT_THAT(Dump(*storage), ::testing::IsEmpty());
  EXPECT_THAT(Find(*storage, {0, 1, UINT64_MAX}), ::testing::Each(nullptr));
  EXPECT_FALSE(Erase(*storage, 0));
}

TEST_P(StorageSuite, AnEmptyBatchDoesNothing) {
  auto storage = Make();
  storage->Find({}, {});
  storage->FindOrCreate({}, {}, {});
  EXPECT_EQ(storage->Erase({}), 0u);
  EXPECT_EQ(storage->size(), 0u);
}

TEST_P(StorageSuite, FindMakesNoRows) {
  auto storage = Make();
  Put(*storage, 5, 1);
  EXPECT_EQ(Find(*storage, {4, 6})[0], nullptr);
  EXPECT_EQ(storage->size(), 1u);
}

TEST_P(StorageSuite, EveryKeyIsLegalAndDistinct) {
  auto storage = Make();
  constexpr uint64_t kOne = 1;
  const std::vector<Key> keys = {0,
                                 1,
                                 (kOne << 24) - 1,
                                 kOne << 24,
                                 (kOne << 24) + 1,
                                 UINT32_MAX,
                                 (kOne << 53) - 1,
                                 kOne << 53,
                                 (kOne << 53) + 1,
                                 (kOne << 63) - 1,
                                 kOne << 63,
                                 UINT64_MAX - 1,
                                 UINT64_MAX};
  std::map<Key, float> model;
  for (Key key : keys) {
    const float value = static_cast<float>(model.size() + 1);
    EXPECT_TRUE(Put(*storage, key, value)) << key;
    model[key] = value;
  }
  EXPECT_EQ(Dump(*storage), Expected(model, storage->layout().stride()));
  for (Key key : keys) {
    EXPECT_TRUE(Erase(*storage, key)) << key;
    model.erase(key);
    EXPECT_EQ(Dump(*storage), Expected(model, storage->layout().stride()));
  }
}

TEST_P(StorageSuite, ABatchReportsWhichRowsItMade) {
  auto storage = Make();
  Put(*storage, 7, 1);
  const std::vector<Key> keys = {3, 7, 9};
  std::vector<float*> rows(3);
  std::vector<uint8_t> created(3, 9);
  storage->FindOrCreate(keys, rows, created);
  EXPECT_THAT(created, ::testing::ElementsAre(1, 0, 1));
  EXPECT_EQ(*rows[1], 1.0f);
  EXPECT_EQ(storage->size(), 3u);
}

TEST_P(StorageSuite, AKeyNamedTwiceInABatchIsOneRow) {
  auto storage = Make();
  const std::vector<Key> keys = {8, 8};
  std::vector<float*> rows(2);
  std::vector<uint8_t> created(2);
  storage->FindOrCreate(keys, rows, created);
  EXPECT_THAT(created, ::testing::ElementsAre(1, 0));
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_EQ(storage->size(), 1u);
}

TEST_P(StorageSuite, TheRowsOfOneLargeBatchAreValidTogether) {
  auto storage = Make();
  std::vector<Key> keys(5'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 1'000;
  std::vector<float*> rows(keys.size());
  std::vector<uint8_t> created(keys.size());
  storage->FindOrCreate(keys, rows, created);
  std::map<Key, float> model;
  for (size_t i = 0; i < keys.size(); ++i) {
    model[keys[i]] = static_cast<float>(i);
    std::fill_n(rows[i], storage->layout().stride(), static_cast<float>(i));
  }
  EXPECT_EQ(std::set<float*>(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_EQ(Dump(*storage), Expected(model, storage->layout().stride()));
}

TEST_P(StorageSuite, WritesThroughFoundRowsAreKept) {
  auto storage = Make();
  Put(*storage, 2, 1);
  Find(*storage, {2})[0][1] = 42;
  EXPECT_EQ(Find(*storage, {2})[0][1], 42.0f);
}

TEST_P(StorageSuite, AnErasedKeyCanComeBackAsAFreshRow) {
  auto storage = Make();
  Put(*storage, 2, 1);
  EXPECT_TRUE(Erase(*storage, 2));
  EXPECT_FALSE(Erase(*storage, 2));
  EXPECT_TRUE(Put(*storage, 2, 3));
  EXPECT_EQ(Find(*storage, {2})[0][0], 3.0f);
}

TEST_P(StorageSuite, TheOrderOfInsertionNeverShows) {
  auto forward = Make();
  auto backward = Make();
  for (Key key = 0; key < 1'000; ++key) {
    Put(*forward, key * key, static_cast<float>(key));
    Put(*backward, (999 - key) * (999 - key), static_cast<float>(999 - key));
  }
  EXPECT_EQ(Dump(*forward), Dump(*backward));
}

TEST_P(StorageSuite, ErasedRowsAreUsedAgain) {
  auto storage = Make();
  for (Key key = 0; key < 1'000; ++key) Put(*storage, key, 0);
  const size_t bytes = storage->memory_bytes();
  for (int round = 0; round < 20; ++round) {
    for (Key key = 0; key < 1'000; ++key) ASSERT_TRUE(Erase(*storage, key));
    for (Key key = 0; key < 1'000; ++key) ASSERT_TRUE(Put(*storage, key, 0));
  }
  EXPECT_EQ(storage->memory_bytes(), bytes);
}

TEST_P(StorageSuite, RandomOperationsAgreeWithAMap) {
  const uint64_t seed = TestSeed(20'240'601);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (uint32_t dim : {1u, 5u, 64u}) {
    auto storage = Make(dim, dim == 1 ? 0 : 2);
    std::map<Key, float> model;
    for (int step = 0; step < 20'000; ++step) {
      // Few distinct keys, so that erasing and finding often hit; high bits vary too.
      const Key key = random.Below(700) << random.Below(2) * 54;
      const uint64_t kind = random.Below(10);
      if (kind < 5) {
        const float value = static_cast<float>(step);
        ASSERT_EQ(Put(*storage, key, value), !model.contains(key));
        model[key] = value;
      } else if (kind < 8) {
        ASSERT_EQ(Erase(*storage, key), model.erase(key) == 1);
      } else {
        float* row = Find(*storage, {key})[0];
        ASSERT_EQ(row != nullptr, model.contains(key));
        if (row != nullptr) {
          ASSERT_EQ(row[dim - 1], model[key]);
        }
      }
      ASSERT_EQ(storage->size(), model.size());
    }
    EXPECT_EQ(Dump(*storage), Expected(model, storage->layout().stride()));
  }
}

TEST_P(StorageSuite, MemoryPerRowKeepsToItsBound) {
  for (const auto& [dim, state] : std::vector<std::pair<uint32_t, uint32_t>>{
           {1, 0}, {1, 1}, {4, 4}, {16, 1}, {64, 64}, {4'096, 1}}) {
    auto storage = Make(dim, state);
    const size_t rows = dim > 1'000 ? 2'000 : 20'000;
    for (size_t n = 1; n <= rows; ++n) {
      Put(*storage, Mix64(n), 0);
      if (n < 128) continue;
      const double bound = 1.15 * 4 * (dim + state) + 32;
      ASSERT_LE(static_cast<double>(storage->memory_bytes()), bound * static_cast<double>(n))
          << n << " rows of " << dim << "+" << state;
    }
  }
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_CONFORMANCE_STORAGE_SUITE_H_
