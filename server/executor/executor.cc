#include "server/executor/executor.h"

#include <utility>
#include <vector>

#include "common/status/status.h"

namespace syncline {
namespace {

// What this thread does with executors at the moment.
struct ThreadState {
  bool holding = false;
  bool draining = false;
  std::vector<Executor::Task> after_release;
};
thread_local ThreadState this_thread;

// One after the other; a task may add more, which run in the same loop and not on a deeper stack.
void DrainAfterRelease() {
  if (this_thread.draining) return;
  this_thread.draining = true;
  while (!this_thread.after_release.empty()) {
    std::vector<Executor::Task> tasks = std::exchange(this_thread.after_release, {});
    for (Executor::Task& task : tasks) {
      task();
      task = nullptr;
    }
  }
  this_thread.draining = false;
}

}  // namespace

Executor::Executor(std::string name, size_t queue_capacity)
    : name_(std::move(name)),
      queue_capacity_(queue_capacity),
      worker_(name_, [this] { WorkerLoop(); }) {}

Executor::~Executor() {
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

absl::Status Executor::Submit(Task task) {
  {
    MutexLock lock(mutex_);
    if (this_thread.holding || held_ || !queue_.empty()) {
      if (queue_.size() >= queue_capacity_) {
        return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                         "{}: {} operations wait already; retry later", name_, queue_.size());
      }
      queue_.push_back(std::move(task));
      if (!held_) changed_.NotifyOne();
      return absl::OkStatus();
    }
    held_ = true;
  }
  RunHeld(std::move(task));
  return absl::OkStatus();
}

void Executor::Post(Task task) {
  MutexLock lock(mutex_);
  queue_.push_back(std::move(task));
  if (!held_) changed_.NotifyOne();
}

void Executor::AfterRelease(Task task) {
  this_thread.after_release.push_back(std::move(task));
  if (!this_thread.holding) DrainAfterRelease();
}

size_t Executor::queued() const {
  MutexLock lock(mutex_);
  return queue_.size();
}

void Executor::RunHeld(Task task) {
  this_thread.holding = true;
  task();
  task = nullptr;  // its captures go while the executor is held: they may refer to slots
  this_thread.holding = false;
  Release();
  DrainAfterRelease();
}

void Executor::Release() {
  MutexLock lock(mutex_);
  held_ = false;
  if (!queue_.empty() || stopping_) changed_.NotifyOne();
}

void Executor::WorkerLoop() {
  while (true) {
    Task task;
    {
      MutexLock lock(mutex_);
      while (held_ || (queue_.empty() && !stopping_)) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      held_ = true;
    }
    RunHeld(std::move(task));
  }
}

}  // namespace syncline
