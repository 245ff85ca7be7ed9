// What every MetaStore must do. A test binary instantiates it once per implementation:
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Local, MetaStoreSuite, LocalHarness);
//
// where the harness has `MetaStore& store()` and `void Advance(std::chrono::milliseconds)`.
#ifndef SYNCLINE_TESTS_CONFORMANCE_META_STORE_SUITE_H_
#define SYNCLINE_TESTS_CONFORMANCE_META_STORE_SUITE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "server/coordinator/meta_store.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {

template <typename Harness>
class MetaStoreSuite : public ::testing::Test {
 protected:
  MetaStore& store() { return harness_.store(); }
  absl::StatusOr<MetaVersion> Put(const std::string& key, MetaVersion expected,
                                  const std::string& value, MetaLease lease = kNoLease) {
    return store().CompareAndSwap({{key, expected, value, lease}});
  }
  std::string ValueOf(const std::string& key) {
    const auto record = store().Get(key);
    return record.ok() && *record ? (*record)->value : "(none)";
  }

  Harness harness_;
};
TYPED_TEST_SUITE_P(MetaStoreSuite);

TYPED_TEST_P(MetaStoreSuite, WritesOnlyOverTheVersionThatWasSeen) {
  ASSERT_OK_AND_ASSIGN(const MetaVersion first, this->Put("k", kAbsent, "1"));
  EXPECT_THAT(this->Put("k", kAbsent, "x"), StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK_AND_ASSIGN(const MetaVersion second, this->Put("k", first, "2"));
  EXPECT_GT(second, first);
  EXPECT_THAT(this->Put("k", first, "x"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(this->ValueOf("k"), "2");
}

TYPED_TEST_P(MetaStoreSuite, AKeyMadeAgainHasAnotherVersion) {
  ASSERT_OK_AND_ASSIGN(const MetaVersion first, this->Put("k", kAbsent, "1"));
  ASSERT_OK(this->store().CompareAndSwap({{"k", first, std::nullopt}}));
  EXPECT_EQ(this->ValueOf("k"), "(none)");
  ASSERT_OK_AND_ASSIGN(const MetaVersion second, this->Put("k", kAbsent, "1"));
  EXPECT_GT(second, first);
}

TYPED_TEST_P(MetaStoreSuite, ManyChangesAreMadeTogetherOrNotAtAll) {
  ASSERT_OK(this->Put("b", kAbsent, "old"));
  EXPECT_THAT(this->store().CompareAndSwap({{"a", kAbsent, "new"}, {"b", kAbsent, "new"}}),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(this->ValueOf("a"), "(none)");
  EXPECT_EQ(this->ValueOf("b"), "old");
}

TYPED_TEST_P(MetaStoreSuite, BadKeysAreRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(this->Put("", kAbsent, "v"), StatusIs(kInvalid));
  EXPECT_THAT(this->Put(std::string("\0a", 2), kAbsent, "v"), StatusIs(kInvalid));
  EXPECT_THAT(this->store().CompareAndSwap({{"a", kAbsent, "1"}, {"a", kAbsent, "2"}}),
              StatusIs(kInvalid));
}

TYPED_TEST_P(MetaStoreSuite, ListsAPrefixInOrder) {
  for (const char* key : {"job/2", "job/10", "jo", "joc", "table/1"}) {
    ASSERT_OK(this->Put(key, kAbsent, "v"));
  }
  ASSERT_OK_AND_ASSIGN(const auto found, this->store().List("job/"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "job/10");
  EXPECT_EQ(found[1].key, "job/2");
}

TYPED_TEST_P(MetaStoreSuite, AWatchSeesEveryLaterChangeOfItsPrefixInOrder) {
  ASSERT_OK(this->Put("a/0", kAbsent, "before"));
  ASSERT_OK_AND_ASSIGN(const auto watch, this->store().Watch("a/"));
  ASSERT_OK_AND_ASSIGN(const MetaVersion made, this->Put("a/1", kAbsent, "x"));
  ASSERT_OK(this->Put("b/1", kAbsent, "y"));
  ASSERT_OK_AND_ASSIGN(const MetaVersion gone,
                       this->store().CompareAndSwap({{"a/1", made, std::nullopt}}));
  EXPECT_THAT(watch->TryNext(), IsOkAndHolds(MetaEvent{"a/1", "x", made}));
  EXPECT_THAT(watch->TryNext(), IsOkAndHolds(MetaEvent{"a/1", std::nullopt, gone}));
  EXPECT_THAT(watch->TryNext(), IsOkAndHolds(std::nullopt));
}

TYPED_TEST_P(MetaStoreSuite, AWatchThatFellBehindSaysSo) {
  ASSERT_OK_AND_ASSIGN(const auto watch, this->store().Watch(""));
  std::vector<MetaChange> changes;
  for (size_t i = 0; i <= kMaxMetaWatchBacklog; ++i) {
    changes.push_back({"k" + std::to_string(i), kAbsent, "v"});
  }
  ASSERT_OK(this->store().CompareAndSwap(changes));
  EXPECT_THAT(watch->TryNext(), StatusIs(absl::StatusCode::kOutOfRange));
}

TYPED_TEST_P(MetaStoreSuite, KeysOfALeaseVanishWhenItExpires) {
  ASSERT_OK_AND_ASSIGN(const auto watch, this->store().Watch("k"));
  ASSERT_OK_AND_ASSIGN(const MetaLease lease,
                       this->store().GrantLease(std::chrono::milliseconds(2'000)));
  ASSERT_OK(this->Put("k", kAbsent, "v", lease));
  ASSERT_OK(watch->TryNext());
  this->harness_.Advance(std::chrono::milliseconds(1'500));
  ASSERT_OK(this->store().KeepAlive(lease));
  this->harness_.Advance(std::chrono::milliseconds(1'500));
  EXPECT_EQ(this->ValueOf("k"), "v");
  this->harness_.Advance(std::chrono::milliseconds(3'000));
  EXPECT_EQ(this->ValueOf("k"), "(none)");
  ASSERT_OK_AND_ASSIGN(const auto event, watch->TryNext());
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->value, std::nullopt);
  EXPECT_THAT(this->store().KeepAlive(lease), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(this->Put("k2", kAbsent, "v", lease), StatusIs(absl::StatusCode::kNotFound));
}

TYPED_TEST_P(MetaStoreSuite, AKeyWrittenWithoutItsLeaseStays) {
  ASSERT_OK_AND_ASSIGN(const MetaLease lease,
                       this->store().GrantLease(std::chrono::milliseconds(1'000)));
  ASSERT_OK_AND_ASSIGN(const MetaVersion version, this->Put("k", kAbsent, "v", lease));
  ASSERT_OK(this->Put("k", version, "kept"));
  ASSERT_OK(this->store().Revoke(lease));
  ASSERT_OK(this->store().Revoke(lease));
  EXPECT_EQ(this->ValueOf("k"), "kept");
}

TYPED_TEST_P(MetaStoreSuite, OneCandidateLeadsUntilItsLeaseEnds) {
  ASSERT_OK_AND_ASSIGN(const MetaLease a,
                       this->store().GrantLease(std::chrono::milliseconds(1'000)));
  ASSERT_OK_AND_ASSIGN(const MetaLease b,
                       this->store().GrantLease(std::chrono::milliseconds(60'000)));
  ASSERT_OK_AND_ASSIGN(const MetaVersion led, Elect(this->store(), "coordinator", "ann", a));
  EXPECT_THAT(Elect(this->store(), "coordinator", "ann", a), IsOkAndHolds(led));
  EXPECT_THAT(Elect(this->store(), "coordinator", "bob", b),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::HasSubstr("ann")));
  this->harness_.Advance(std::chrono::milliseconds(3'000));
  ASSERT_OK_AND_ASSIGN(const MetaVersion later, Elect(this->store(), "coordinator", "bob", b));
  EXPECT_GT(later, led);
}

TYPED_TEST_P(MetaStoreSuite, BehavesLikeAVersionedMapUnderRandomWriters) {
  const uint64_t seed = TestSeed(11);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  std::map<std::string, std::pair<std::string, MetaVersion>> model;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "k" + std::to_string(random.Below(6));
    const auto it = model.find(key);
    const MetaVersion present = it == model.end() ? kAbsent : it->second.second;
    const bool stale = random.Below(3) == 0;
    const MetaVersion expected = stale ? present + 1 : present;
    std::optional<std::string> value;
    if (random.Below(4) != 0) value = std::to_string(i);
    const auto written = this->store().CompareAndSwap({{key, expected, value}});
    ASSERT_EQ(written.ok(), !stale) << written.status();
    if (stale) continue;
    if (value) {
      model[key] = {*value, *written};
    } else {
      model.erase(key);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto all, this->store().List(""));
  ASSERT_EQ(all.size(), model.size());
  for (const MetaRecord& record : all) {
    EXPECT_EQ(model[record.key], std::make_pair(record.value, record.version)) << record.key;
  }
}

REGISTER_TYPED_TEST_SUITE_P(MetaStoreSuite, WritesOnlyOverTheVersionThatWasSeen,
                            AKeyMadeAgainHasAnotherVersion, ManyChangesAreMadeTogetherOrNotAtAll,
                            BadKeysAreRefused, ListsAPrefixInOrder,
                            AWatchSeesEveryLaterChangeOfItsPrefixInOrder,
                            AWatchThatFellBehindSaysSo, KeysOfALeaseVanishWhenItExpires,
                            AKeyWrittenWithoutItsLeaseStays, OneCandidateLeadsUntilItsLeaseEnds,
                            BehavesLikeAVersionedMapUnderRandomWriters);

}  // namespace syncline

#endif  // SYNCLINE_TESTS_CONFORMANCE_META_STORE_SUITE_H_
