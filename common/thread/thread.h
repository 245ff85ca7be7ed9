// A thread with a name that is joined before it is gone.
#ifndef SYNCLINE_COMMON_THREAD_THREAD_H_
#define SYNCLINE_COMMON_THREAD_THREAD_H_

#include <functional>
#include <string>
#include <thread>

namespace syncline {

// Runs `body` on a new thread. The destructor (and assignment) waits for the body to return, so
// whoever owns the thread must make it return first (close its queue, set its flag).
//
// The name shows in debuggers, `top -H` and `ps -L`; Linux keeps its first 15 bytes.
// Signals that end the process are blocked in the thread, so that the main thread gets them.
// An exception that leaves the body ends the process.
class Thread {
 public:
  Thread() = default;
  Thread(std::string name, std::function<void()> body);
  ~Thread() { Join(); }
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;

  // Waits for the body to return. Idempotent. REQUIRES: not called from the body.
  void Join();
  bool joinable() const { return thread_.joinable(); }

 private:
  std::thread thread_;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_THREAD_THREAD_H_
