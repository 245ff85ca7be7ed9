#include "tests/support/relay_stream.h"

#include <algorithm>
#include <utility>

namespace syncline {

class RelayStream::Front final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Front(std::shared_ptr<RelayStream> stream) : stream_(std::move(stream)) {}
  void Read() { StartRead(&frame_); }
  void OnReadDone(bool ok) override {
    if (ok) {
      stream_->Received(Way::kUp, frame_);
    } else {
      stream_->EndOf(Way::kUp);
    }
  }
  void OnWriteDone(bool ok) override { stream_->WriteDone(Way::kDown, ok); }
  void OnCancel() override { stream_->FrontCancelled(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<RelayStream> stream_;
  grpc::ByteBuffer frame_;
};

class RelayStream::Back final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Back(std::shared_ptr<RelayStream> stream) : stream_(std::move(stream)) {}
  void Begin() {
    AddHold();  // reads and writes are started from the other side's reactions too
    StartCall();
    Read();
  }
  void Read() { StartRead(&frame_); }
  void OnReadDone(bool ok) override {
    if (ok) {
      stream_->Received(Way::kDown, frame_);
    } else {
      stream_->BackClosing();
      RemoveHold();
    }
  }
  void OnWriteDone(bool ok) override { stream_->WriteDone(Way::kUp, ok); }
  void OnDone(const grpc::Status& status) override {
    stream_->BackDone(status);
    delete this;
  }

 private:
  const std::shared_ptr<RelayStream> stream_;
  grpc::ByteBuffer frame_;
};

RelayStream::RelayStream(uint64_t number, FrameJudge& judge, HoldQueue& holds,
                         std::function<void()> gone)
    : judge_(judge), holds_(holds), gone_(std::move(gone)) {
  identity_.number = number;
}

RelayStream::~RelayStream() { gone_(); }

grpc::ServerGenericBidiReactor* RelayStream::Start(RelayStub& stub, const std::string& method) {
  MutexLock lock(mutex_);
  front_ = new Front(shared_from_this());
  back_ = new Back(shared_from_this());
  stub.PrepareBidiStreamingCall(&back_context_, method, {}, back_);
  back_->Begin();
  front_->Read();
  return front_;
}

bool RelayStream::Cut() {
  MutexLock lock(mutex_);
  if (front_ == nullptr || cut_) return false;
  cut_ = true;
  status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut by the frame relay");
  back_context_.TryCancel();
  WriteOn(Way::kDown);
  return true;
}

void RelayStream::Received(Way way, const grpc::ByteBuffer& frame) {
  MutexLock lock(mutex_);
  const FrameFate fate = judge_.Judge(identity_, way, frame);
  if (!fate.drop) {
    Send(way, frame, fate.hold, fate.keep_order);
    if (fate.duplicate) Send(way, frame, fate.duplicate_hold, false);
  }
  lane(way).reading_paused = true;
  ReadOn(way);
}

void RelayStream::Send(Way way, const grpc::ByteBuffer& frame, std::chrono::nanoseconds hold,
                       bool in_order) {
  Lane& to = lane(way);
  if (hold.count() == 0 && to.held_in_order == 0) {
    Push(way, frame);
    return;
  }
  MonotonicTime due = holds_.Now() + hold;
  if (in_order) {
    due = to.not_before = std::max(due, to.not_before);
    ++to.held_in_order;
  }
  ++to.held;
  to.bytes += frame.Length();
  holds_.At(due, [self = shared_from_this(), way, frame, in_order] {
    MutexLock lock(self->mutex_);
    Lane& out = self->lane(way);
    --out.held;
    out.bytes -= frame.Length();
    if (in_order) --out.held_in_order;
    self->Push(way, frame);
  });
}

void RelayStream::Push(Way way, const grpc::ByteBuffer& frame) {
  Lane& to = lane(way);
  to.bytes += frame.Length();
  to.queue.push_back(frame);
  WriteOn(way);
}

void RelayStream::ReadOn(Way way) {
  Lane& from = lane(way);
  if (!from.reading_paused || from.bytes > kRelayLaneBytes) return;
  if (way == Way::kUp ? front_ == nullptr : back_ == nullptr) return;
  from.reading_paused = false;
  way == Way::kUp ? front_->Read() : back_->Read();
}

void RelayStream::WriteOn(Way way) {
  Lane& to = lane(way);
  if (to.busy) return;
  const bool up = way == Way::kUp;
  if (cut_ || (up ? back_ == nullptr : front_ == nullptr)) {
    for (const grpc::ByteBuffer& lost : to.queue) to.bytes -= lost.Length();
    to.queue.clear();
    if (!up && front_ != nullptr) std::exchange(front_, nullptr)->Finish(status_);
    ReadOn(way);
    return;
  }
  if (!to.queue.empty()) {
    to.writing = std::move(to.queue.front());
    to.queue.pop_front();
    to.busy = true;
    up ? back_->StartWrite(&to.writing) : front_->StartWrite(&to.writing);
  } else if (to.ended && to.held == 0) {
    if (!up) {
      std::exchange(front_, nullptr)->Finish(status_);
    } else {
      to.busy = true;  // nothing may follow
      back_->StartWritesDone();
    }
  }
}

void RelayStream::WriteDone(Way way, bool ok) {
  MutexLock lock(mutex_);
  Lane& to = lane(way);
  to.bytes -= to.writing.Length();
  to.busy = !ok && way == Way::kUp;  // the call is ending: nothing more goes up
  WriteOn(way);
  ReadOn(way);
}

void RelayStream::EndOf(Way way) {
  MutexLock lock(mutex_);
  lane(way).ended = true;
  WriteOn(way);
}

void RelayStream::FrontCancelled() { back_context_.TryCancel(); }

void RelayStream::BackClosing() {
  MutexLock lock(mutex_);
  back_ = nullptr;
}

void RelayStream::BackDone(const grpc::Status& status) {
  MutexLock lock(mutex_);
  if (!cut_) status_ = status;
  lane(Way::kDown).ended = true;
  WriteOn(Way::kDown);
}

}  // namespace syncline
