// A strand with its own worker thread: what makes the slots of a server single-threaded.
#ifndef SYNCLINE_SERVER_EXECUTOR_EXECUTOR_H_
#define SYNCLINE_SERVER_EXECUTOR_EXECUTOR_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "absl/status/status.h"

#include "common/limits.h"
#include "common/thread/mutex.h"
#include "common/thread/thread.h"

namespace syncline {

// Runs tasks one at a time, in the order in which they came.
//
// An idle executor runs a task at once on the thread that brought it (no hand-over: the cheapest
// path on few cores); a busy one queues it for its worker thread. At any time one thread *holds*
// the executor, and a thread holds at most one: a task that brings work to an executor has it
// queued, so that stacks stay flat and no two executors wait for each other.
//
// Thread-safe. Tasks must not throw or wait for other tasks.
class Executor {
 public:
  using Task = std::function<void()>;

  explicit Executor(std::string name, size_t queue_capacity = kMaxExecutorQueue);
  // Runs what is queued, then ends the worker. REQUIRES: nobody brings tasks any more, except tasks
  // that run here.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // For new work from outside.
  // Errors, task not run: RESOURCE_EXHAUSTED (OVERLOADED), the queue is full.
  absl::Status Submit(Task task);
  // For the rest of work that was admitted before (a released read, an expired deadline) and for
  // commands: never refused. Its number is bounded by what admitted it. Always queued for the
  // worker, so the caller goes on at once.
  void Post(Task task);

  // Runs `task` on this thread as soon as it holds no executor: at once, or when the task that it
  // runs has returned and its executor is free for others. For replies and for the next executor's
  // share of an operation.
  static void AfterRelease(Task task);

  // Tasks that wait, of the moment; for metrics.
  size_t queued() const;

 private:
  void WorkerLoop();
  // Runs one task while this executor is held, releases it, then runs what waited for the release.
  void RunHeld(Task task);
  void Release();

  const std::string name_;
  const size_t queue_capacity_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Task> queue_ GUARDED_BY(mutex_);
  bool held_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Thread worker_;  // last: it uses the fields above
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_EXECUTOR_H_
