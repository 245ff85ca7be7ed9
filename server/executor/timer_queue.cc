#include "server/executor/timer_queue.h"

#include <utility>

namespace syncline {

TimerQueue::TimerQueue(const TimeSource& time, Threading threading) : time_(time) {
  if (threading == Threading::kOwnThread) thread_ = Thread("timers", [this] { ThreadLoop(); });
}

TimerQueue::~TimerQueue() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.Join();
}

TimerQueue::TimerId TimerQueue::Schedule(MonotonicTime at, std::function<void()> function) {
  MutexLock lock(mutex_);
  const TimerId id{.at = at, .number = next_number_++};
  const auto inserted = timers_.emplace(id, std::move(function)).first;
  if (inserted == timers_.begin()) changed_.NotifyAll();  // the thread sleeps for a later one
  return id;
}

void TimerQueue::Cancel(const TimerId& id) {
  std::function<void()> dropped;  // destroyed without the lock
  MutexLock lock(mutex_);
  while (running_ == id && runner_ != std::this_thread::get_id()) changed_.Wait(mutex_);
  const auto found = timers_.find(id);
  if (found == timers_.end()) return;
  dropped = std::move(found->second);
  timers_.erase(found);
  lock.Unlock();
}

size_t TimerQueue::RunDue() {
  size_t ran = 0;
  while (true) {
    std::function<void()> function;
    {
      MutexLock lock(mutex_);
      if (timers_.empty() || timers_.begin()->first.at > time_.Now()) return ran;
      function = std::move(timers_.begin()->second);
      running_ = timers_.begin()->first;
      runner_ = std::this_thread::get_id();
      timers_.erase(timers_.begin());
    }
    function();
    function = nullptr;
    {
      MutexLock lock(mutex_);
      running_ = TimerId{};
      changed_.NotifyAll();
    }
    ++ran;
  }
}

void TimerQueue::ThreadLoop() {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!stopping_ && (timers_.empty() || timers_.begin()->first.at > time_.Now())) {
        if (timers_.empty()) {
          changed_.Wait(mutex_);
        } else {
          changed_.WaitUntil(mutex_, time_, timers_.begin()->first.at);
        }
      }
      if (stopping_) return;
    }
    RunDue();
  }
}

}  // namespace syncline
