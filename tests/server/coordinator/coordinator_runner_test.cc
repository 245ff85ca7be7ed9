#include "server/coordinator/coordinator_runner.h"

#include <future>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "server/coordinator/local_meta_store.h"
#include "server/kv/kv_store.h"
#include "tests/server/coordinator/fake_cluster.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace syncline::coordinator {
namespace {

using ::testing::HasSubstr;

// Forwards to a LocalMetaStore, and refuses writes when told to. Thread-safe.
class RefusingStore final : public MetaStore {
 public:
  explicit RefusingStore(MetaStore& store) : store_(store) {}
  std::atomic<bool> refuse{false};

  absl::StatusOr<std::optional<MetaRecord>> Get(std::string_view key) override {
    return store_.Get(key);
  }
  absl::StatusOr<std::vector<MetaRecord>> List(std::string_view prefix) override {
    return store_.List(prefix);
  }
  absl::StatusOr<MetaVersion> CompareAndSwap(const std::vector<MetaChange>& changes) override {
    if (refuse) return MakeStatus(absl::StatusCode::kUnavailable, Detail::kNone, "disk is full");
    return store_.CompareAndSwap(changes);
  }
  absl::StatusOr<std::unique_ptr<MetaWatch>> Watch(std::string_view prefix) override {
    return store_.Watch(prefix);
  }
  absl::StatusOr<MetaLease> GrantLease(std::chrono::milliseconds ttl) override {
    return store_.GrantLease(ttl);
  }
  absl::Status KeepAlive(MetaLease lease) override { return store_.KeepAlive(lease); }
  absl::Status Revoke(MetaLease lease) override { return store_.Revoke(lease); }

 private:
  MetaStore& store_;
};

class CoordinatorRunnerTest : public ::testing::Test {
 protected:
  std::unique_ptr<CoordinatorRunner> StartRunner() {
    CoreConfig config;
    config.slot_count = 8;
    auto started = CoordinatorRunner::Start(
        config, store_, [](const OptimizerSpec&) { return absl::OkStatus(); }, time_, random_,
        [this](const Dispatch&) { ++sent_; });
    EXPECT_OK(started);
    return std::move(started).value();
  }
  static absl::Status CreateJob(CoordinatorRunner& runner, const std::string& name) {
    auto promise = std::make_shared<std::promise<absl::Status>>();
    runner.Post([promise, name](CoordinatorCore& core, MonotonicTime now, Effects& effects) {
      const absl::Status made = core.CreateJob(MakeJob(name, 1), now, effects).status();
      return CoordinatorRunner::Finish([promise, made](const absl::Status& stored) {
        promise->set_value(made.ok() ? stored : made);
      });
    });
    return promise->get_future().get();
  }

  TempDir dir_;
  SystemTimeSource time_;
  SystemRandom random_;
  std::unique_ptr<KvStore> kv_ = KvStore::Open(dir_.path()).value();
  std::unique_ptr<LocalMetaStore> local_ = LocalMetaStore::Open(*kv_, time_).value();
  RefusingStore store_{*local_};
  std::atomic<int> sent_{0};
};

TEST_F(CoordinatorRunnerTest, WhatWasAnsweredIsInTheStore) {
  auto runner = StartRunner();
  ASSERT_OK(CreateJob(*runner, "a"));
  ASSERT_OK_AND_ASSIGN(const auto jobs, store_.List("job/"));
  EXPECT_EQ(jobs.size(), 1u);
}

TEST_F(CoordinatorRunnerTest, AnswersUnavailableWhileTheStoreRefusesAndRecovers) {
  auto runner = StartRunner();
  store_.refuse = true;
  EXPECT_THAT(CreateJob(*runner, "a"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk is full")));
  // The job exists in memory by now; it must not be told before it is stored.
  EXPECT_THAT(CreateJob(*runner, "a"), StatusIs(absl::StatusCode::kUnavailable));
  store_.refuse = false;
  EXPECT_OK(CreateJob(*runner, "a"));
  ASSERT_OK_AND_ASSIGN(const auto jobs, store_.List("job/"));
  EXPECT_EQ(jobs.size(), 1u);
}

TEST_F(CoordinatorRunnerTest, AnotherWriterDeposesIt) {
  auto first = StartRunner();
  auto second = StartRunner();  // raises the term
  ASSERT_OK(CreateJob(*second, "a"));
  EXPECT_THAT(CreateJob(*first, "b"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another coordinator")));
  EXPECT_THAT(CreateJob(*first, "b"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_OK(CreateJob(*second, "c"));
}

TEST_F(CoordinatorRunnerTest, NothingRunsAfterStopAndWaitersAreAnswered) {
  auto runner = StartRunner();
  std::promise<absl::Status> promise;
  ASSERT_TRUE(runner->Ask(
      [](CoordinatorCore&, RequestId, MonotonicTime, Effects&) {},
      [&](const CoordinatorRunner::AnswerBody& body) { promise.set_value(body.status()); }));
  runner->Stop();
  EXPECT_THAT(promise.get_future().get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(runner->Post(nullptr));
}

}  // namespace
}  // namespace syncline::coordinator
