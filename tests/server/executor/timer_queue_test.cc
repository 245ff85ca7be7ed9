#include "server/executor/timer_queue.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/thread/bounded_queue.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

TEST(TimerQueueTest, RunsWhatIsDueInOrderOfTime) {
  ManualTimeSource time;
  TimerQueue timers(time, TimerQueue::Threading::kNone);
  std::vector<int> ran;
  timers.Schedule(time.Now() + milliseconds(20), [&] { ran.push_back(20); });
  timers.Schedule(time.Now() + milliseconds(10), [&] { ran.push_back(10); });
  timers.Schedule(time.Now() + milliseconds(10), [&] { ran.push_back(11); });
  EXPECT_EQ(timers.RunDue(), 0u);
  time.Advance(milliseconds(10));
  EXPECT_EQ(timers.RunDue(), 2u);
  time.Advance(milliseconds(10));
  timers.RunDue();
  EXPECT_THAT(ran, ElementsAre(10, 11, 20));
}

TEST(TimerQueueTest, ACancelledTimerDoesNotRun) {
  ManualTimeSource time;
  TimerQueue timers(time, TimerQueue::Threading::kNone);
  const auto id = timers.Schedule(time.Now(), [] { FAIL(); });
  timers.Cancel(id);
  timers.Cancel(id);
  EXPECT_EQ(timers.RunDue(), 0u);
}

TEST(TimerQueueTest, ATimerMayCancelItself) {
  ManualTimeSource time;
  TimerQueue timers(time, TimerQueue::Threading::kNone);
  TimerQueue::TimerId id;
  id = timers.Schedule(time.Now(), [&] { timers.Cancel(id); });
  EXPECT_EQ(timers.RunDue(), 1u);
}

TEST(TimerQueueTest, ItsThreadWakesForAnEarlierTimer) {
  SystemTimeSource time;
  TimerQueue timers(time);
  BoundedQueue<int> fired(4);
  timers.Schedule(time.Now() + std::chrono::hours(1), [&] { fired.Push(2); });
  timers.Schedule(time.Now() + milliseconds(5), [&] { fired.Push(1); });
  EXPECT_EQ(fired.Pop(), 1);
}

}  // namespace
}  // namespace syncline
