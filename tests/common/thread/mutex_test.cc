#include "common/thread/mutex.h"

#include <vector>

#include "gtest/gtest.h"

#include "common/thread/thread.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Shared {
  Mutex mutex;
  CondVar changed;
  int value GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, AHeldMutexCannotBeTakenByAnotherThread) {
  Mutex mutex;
  MutexLock lock(mutex);
  Thread other("other", [&] {
    const bool got = mutex.TryLock();
    EXPECT_FALSE(got);
    if (got) mutex.Unlock();
  });
}

TEST(MutexTest, AnEarlyUnlockGivesTheMutexFree) {
  Mutex mutex;
  MutexLock lock(mutex);
  lock.Unlock();
  Thread other("other", [&] { MutexLock inner(mutex); });
  other.Join();
  lock.Lock();
}

TEST(CondVarTest, WakesAWaiterWhenTheConditionHolds) {
  Shared shared;
  Thread setter("setter", [&] {
    MutexLock lock(shared.mutex);
    shared.value = 1;
    shared.changed.NotifyAll();
  });
  MutexLock lock(shared.mutex);
  while (shared.value == 0) shared.changed.Wait(shared.mutex);
  EXPECT_EQ(shared.value, 1);
}

TEST(CondVarTest, WaitForEndsWhenTheTimeIsOver) {
  Shared shared;
  MutexLock lock(shared.mutex);
  while (shared.changed.WaitFor(shared.mutex, milliseconds(1))) {
  }
  while (shared.changed.WaitFor(shared.mutex, milliseconds(-1))) {
  }
}

TEST(CondVarTest, AnEndlessTimeoutDoesNotOverflow) {
  Shared shared;
  const SystemTimeSource time;
  Thread setter("setter", [&] {
    MutexLock lock(shared.mutex);
    shared.value = 1;
    shared.changed.NotifyAll();
  });
  MutexLock lock(shared.mutex);
  while (shared.value == 0) ASSERT_TRUE(shared.changed.WaitFor(shared.mutex, nanoseconds::max()));
  shared.value = 0;
  lock.Unlock();
  Thread again("setter", [&] {
    MutexLock inner(shared.mutex);
    shared.value = 1;
    shared.changed.NotifyAll();
  });
  lock.Lock();
  while (shared.value == 0) {
    ASSERT_TRUE(shared.changed.WaitUntil(shared.mutex, time, MonotonicTime::Max()));
  }
}

TEST(CondVarTest, WaitUntilAPastDeadlineReturnsAtOnce) {
  Shared shared;
  const SystemTimeSource time;
  MutexLock lock(shared.mutex);
  while (shared.changed.WaitUntil(shared.mutex, time, time.Now() - milliseconds(5))) {
  }
}

}  // namespace
}  // namespace syncline
