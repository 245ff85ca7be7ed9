#include "server/kv/kv_store.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"

#include "common/random.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;

std::unique_ptr<KvStore> OpenOrDie(const std::string& path) {
  auto store = KvStore::Open(path);
  EXPECT_OK(store);
  return std::move(store).value();
}

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(KvStoreTest, KeepsWhatWasWrittenAcrossReopening) {
  TempDir dir;
  {
    auto store = OpenOrDie(dir.Sub("meta"));
    ASSERT_OK(store->Put("b", "2"));
    ASSERT_OK(store->Put("a", "1"));
    ASSERT_OK(store->Delete("b"));
  }
  auto store = OpenOrDie(dir.Sub("meta"));
  EXPECT_THAT(store->Get("a"), IsOkAndHolds(Optional(Eq("1"))));
  EXPECT_THAT(store->Get("b"), IsOkAndHolds(Eq(std::nullopt)));
}

TEST(KvStoreTest, ScanGivesThePrefixInOrderAndNeverItsOwnKeys) {
  TempDir dir;
  auto store = OpenOrDie(dir.path());
  ASSERT_OK(store->AdoptClusterId("c"));
  KvWriteBatch batch;
  for (const char* key : {"job/2", "job/10", "table/1", "joc"}) batch.Put(key, "v");
  ASSERT_OK(store->Write(batch));
  EXPECT_THAT(store->Scan("job/"),
              IsOkAndHolds(ElementsAre(Pair("job/10", "v"), Pair("job/2", "v"))));
  ASSERT_OK_AND_ASSIGN(const auto all, store->Scan(""));
  EXPECT_EQ(all.size(), 4u);
}

TEST(KvStoreTest, KeysOfTheStoreItselfAreRefused) {
  TempDir dir;
  auto store = OpenOrDie(dir.path());
  const std::string own("\0x", 2);
  EXPECT_THAT(store->Put(own, ""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store->Get(own), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(KvStoreTest, ADirectoryWithOtherFilesIsRefusedAndLeftAlone) {
  TempDir dir;
  WriteFile(dir.Sub("thesis.tex"), "do not touch");
  EXPECT_THAT(KvStore::Open(dir.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(dir.path())));
  EXPECT_FALSE(std::filesystem::exists(dir.Sub("CURRENT")));
}

TEST(KvStoreTest, AFileInPlaceOfTheDirectoryIsRefused) {
  TempDir dir;
  WriteFile(dir.Sub("file"), "");
  EXPECT_THAT(KvStore::Open(dir.Sub("file")), StatusIs(absl::StatusCode::kFailedPrecondition));
}

void PutRaw(const std::string& path, const std::string& key, const std::string& value) {
  rocksdb::DB* raw = nullptr;
  rocksdb::Options options;
  options.create_if_missing = true;
  ASSERT_TRUE(rocksdb::DB::Open(options, path, &raw).ok());
  std::unique_ptr<rocksdb::DB> db(raw);
  ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), key, value).ok());
}

TEST(KvStoreTest, AnotherProgramsDatabaseIsRefused) {
  TempDir dir;
  PutRaw(dir.path(), "their key", "their value");
  EXPECT_THAT(KvStore::Open(dir.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another program's")));
}

TEST(KvStoreTest, ANewerFormatIsRefusedWithTheRemedy) {
  TempDir dir;
  { OpenOrDie(dir.path()); }
  PutRaw(dir.path(), std::string("\0syncline/format", 16), "99");
  EXPECT_THAT(KvStore::Open(dir.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("run the newer program")));
}

TEST(KvStoreTest, ASecondOpenOfTheSameDirectoryIsUnavailable) {
  TempDir dir;
  auto store = OpenOrDie(dir.path());
  EXPECT_THAT(KvStore::Open(dir.path()), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(KvStoreTest, DataOfAnotherClusterIsRefused) {
  TempDir dir;
  auto store = OpenOrDie(dir.path());
  EXPECT_THAT(store->ClusterId(), IsOkAndHolds(IsEmpty()));
  ASSERT_OK(store->AdoptClusterId("blue"));
  ASSERT_OK(store->AdoptClusterId("blue"));
  EXPECT_THAT(store->AdoptClusterId("green"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("blue")));
  EXPECT_THAT(store->ClusterId(), IsOkAndHolds(Eq("blue")));
}

std::string NewestLog(const std::string& path) {
  std::string newest;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".log") newest = std::max(newest, entry.path().string());
  }
  return newest;
}

TEST(KvStoreTest, ATornTailIsCutAndTheRestIsKept) {
  TempDir dir;
  {
    auto store = OpenOrDie(dir.path());
    ASSERT_OK(store->Put("first", std::string(200, 'x')));
    ASSERT_OK(store->Put("second", std::string(200, 'y')));
  }
  const std::string log = NewestLog(dir.path());
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 50);
  auto store = OpenOrDie(dir.path());
  EXPECT_THAT(store->Get("first"), IsOkAndHolds(Optional(Eq(std::string(200, 'x')))));
  EXPECT_THAT(store->Get("second"), IsOkAndHolds(Eq(std::nullopt)));
}

TEST(KvStoreTest, DamageBeforeTheTailIsSeenNotSkipped) {
  TempDir dir;
  {
    auto store = OpenOrDie(dir.path());
    ASSERT_OK(store->Put("first", std::string(200, 'x')));
    ASSERT_OK(store->Put("second", std::string(200, 'y')));
  }
  std::fstream log(NewestLog(dir.path()), std::ios::in | std::ios::out | std::ios::binary);
  log.seekp(150);
  log.put('\x5a');
  log.close();
  EXPECT_THAT(KvStore::Open(dir.path()), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(KvStoreTest, BehavesLikeAMapUnderRandomBatches) {
  const uint64_t seed = TestSeed(7);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  TempDir dir;
  std::map<std::string, std::string> model;
  for (int round = 0; round < 5; ++round) {
    auto store = OpenOrDie(dir.path());
    for (int i = 0; i < 20; ++i) {
      KvWriteBatch batch;
      for (uint64_t n = random.Below(4); n-- > 0;) {
        const std::string key = "k" + std::to_string(random.Below(12));
        if (random.Below(3) == 0) {
          batch.Delete(key);
          model.erase(key);
        } else {
          model[key] = std::to_string(random());
          batch.Put(key, model[key]);
        }
      }
      ASSERT_OK(store->Write(batch));
    }
    ASSERT_OK_AND_ASSIGN(const auto all, store->Scan(""));
    EXPECT_EQ((std::map<std::string, std::string>(all.begin(), all.end())), model);
  }
}

}  // namespace
}  // namespace syncline
