#include "server/service/exchange_reactor.h"

#include <utility>

#include "common/limits.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "server/service/data_service.h"
#include "server/service/grpc_bytes.h"

namespace syncline {

// gRPC's Start... calls are made with the mutex held: they never call back on the same thread, and
// so no call can come after Finish.

void ExchangeReactor::Start(OperationService& operations, Principal principal) {
  probe_.StreamOpened();
  MutexLock lock(mutex_);
  self_ = shared_from_this();
  stream_ = operations.OpenStream(std::move(principal), self_);
  handshake_ = timers_.Schedule(
      timers_.Now() + kHandshakeTimeout,
      [weak = weak_from_this(), stream = std::weak_ptr(stream_)] {
        const auto reactor = weak.lock();
        const auto frames = stream.lock();
        if (reactor == nullptr || frames == nullptr) return;
        if (frames->greeted()) return;
        reactor->End(absl::DeadlineExceededError("no Hello came within the handshake timeout"));
      });
  MaybeReadLocked();
}

void ExchangeReactor::Reject(const absl::Status& why) {
  probe_.StreamOpened();
  probe_.StreamRefused();
  MutexLock lock(mutex_);
  self_ = shared_from_this();
  ending_ = true;
  end_status_ = ToGrpc(why);
  MaybeFinishLocked();
}

struct ExchangeReactor::HeldFrame {
  HeldFrame(std::weak_ptr<ExchangeReactor> its_stream, MessageBytes its_frame)
      : stream(std::move(its_stream)), frame(std::move(its_frame)) {}
  ~HeldFrame() {
    if (const auto reactor = stream.lock()) reactor->OnFrameFreed(frame.size);
  }
  HeldFrame(const HeldFrame&) = delete;
  HeldFrame& operator=(const HeldFrame&) = delete;

  const std::weak_ptr<ExchangeReactor> stream;
  const MessageBytes frame;
};

MessageBytes ExchangeReactor::Hold(MessageBytes frame) {
  MessageBytes held = frame;
  held.owner = std::make_shared<const HeldFrame>(weak_from_this(), std::move(frame));
  return held;
}

void ExchangeReactor::OnFrameFreed(size_t bytes) {
  MutexLock lock(mutex_);
  bytes_in_flight_ -= bytes;
  MaybeReadLocked();
}

void ExchangeReactor::OnReadDone(bool ok) {
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (!ok) {
      reads_done_ = true;
      return MaybeFinishLocked();
    }
    inbox_.push_back(Hold(FromByteBuffer(read_buffer_)));
    read_buffer_.Clear();
    ++in_flight_;
    bytes_in_flight_ += inbox_.back().size;
    MaybeReadLocked();
    if (handling_) return;
    handling_ = true;
  }
  HandleInbox();
}

void ExchangeReactor::HandleInbox() {
  while (true) {
    MessageBytes frame;
    std::shared_ptr<FrameStream> stream;
    {
      MutexLock lock(mutex_);
      if (inbox_.empty() || ending_ || stream_ == nullptr) {
        handling_ = false;
        return;
      }
      frame = std::move(inbox_.front());
      inbox_.pop_front();
      stream = stream_;
    }
    const absl::Status status = stream->OnFrame(std::move(frame));
    if (!status.ok()) End(status);
  }
}

void ExchangeReactor::End(const absl::Status& why) {
  std::shared_ptr<FrameStream> stream;
  std::deque<MessageBytes> unread;  // destroyed without the mutex, which a freed frame takes
  {
    MutexLock lock(mutex_);
    if (ending_) return;
    ending_ = true;
    end_status_ = ToGrpc(why);
    unread.swap(inbox_);
    outbox_.clear();
    stream = stream_;
    MaybeFinishLocked();
  }
  if (stream != nullptr) stream->OnClosed();
}

void ExchangeReactor::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  write_buffer_.Clear();
  --in_flight_;
  bytes_in_flight_ -= writing_bytes_;
  if (!ok) outbox_.clear();  // the stream is broken; OnCancel follows
  MaybeWriteLocked();
  MaybeReadLocked();
  MaybeFinishLocked();
}

void ExchangeReactor::OnCancel() { End(absl::CancelledError("the client is gone")); }

void ExchangeReactor::OnDone() {
  std::shared_ptr<ExchangeReactor> self;
  std::shared_ptr<FrameStream> stream;
  TimerQueue::TimerId handshake;
  {
    MutexLock lock(mutex_);
    self = std::exchange(self_, nullptr);
    stream = std::exchange(stream_, nullptr);
    handshake = handshake_;
  }
  timers_.Cancel(handshake);
  if (stream != nullptr) stream->OnClosed();
  probe_.StreamClosed();
  open_streams_.fetch_sub(1);
}

void ExchangeReactor::Send(OutgoingBytes reply) {
  grpc::ByteBuffer bytes = ToByteBuffer(std::move(reply));
  MutexLock lock(mutex_);
  if (ending_ || finished_) return;
  bytes_in_flight_ += bytes.Length();
  outbox_.push_back(std::move(bytes));
  MaybeWriteLocked();
}

void ExchangeReactor::OnParked(bool parked, size_t bytes) {
  MutexLock lock(mutex_);
  if (!parked) {
    --parked_;
    ++in_flight_;
    bytes_in_flight_ += bytes;
    return;
  }
  ++parked_;
  --in_flight_;
  bytes_in_flight_ -= bytes;
  MaybeReadLocked();
}

void ExchangeReactor::MaybeReadLocked() {
  if (reading_ || reads_done_ || ending_ || finished_) return;
  if (in_flight_ >= kMaxFramesInFlightPerStream) return;
  if (bytes_in_flight_ >= kMaxBytesInFlightPerStream) return;
  reading_ = true;
  StartRead(&read_buffer_);
}

void ExchangeReactor::MaybeWriteLocked() {
  if (writing_ || ending_ || finished_ || outbox_.empty()) return;
  writing_ = true;
  write_buffer_ = std::move(outbox_.front());
  outbox_.pop_front();
  writing_bytes_ = write_buffer_.Length();
  StartWrite(&write_buffer_);
}

void ExchangeReactor::MaybeFinishLocked() {
  if (finished_ || writing_) return;
  const bool answered = reads_done_ && in_flight_ == 0 && parked_ == 0 && outbox_.empty();
  if (!ending_ && !answered) return;
  finished_ = true;
  Finish(ending_ ? end_status_ : grpc::Status::OK);
}

}  // namespace syncline
