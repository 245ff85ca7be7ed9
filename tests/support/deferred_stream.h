// A stream that does nothing until it is waited for: shows that no caller counts on CPU kernels
// having run when Enqueue returns.
#ifndef SYNCLINE_TESTS_SUPPORT_DEFERRED_STREAM_H_
#define SYNCLINE_TESTS_SUPPORT_DEFERRED_STREAM_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "worker/kernels/stream.h"

namespace syncline {

class DeferredStream final : public Stream {
 public:
  void Enqueue(std::function<void()> operation) override { queue_.push_back(std::move(operation)); }
  void Synchronize() override {
    while (!queue_.empty()) {
      auto operation = std::move(queue_.front());
      queue_.pop_front();
      operation();
    }
  }

  size_t queued() const { return queue_.size(); }

 private:
  std::deque<std::function<void()>> queue_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_DEFERRED_STREAM_H_
