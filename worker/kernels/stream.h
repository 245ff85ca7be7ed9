// A queue of work for one device: what an operation is enqueued on.
#ifndef SYNCLINE_WORKER_KERNELS_STREAM_H_
#define SYNCLINE_WORKER_KERNELS_STREAM_H_

#include <functional>

namespace syncline {

// Operations of one stream run one after another in the order in which they were enqueued. When
// they run is open: at once (CpuStream), or any time up to Synchronize (a CUDA stream, or the
// deferred fake of tests/support). So until Synchronize returns
//   - memory that an operation names must stay alive and unmoved, inputs must not be changed by the
//     caller, and outputs hold nothing of use to it;
//   - an operation may well read what an earlier one of the same stream writes.
//
// A stream is used by one thread. Operations cannot fail: whoever enqueues one has checked its
// shapes.
class Stream {
 public:
  virtual ~Stream() = default;

  // Adds host work in stream order. `operation` must not enqueue more work on this stream.
  virtual void Enqueue(std::function<void()> operation) = 0;

  // Returns when everything enqueued so far has run.
  virtual void Synchronize() = 0;
};

// Runs each operation before Enqueue returns.
class CpuStream final : public Stream {
 public:
  void Enqueue(std::function<void()> operation) override { operation(); }
  void Synchronize() override {}
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_KERNELS_STREAM_H_
