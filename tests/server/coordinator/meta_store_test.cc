#include "server/coordinator/meta_store.h"

#include <memory>

#include "gtest/gtest.h"

#include "common/time_source.h"
#include "server/coordinator/local_meta_store.h"
#include "server/kv/kv_store.h"
#include "tests/conformance/meta_store_suite.h"
#include "tests/support/fake_meta_store.h"
#include "tests/support/temp_dir.h"

namespace syncline {
namespace {

class LocalHarness {
 public:
  LocalHarness() { Reopen(); }
  MetaStore& store() { return *store_; }
  void Advance(std::chrono::milliseconds d) { time_.Advance(d); }
  void Reopen() {
    store_.reset();
    kv_.reset();
    kv_ = KvStore::Open(dir_.path()).value();
    store_ = LocalMetaStore::Open(*kv_, time_).value();
  }

 private:
  TempDir dir_;
  ManualTimeSource time_;
  std::unique_ptr<KvStore> kv_;
  std::unique_ptr<LocalMetaStore> store_;
};

class FakeHarness {
 public:
  MetaStore& store() { return store_; }
  void Advance(std::chrono::milliseconds d) { time_.Advance(d); }

 private:
  ManualTimeSource time_;
  FakeMetaStore store_{time_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Local, MetaStoreSuite, LocalHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Fake, MetaStoreSuite, FakeHarness);

TEST(LocalMetaStoreTest, KeepsRecordsAndVersionsButNoLeasesAcrossReopening) {
  LocalHarness harness;
  ASSERT_OK_AND_ASSIGN(const MetaVersion version,
                       harness.store().CompareAndSwap({{"k", kAbsent, "a value"}}));
  ASSERT_OK_AND_ASSIGN(const MetaLease lease,
                       harness.store().GrantLease(std::chrono::milliseconds(60'000)));
  ASSERT_OK(harness.store().CompareAndSwap({{"leased", kAbsent, "v", lease}}));
  harness.Reopen();
  ASSERT_OK_AND_ASSIGN(const auto all, harness.store().List(""));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0], (MetaRecord{"k", "a value", version}));
  ASSERT_OK_AND_ASSIGN(const MetaVersion next,
                       harness.store().CompareAndSwap({{"k", version, "again"}}));
  EXPECT_GT(next, version);
}

}  // namespace
}  // namespace syncline
