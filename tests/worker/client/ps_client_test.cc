#include "worker/client/ps_client.h"

#include <atomic>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "tests/worker/client/fake_seams.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ClientOptions TestOptions() {
  ClientOptions options;
  options.coordinator = "fake:1";
  options.job.name = "ctr";
  options.job.ranks = 1;
  options.reply_timeout = milliseconds(50);
  options.call_deadline = milliseconds(5'000);
  return options;
}

class PsClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<PsClient> Connect(const ClientOptions& options = TestOptions()) {
    auto client = PsClient::ConnectOver(options, std::make_unique<FakeCoordinator>(cluster_),
                                        std::make_unique<FakeTransport>(cluster_), &time_);
    EXPECT_OK(client);
    return client.ok() ? *std::move(client) : nullptr;
  }
  static TableSpec Spec(uint32_t dim) {
    TableSpec spec;
    spec.name = "user";
    spec.dim = dim;
    return spec;
  }
  double Weight(const TableInfo& table, Key key) {
    return cluster_.With([&](ModelCluster& model) { return model.Weight(table, key); });
  }

  SystemTimeSource time_;
  FakeCluster cluster_;
};

TEST_F(PsClientTest, PushesPullsTicksAndLeaves) {
  const auto client = Connect();
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(Spec(2)));
  const std::vector<Key> keys{3, 1};
  const std::vector<float> gradients{1, 2, 3, 4};
  ASSERT_OK(client->Push(table, keys, {gradients.data()}, 1));
  ASSERT_OK(client->Tick(8, "row 8"));
  std::vector<float> out(4);
  ASSERT_OK(client->Pull(table, keys, {out.data()}));
  EXPECT_EQ(out, gradients);
  EXPECT_EQ(client->clock(), Clock(1));
  EXPECT_EQ(client->rank(), Rank(0));
  EXPECT_EQ(client->state(), SessionState::kLive);
  ASSERT_OK(client->Leave());
  EXPECT_EQ(client->state(), SessionState::kLeft);
  EXPECT_THAT(client->Tick(1), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_OK(client->Leave());
}

TEST_F(PsClientTest, ALazyClientDoesNothingBeforeItsFirstCall) {
  ClientOptions options = TestOptions();
  options.lazy = true;
  const auto client = Connect(options);
  EXPECT_EQ(client->state(), SessionState::kUnopened);
  EXPECT_EQ(cluster_.sessions, 0);
  ASSERT_OK(client->Tick(1));
  EXPECT_EQ(cluster_.sessions, 1);
}

TEST_F(PsClientTest, FlushWaitsForPushesAndReportsTheErrorOfOneWithoutDone) {
  const auto client = Connect();
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(Spec(1)));
  const float one = 1;
  for (int i = 0; i < 100; ++i) {
    const std::vector<Key> keys{static_cast<Key>(i % 7)};
    client->PushAsync(table, keys, {&one}, 1, nullptr);
  }
  ASSERT_OK(client->Flush());
  double sum = 0;
  for (Key key = 0; key < 7; ++key) sum += Weight(table, key);
  EXPECT_EQ(sum, 100);
  const float bad = NAN;
  const std::vector<Key> keys{1};
  client->PushAsync(table, keys, {&bad}, 1, nullptr);
  EXPECT_THAT(client->Flush(), HasDetail(Detail::kNonFinite));
  EXPECT_OK(client->Flush());
}

