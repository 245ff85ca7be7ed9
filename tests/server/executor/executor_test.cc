#include "server/executor/executor.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/status/status.h"
#include "common/thread/bounded_queue.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;

// Lets one thread wait for another.
class Gate {
 public:
  void Open() { queue_.Close(); }
  void Wait() { (void)queue_.Pop(); }

 private:
  BoundedQueue<int> queue_{1};
};

TEST(ExecutorTest, AnIdleExecutorRunsATaskOnTheThreadThatBringsIt) {
  Executor executor("test");
  std::thread::id ran_on;
  ASSERT_OK(executor.Submit([&] { ran_on = std::this_thread::get_id(); }));
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(ExecutorTest, ABusyExecutorQueuesAndKeepsTheOrder) {
  Executor executor("test");
  Gate entered;
  Gate leave;
  Gate all_done;
  std::vector<int> order;
  executor.Post([&] {
    entered.Open();
    leave.Wait();
    order.push_back(0);
  });
  entered.Wait();
  for (int i = 1; i <= 3; ++i) ASSERT_OK(executor.Submit([&, i] { order.push_back(i); }));
  EXPECT_EQ(executor.queued(), 3u);
  executor.Post([&] { all_done.Open(); });
  leave.Open();
  all_done.Wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST(ExecutorTest, AFullQueueRefusesNewWorkButNotTheRestOfOldWork) {
  Executor executor("test", /*queue_capacity=*/1);
  Gate entered;
  Gate leave;
  executor.Post([&] {
    entered.Open();
    leave.Wait();
  });
  entered.Wait();
  std::atomic<int> ran = 0;
  ASSERT_OK(executor.Submit([&] { ++ran; }));
  const absl::Status refused = executor.Submit([&] { ++ran; });
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(refused, HasDetail(Detail::kOverloaded));
  Gate done;
  executor.Post([&] { done.Open(); });
  leave.Open();
  done.Wait();
  EXPECT_EQ(ran, 1);
}

TEST(ExecutorTest, AThreadNeverHoldsTwoExecutors) {
  Executor outer("outer");
  Executor inner("inner");
  Gate ran;
  bool inner_ran_inside = true;
  std::atomic<bool> inner_ran = false;
  ASSERT_OK(outer.Submit([&] {
    ASSERT_OK(inner.Submit([&] {
      inner_ran = true;
      ran.Open();
    }));
    Executor::AfterRelease([&] { inner_ran_inside = false; });
    EXPECT_TRUE(inner_ran_inside);  // not yet: this thread still holds `outer`
  }));
  EXPECT_FALSE(inner_ran_inside);
  ran.Wait();
  EXPECT_TRUE(inner_ran);
}

TEST(ExecutorTest, OneTaskAtATimeUnderManyThreads) {
  int unguarded = 0;  // the sanitizer's witness
  {
    Executor executor("test");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2'000; ++i) {
          if (i % 3 == 0) {
            executor.Post([&] { ++unguarded; });
          } else {
            ASSERT_OK(executor.Submit([&] { ++unguarded; }));
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }  // the destructor runs what is queued
  EXPECT_EQ(unguarded, 8'000);
}

}  // namespace
}  // namespace syncline
