// std::mutex and std::condition_variable with lock annotations. absl::Mutex is not used: it gives
// ThreadSanitizer false races.
#ifndef SYNCLINE_COMMON_THREAD_MUTEX_H_
#define SYNCLINE_COMMON_THREAD_MUTEX_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "common/thread/annotations.h"
#include "common/time_source.h"

namespace syncline {

// A plain mutex: not recursive, no ownership transfer. Prefer MutexLock to calling it.
class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }
  bool TryLock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex for a scope. Unlock() ends it early (for calls that must not hold the lock).
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() RELEASE() {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() ACQUIRE() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Waits for a condition that a mutex protects. Wakes may be spurious: always wait in a loop
//
//   MutexLock lock(mutex_);
//   while (!ready_) changed_.Wait(mutex_);
//
// (a loop and not a predicate, because the analysis does not see the lock inside a lambda).
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // Waits at most `timeout`; zero or less only gives the lock up and takes it again. Returns false
  // when the time is over.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout) REQUIRES(mutex) {
    // The bound keeps "for ever" (nanoseconds::max()) from overflowing the clock.
    constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_for(lock, std::min(timeout, kLongest));
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  // The same against a deadline on `time`, which must be the system's (a ManualTimeSource does not
  // wake sleepers): returns false when the deadline has passed.
  bool WaitUntil(Mutex& mutex, const TimeSource& time, MonotonicTime deadline) REQUIRES(mutex) {
    return WaitFor(mutex, deadline == MonotonicTime::Max() ? std::chrono::nanoseconds::max()
                                                           : deadline - time.Now());
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_THREAD_MUTEX_H_
