// One Exchange stream on gRPC's callback API. Internal to server/service.
#ifndef SYNCLINE_SERVER_SERVICE_EXCHANGE_REACTOR_H_
#define SYNCLINE_SERVER_SERVICE_EXCHANGE_REACTOR_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>

#include "absl/status/status.h"
#include "grpcpp/grpcpp.h"

#include "common/thread/mutex.h"
#include "server/executor/timer_queue.h"
#include "server/service/operation_service.h"
#include "server/service/probe.h"

namespace syncline {

// Frames are handled one at a time in the order received, on the thread that read them, while the
// next read is under way. One write is under way at a time; replies wait in the outbox.
//
// Owned by gRPC (until OnDone) and by the operations that will still answer.
class ExchangeReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                              public FrameSink,
                              public std::enable_shared_from_this<ExchangeReactor> {
 public:
  // `open_streams` counts this stream until OnDone.
  ExchangeReactor(TimerQueue& timers, ServiceProbe& probe, std::atomic<size_t>& open_streams)
      : timers_(timers), probe_(probe), open_streams_(open_streams) {}

  // Called once, before the reactor is given to gRPC.
  void Start(OperationService& operations, Principal principal);
  // Instead: ends the stream at once.
  void Reject(const absl::Status& why);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Send(OutgoingBytes reply) override;
  void OnParked(bool parked, size_t bytes) override;

 private:
  // Keeps a frame's bytes and gives its room back when they go.
  struct HeldFrame;

  MessageBytes Hold(MessageBytes frame);
  void OnFrameFreed(size_t bytes);
  void HandleInbox();
  void End(const absl::Status& why);
  void MaybeReadLocked() REQUIRES(mutex_);
  void MaybeWriteLocked() REQUIRES(mutex_);
  void MaybeFinishLocked() REQUIRES(mutex_);

  TimerQueue& timers_;
  ServiceProbe& probe_;
  std::atomic<size_t>& open_streams_;

  grpc::ByteBuffer read_buffer_;   // gRPC's while reading_
  grpc::ByteBuffer write_buffer_;  // gRPC's while writing_

  Mutex mutex_;
  std::shared_ptr<ExchangeReactor> self_ GUARDED_BY(mutex_);  // until OnDone
  std::shared_ptr<FrameStream> stream_ GUARDED_BY(mutex_);    // until OnDone
  TimerQueue::TimerId handshake_ GUARDED_BY(mutex_);
  std::deque<MessageBytes> inbox_ GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> outbox_ GUARDED_BY(mutex_);
  // Frames received whose replies are not written, without the parked ones.
  size_t in_flight_ GUARDED_BY(mutex_) = 0;
  size_t parked_ GUARDED_BY(mutex_) = 0;
  // Of frames received and not yet let go (without parked pulls), and of replies not yet written.
  size_t bytes_in_flight_ GUARDED_BY(mutex_) = 0;
  size_t writing_bytes_ GUARDED_BY(mutex_) = 0;
  bool handling_ GUARDED_BY(mutex_) = false;
  bool reading_ GUARDED_BY(mutex_) = false;
  bool writing_ GUARDED_BY(mutex_) = false;
  bool reads_done_ GUARDED_BY(mutex_) = false;  // the client sends no more
  bool ending_ GUARDED_BY(mutex_) = false;      // end_status_ is to be sent
  bool finished_ GUARDED_BY(mutex_) = false;
  grpc::Status end_status_ GUARDED_BY(mutex_);
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_EXCHANGE_REACTOR_H_
