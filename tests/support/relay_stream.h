// One Exchange stream that passes through a FrameRelay: a server's side towards the client, a
// client's side towards the server, and a lane of frames each way.
#ifndef SYNCLINE_TESTS_SUPPORT_RELAY_STREAM_H_
#define SYNCLINE_TESTS_SUPPORT_RELAY_STREAM_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "grpcpp/client_context.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"

#include "common/thread/mutex.h"
#include "common/time_source.h"
#include "tests/support/hold_queue.h"
#include "tests/support/relay_plan.h"

namespace syncline {

using RelayStub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

// Bytes that wait to be written, per lane. Above it the lane's sender is not read.
inline constexpr size_t kRelayLaneBytes = size_t{16} << 20;

// Made by the relay for each call; both gRPC sides keep it alive until they are done.
// Thread-safe.
class RelayStream : public std::enable_shared_from_this<RelayStream> {
 public:
  // `judge` and `holds` must outlive it; `gone` is called when it is destroyed.
  RelayStream(uint64_t number, FrameJudge& judge, HoldQueue& holds, std::function<void()> gone);
  ~RelayStream();

  // Connects both sides; the result is the server's side, for gRPC.
  grpc::ServerGenericBidiReactor* Start(RelayStub& stub, const std::string& method);
  // Ends it on both sides, as a broken connection does (UNAVAILABLE to the client). False when it
  // has ended already.
  bool Cut();

 private:
  class Front;  // towards the client
  class Back;   // towards the server

  struct Lane {
    std::deque<grpc::ByteBuffer> queue;
    size_t bytes = 0;
    grpc::ByteBuffer writing;  // the one that gRPC has
    bool busy = false;
    bool reading_paused = false;
    bool ended = false;  // its sender will send no more
    size_t held = 0;     // frames that the hold queue has
    size_t held_in_order = 0;
    MonotonicTime not_before;  // of the next frame in order
  };

  void Received(Way way, const grpc::ByteBuffer& frame);
  void Send(Way way, const grpc::ByteBuffer& frame, std::chrono::nanoseconds hold, bool in_order)
      REQUIRES(mutex_);
  void Push(Way way, const grpc::ByteBuffer& frame) REQUIRES(mutex_);
  void ReadOn(Way way) REQUIRES(mutex_);
  void WriteOn(Way way) REQUIRES(mutex_);
  void WriteDone(Way way, bool ok);
  void EndOf(Way way);
  void FrontCancelled();
  void BackClosing();
  void BackDone(const grpc::Status& status);
  Lane& lane(Way way) REQUIRES(mutex_) { return lanes_[static_cast<int>(way)]; }

  FrameJudge& judge_;
  HoldQueue& holds_;
  const std::function<void()> gone_;
  grpc::ClientContext back_context_;

  Mutex mutex_;
  StreamIdentity identity_ GUARDED_BY(mutex_);
  Lane lanes_[2] GUARDED_BY(mutex_);
  Front* front_ GUARDED_BY(mutex_) = nullptr;  // owned by gRPC; null once finished
  Back* back_ GUARDED_BY(mutex_) = nullptr;    // owned by gRPC; null once it takes no more writes
  bool cut_ GUARDED_BY(mutex_) = false;
  grpc::Status status_ GUARDED_BY(mutex_);
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_RELAY_STREAM_H_
