// Runs pieces of work later, in order of their due times, on a thread of its own.
#ifndef SYNCLINE_TESTS_SUPPORT_HOLD_QUEUE_H_
#define SYNCLINE_TESTS_SUPPORT_HOLD_QUEUE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "common/thread/mutex.h"
#include "common/thread/thread.h"
#include "common/time_source.h"

namespace syncline {

// Thread-safe. Work due at the same time runs in the order given. Work left at the end is dropped
// without being run.
class HoldQueue {
 public:
  HoldQueue() : thread_("hold-queue", [this] { Run(); }) {}
  ~HoldQueue() { Stop(); }

  MonotonicTime Now() const { return time_.Now(); }
  // Drops what is left and waits for what runs. Idempotent.
  void Stop() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      changed_.NotifyAll();
    }
    thread_.Join();
    MutexLock lock(mutex_);
    held_.clear();
  }
  void At(MonotonicTime due, std::function<void()> work) {
    MutexLock lock(mutex_);
    if (stop_) return;
    held_.emplace(std::pair(due, next_++), std::move(work));
    changed_.NotifyAll();
  }

 private:
  void Run() {
    MutexLock lock(mutex_);
    while (!stop_) {
      const MonotonicTime now = time_.Now();
      if (held_.empty()) {
        changed_.Wait(mutex_);
      } else if (held_.begin()->first.first > now) {
        changed_.WaitFor(mutex_, held_.begin()->first.first - now);
      } else {
        const std::function<void()> work = std::move(held_.extract(held_.begin()).mapped());
        lock.Unlock();
        work();
        lock.Lock();
      }
    }
  }

  const SystemTimeSource time_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ GUARDED_BY(mutex_) = false;
  uint64_t next_ GUARDED_BY(mutex_) = 0;
  std::map<std::pair<MonotonicTime, uint64_t>, std::function<void()>> held_ GUARDED_BY(mutex_);
  Thread thread_;  // last: it uses all of the above
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_HOLD_QUEUE_H_
