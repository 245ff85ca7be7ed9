// A queue between threads that cannot grow without limit.
#ifndef SYNCLINE_COMMON_THREAD_BOUNDED_QUEUE_H_
#define SYNCLINE_COMMON_THREAD_BOUNDED_QUEUE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "common/thread/mutex.h"

namespace syncline {

// First in, first out; any number of producers and consumers. Thread-safe.
//
// Close() refuses new items and wakes every waiter; items already inside are still handed out, so
// that a consumer's loop `while (auto item = queue.Pop())` ends with an empty queue.
template <typename T>
class BoundedQueue {
 public:
  // REQUIRES: capacity > 0; use a name from common/limits.h.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room. Returns false, and drops the item, when the queue is closed.
  bool Push(T item) {
    MutexLock lock(mutex_);
    while (!closed_ && items_.size() >= capacity_) changed_space_.Wait(mutex_);
    return PushLocked(std::move(item));
  }

  // Never waits. Returns false, and leaves `item` untouched, when the queue is full or closed.
  bool TryPush(T&& item) {
    MutexLock lock(mutex_);
    if (items_.size() >= capacity_) return false;
    return PushLocked(std::move(item));
  }

  // Waits for an item. nullopt: closed and empty.
  std::optional<T> Pop() {
    MutexLock lock(mutex_);
    while (!closed_ && items_.empty()) changed_items_.Wait(mutex_);
    return PopLocked();
  }

  // The same, at most for about `timeout`. nullopt: closed and empty, or the time is over.
  std::optional<T> PopFor(std::chrono::nanoseconds timeout) {
    const MonotonicTime deadline =
        time_.Now() + std::min<std::chrono::nanoseconds>(timeout, std::chrono::hours(24 * 365));
    MutexLock lock(mutex_);
    while (!closed_ && items_.empty()) {
      if (!changed_items_.WaitUntil(mutex_, time_, deadline)) break;
    }
    return PopLocked();
  }

  // Never waits.
  std::optional<T> TryPop() {
    MutexLock lock(mutex_);
    return PopLocked();
  }

  // Idempotent.
  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_items_.NotifyAll();
    changed_space_.NotifyAll();
  }

  bool closed() const {
    MutexLock lock(mutex_);
    return closed_;
  }
  // Of the moment; for metrics.
  size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }
  size_t capacity() const { return capacity_; }

 private:
  bool PushLocked(T&& item) REQUIRES(mutex_) {
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_items_.NotifyOne();
    return true;
  }

  std::optional<T> PopLocked() REQUIRES(mutex_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    changed_space_.NotifyOne();
    return item;
  }

  const size_t capacity_;
  const SystemTimeSource time_;
  mutable Mutex mutex_;
  CondVar changed_items_;
  CondVar changed_space_;
  std::deque<T> items_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_THREAD_BOUNDED_QUEUE_H_
