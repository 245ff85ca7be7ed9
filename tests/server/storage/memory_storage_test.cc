#include "server/storage/memory_storage.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "common/hash.h"
#include "tests/conformance/storage_suite.h"

namespace syncline {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, StorageSuite,
                         ::testing::Values(StorageCase{"Memory", [](const RowLayout& layout) {
                                                         return std::make_unique<MemoryStorage>(
                                                             layout);
                                                       }}));

float* Make(MemoryStorage& storage, Key key) {
  float* row = nullptr;
  uint8_t created = 0;
  storage.FindOrCreate({&key, 1}, {&row, 1}, {&created, 1});
  return row;
}

TEST(MemoryStorageTest, AnEmptyOneHoldsNoMemory) {
  EXPECT_EQ(MemoryStorage(RowLayout(64, 64)).memory_bytes(), 0u);
}

TEST(MemoryStorageTest, ATinyTableIsCheap) {
  MemoryStorage storage(RowLayout(16, 0));
  Make(storage, 1);
  EXPECT_LT(storage.memory_bytes(), 512u);
}

TEST(MemoryStorageTest, OneLargeRowTakesTheRoomOfOne) {
  MemoryStorage storage(RowLayout(4'096, 4'096));
  Make(storage, 1);
  EXPECT_LT(storage.memory_bytes(), 32'768u + 512u);
}

TEST(MemoryStorageTest, RowsStayWhereTheyAreWhileOthersComeAndGo) {
  MemoryStorage storage(RowLayout(3, 0));
  std::vector<float*> rows;
  for (Key key = 0; key < 10'000; ++key) rows.push_back(Make(storage, key));
  for (Key key = 1; key < 10'000; key += 2) storage.Erase({&key, 1});
  for (Key key = 20'000; key < 40'000; ++key) Make(storage, key);
  for (Key key = 0; key < 10'000; key += 2) ASSERT_EQ(Make(storage, key), rows[key]);
}

// The inverse of Mix64, to build keys with chosen hashes.
Key Unmix(uint64_t h) {
  h ^= (h >> 31) ^ (h >> 62);
  h *= 0x319642b2d24d8ec3u;
  h ^= (h >> 27) ^ (h >> 54);
  h *= 0x96de1b173f119089u;
  h ^= (h >> 30) ^ (h >> 60);
  return h;
}

TEST(MemoryStorageTest, KeysThatCollideAtTheEndOfTheTableWrapAround) {
  std::vector<Key> keys;
  for (uint64_t i = 0; i < 60; ++i) keys.push_back(Unmix(UINT64_MAX - i));
  ASSERT_EQ(Mix64(keys[7]), UINT64_MAX - 7);
  MemoryStorage storage(RowLayout(1, 0));
  for (Key key : keys) *Make(storage, key) = static_cast<float>(key >> 40);
  // Erasing from the middle, the front and the back of the run must leave the others findable.
  for (size_t at : {30, 0, 57, 10, 20, 0, 0}) {
    const Key gone = keys[at];
    EXPECT_EQ(storage.Erase({&gone, 1}), 1u);
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(at));
    std::vector<float*> rows(keys.size());
    storage.Find(keys, rows);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_NE(rows[i], nullptr);
      ASSERT_EQ(*rows[i], static_cast<float>(keys[i] >> 40));
    }
  }
}

}  // namespace
}  // namespace syncline