TEST_F(PsClientTest, ManyThreadsShareOneClient) {
  const auto client = Connect();
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(Spec(1)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const std::vector<Key> keys{1, 2, 3};
      const std::vector<float> ones(3, 1);
      for (int i = 0; i < 50; ++i) {
        EXPECT_OK(client->Push(table, keys, {ones.data()}, 1));
        std::vector<float> out(3);
        EXPECT_OK(client->Pull(table, keys, {out.data()}));
        EXPECT_GE(out[0], i + 1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Weight(table, 1), 200);
}

TEST_F(PsClientTest, CompletionsRunOnTheExecutorGiven) {
  std::atomic<int> ran{0};
  ClientOptions options = TestOptions();
  options.executor = [&](const std::function<void()>& work) {
    ++ran;
    work();
  };
  const auto client = Connect(options);
  std::atomic<bool> done{false};
  client->TickAsync(1, "", [&](const absl::Status& status) {
    EXPECT_OK(status);
    done = true;
  });
  ASSERT_OK(client->Flush());
  while (!done) std::this_thread::yield();
  EXPECT_EQ(ran, 1);
}

TEST_F(PsClientTest, ABlockingCallInsideAnInlineCompletionIsRefused) {
  const auto client = Connect();
  std::atomic<bool> done{false};
  client->TickAsync(1, "", [&](const absl::Status&) {
    EXPECT_THAT(client->Tick(1), StatusIs(absl::StatusCode::kFailedPrecondition));
    done = true;
  });
  while (!done) std::this_thread::yield();
}

TEST_F(PsClientTest, SilentServersEndACallAtItsDeadlineByName) {
  ClientOptions options = TestOptions();
  options.call_deadline = milliseconds(300);
  const auto client = Connect(options);
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(Spec(1)));
  cluster_.silent = true;
  const std::vector<Key> keys{1};
  float out = 0;
  EXPECT_THAT(client->Pull(table, keys, {&out}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("from 10.0.0.")));
}

TEST_F(PsClientTest, APushBeyondTheQueueIsRefusedWithResourceExhausted) {
  ClientOptions options = TestOptions();
  options.call_deadline = milliseconds(200);
  options.max_queued_bytes = 100;
  const auto client = Connect(options);
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(Spec(1)));
  cluster_.silent = true;
  const std::vector<Key> keys{1, 2, 3, 4};
  const std::vector<float> ones(4, 1);
  client->PushAsync(table, keys, {ones.data()}, 1, [](const absl::Status&) {});
  EXPECT_THAT(client->Push(table, keys, {ones.data()}, 1),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_queued_bytes")));
}

TEST_F(PsClientTest, AFencedClientFailsItsCallsAndRejoinsWithANewSession) {
  const auto client = Connect();
  ASSERT_OK_AND_ASSIGN(const TableInfo table, client->CreateTable(Spec(1)));
  const SessionId first = client->session();
  cluster_.SetHeartbeatStatus(
      MakeStatus(absl::StatusCode::kNotFound, Detail::kFenced, "the lease ran out"));
  while (client->state() == SessionState::kLive) std::this_thread::yield();
  EXPECT_EQ(client->state(), SessionState::kFenced);
  EXPECT_THAT(client->Tick(1), HasDetail(Detail::kFenced));
  cluster_.SetHeartbeatStatus(absl::OkStatus());
  cluster_.Forget();
  ASSERT_OK(client->Rejoin());
  EXPECT_NE(client->session(), first);
  const std::vector<Key> keys{1};
  const float one = 1;
  ASSERT_OK(client->Push(table, keys, {&one}, 1));
  EXPECT_EQ(Weight(table, 1), 1);
}

TEST_F(PsClientTest, TheLeaseIsRenewedWhileTheClientIsIdle) {
  const auto client = Connect();
  while (cluster_.heartbeats < 3) std::this_thread::yield();
}

TEST_F(PsClientTest, DestroyingTheClientEndsItsCalls) {
  auto client = Connect();
  cluster_.silent = true;
  std::atomic<int> cancelled{0};
  client->TickAsync(1, "", [&](const absl::Status& status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
    ++cancelled;
  });
  client.reset();
  EXPECT_EQ(cancelled, 1);
}

TEST_F(PsClientTest, ADenseTensorGoesAndComesWhole) {
  const auto client = Connect();
  TableSpec spec = Spec(4);
  spec.kind = TableKind::kDense;
  spec.elements = 10;
  ASSERT_OK_AND_ASSIGN(const TableInfo tensor, client->CreateTable(spec));
  std::vector<float> gradients(10);
  for (size_t i = 0; i < 10; ++i) gradients[i] = static_cast<float>(i);
  ASSERT_OK(client->PushDense(tensor, gradients, 1));
  std::vector<float> out(10);
  ASSERT_OK(client->PullDense(tensor, out));
  EXPECT_EQ(out, gradients);
}

TEST_F(PsClientTest, OptionsThatCannotWorkAreRefused) {
  ClientOptions options = TestOptions();
  options.job.ranks = 0;
  EXPECT_THAT(PsClient::ConnectOver(options, std::make_unique<FakeCoordinator>(cluster_),
                                    std::make_unique<FakeTransport>(cluster_), &time_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ranks")));
  options = TestOptions();
  options.reply_timeout = milliseconds(0);
  EXPECT_THAT(PsClient::ConnectOver(options, std::make_unique<FakeCoordinator>(cluster_),
                                    std::make_unique<FakeTransport>(cluster_), &time_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("time")));
}

}  // namespace
}  // namespace syncline
