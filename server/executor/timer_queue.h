// Calls functions at points in time.
#ifndef SYNCLINE_SERVER_EXECUTOR_TIMER_QUEUE_H_
#define SYNCLINE_SERVER_EXECUTOR_TIMER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "common/thread/mutex.h"
#include "common/thread/thread.h"
#include "common/time_source.h"

namespace syncline {

// Thread-safe. Functions run one after the other, on the queue's thread or in RunDue, without any
// lock; they should be short. The number of timers is bounded by whoever schedules them.
class TimerQueue {
 public:
  struct TimerId {
    MonotonicTime at;
    uint64_t number = 0;
    auto operator<=>(const TimerId&) const = default;
  };
  // kNone: no thread; the owner calls RunDue (tests with a ManualTimeSource).
  enum class Threading { kOwnThread, kNone };

  // REQUIRES: `time` outlives the queue; it is the system's for kOwnThread.
  explicit TimerQueue(const TimeSource& time, Threading threading = Threading::kOwnThread);
  // Forgets what has not run.
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  TimerId Schedule(MonotonicTime at, std::function<void()> function);
  // Forgets a timer, or waits while it is running (on another thread): afterwards it does not run.
  // REQUIRES: the caller holds no lock that the timer's function takes.
  void Cancel(const TimerId& id);
  // Runs everything that is due; returns how many ran.
  size_t RunDue();

  MonotonicTime Now() const { return time_.Now(); }

 private:
  void ThreadLoop();

  const TimeSource& time_;
  Mutex mutex_;
  CondVar changed_;
  std::map<TimerId, std::function<void()>> timers_ GUARDED_BY(mutex_);
  TimerId running_ GUARDED_BY(mutex_);
  std::thread::id runner_ GUARDED_BY(mutex_);
  uint64_t next_number_ GUARDED_BY(mutex_) = 1;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_TIMER_QUEUE_H_
