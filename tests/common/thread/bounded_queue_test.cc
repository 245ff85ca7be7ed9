#include "common/thread/bounded_queue.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/thread/thread.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using ::testing::Optional;

TEST(BoundedQueueTest, HandsItemsOutInTheOrderTheyCame) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_TRUE(queue.Push(2));
  EXPECT_THAT(queue.Pop(), Optional(1));
  EXPECT_THAT(queue.TryPop(), Optional(2));
  EXPECT_EQ(queue.TryPop(), std::nullopt);
}

TEST(BoundedQueueTest, AFullQueueRefusesAndLeavesTheItemWithItsOwner) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.TryPush(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.TryPush(std::move(second)));
  ASSERT_NE(second, nullptr);  // NOLINT(bugprone-use-after-move): the contract under test
  EXPECT_EQ(queue.size(), 1u);
}

TEST(BoundedQueueTest, AProducerWaitsForRoom) {
  BoundedQueue<int> queue(1);
  queue.Push(1);
  Thread producer("producer", [&] { EXPECT_TRUE(queue.Push(2)); });
  EXPECT_THAT(queue.Pop(), Optional(1));
  EXPECT_THAT(queue.Pop(), Optional(2));
}

TEST(BoundedQueueTest, CloseWakesEveryWaiterAndRefusesNewItems) {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  full.Push(7);
  std::vector<Thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back("consumer", [&] { EXPECT_EQ(empty.Pop(), std::nullopt); });
    waiters.emplace_back("producer", [&] { EXPECT_FALSE(full.Push(8)); });
  }
  empty.Close();
  full.Close();
  waiters.clear();  // joins
  EXPECT_FALSE(empty.Push(1));
  EXPECT_FALSE(empty.TryPush(1));
  EXPECT_TRUE(empty.closed());
}

TEST(BoundedQueueTest, ItemsOfAClosedQueueAreStillHandedOut) {
  BoundedQueue<int> queue(2);
  queue.Push(1);
  queue.Close();
  EXPECT_THAT(queue.Pop(), Optional(1));
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, PopForGivesUpWhenTheTimeIsOver) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.PopFor(milliseconds(1)), std::nullopt);
  queue.Push(5);
  EXPECT_THAT(queue.PopFor(std::chrono::nanoseconds::max()), Optional(5));
}

TEST(BoundedQueueTest, NothingIsLostOrDoubledBetweenManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  BoundedQueue<int> queue(8);
  std::vector<std::vector<int>> got(kThreads);
  {
    std::vector<Thread> consumers;
    for (auto& mine : got) {
      consumers.emplace_back("consumer", [&queue, &mine] {
        while (auto item = queue.Pop()) mine.push_back(*item);
      });
    }
    std::vector<Thread> producers;
    for (int t = 0; t < kThreads; ++t) {
      producers.emplace_back("producer", [&queue, t] {
        for (int i = 0; i < kEach; ++i) queue.Push(t * kEach + i);
      });
    }
    producers.clear();
    queue.Close();
  }
  std::vector<int> all;
  for (const auto& part : got) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), size_t{kThreads * kEach});
  for (int i = 0; i < kThreads * kEach; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace syncline
