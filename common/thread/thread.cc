#include "common/thread/thread.h"

#include <algorithm>
#include <utility>

#include <pthread.h>
#include <signal.h>

namespace syncline {
namespace {

constexpr size_t kLinuxNameBytes = 15;

// Blocks the signals that ask the process to end while a thread is made: it inherits the mask.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Thread::Thread(std::string name, std::function<void()> body) {
  const BlockedSignals blocked;
  name.resize(std::min(name.size(), kLinuxNameBytes));
  thread_ = std::thread([name = std::move(name), body = std::move(body)] {
    pthread_setname_np(pthread_self(), name.c_str());
    body();
  });
}

Thread& Thread::operator=(Thread&& other) noexcept {
  Join();
  thread_ = std::move(other.thread_);
  return *this;
}

void Thread::Join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace syncline
