// Operations of clients as frames in and frames out, without a transport.
#ifndef SYNCLINE_SERVER_SERVICE_OPERATION_SERVICE_H_
#define SYNCLINE_SERVER_SERVICE_OPERATION_SERVICE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "common/limits.h"
#include "common/thread/mutex.h"
#include "common/types.h"
#include "common/wire/encoded_frame.h"
#include "common/wire/frames.h"
#include "proto/parameter_server.pb.h"
#include "server/executor/slot_host.h"
#include "server/service/probe.h"
#include "server/service/server_state.h"

namespace syncline {

// Versions of the data plane that this server speaks (proto/README.md).
inline constexpr uint32_t kProtocolVersion = 1;

// A message as it came: `owner` keeps the bytes, `pieces` lists them in order.
struct MessageBytes {
  std::shared_ptr<const void> owner;
  std::vector<ByteSpan> pieces;
  size_t size = 0;
};

// A message ready to send; its borrowed bytes live as long as `owner`.
struct OutgoingBytes {
  EncodedFrame frame;
  std::shared_ptr<const void> owner;
};

// Where a stream's replies go. Methods are called from any thread, also after the stream has ended.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Exactly once for each frame that OnFrame accepted.
  virtual void Send(OutgoingBytes reply) = 0;
  // A pull of this stream, a frame of `bytes`, parks (true) or goes on (false): while parked it
  // takes no room among the frames in flight, since its release may depend on frames that come
  // later.
  virtual void OnParked(bool parked, size_t bytes) = 0;
};

class FrameStream;

// Validates and routes. Everything of a request is checked before memory is taken for it or an
// executor hears of it; no input aborts. Thread-safe.
//
// Refusals (proto/parameter_server.proto): a message that cannot be decoded is DATA_LOSS and ends
// the stream or call; a whole request that is refused has `error` in its reply and uses up no
// number; everything else is an outcome per slot part.
class OperationService {
 public:
  // REQUIRES: all outlive this object.
  OperationService(SlotHost& host, const ServerState& state, ServiceProbe& probe)
      : host_(host), state_(state), probe_(probe) {}

  // A stream of a client. `sink` is kept until the last reply.
  std::shared_ptr<FrameStream> OpenStream(Principal principal, std::shared_ptr<FrameSink> sink);

  // --- The same operations as single messages. `done` is called once, on any thread.
  using BytesDone = std::function<void(absl::StatusOr<OutgoingBytes>)>;
  // For simple clients: keys may be unsorted and repeated. The whole-request error is the status.
  std::shared_ptr<PullHandle> Pull(const Principal& principal, const MessageBytes& message,
                                   BytesDone done);
  void Push(const Principal& principal, const MessageBytes& message, BytesDone done);
  void Tick(const Principal& principal, const v1::TickRequest& request,
            std::function<void(v1::TickReply)> done);
  void Leave(const Principal& principal, const v1::LeaveRequest& request,
             std::function<void(v1::LeaveReply)> done);

 private:
  friend class FrameStream;
  void Resume(const Principal& principal, const v1::ResumeRequest& request,
              std::function<void(v1::ResumeReply)> done);
  absl::Status CheckServing() const;

  SlotHost& host_;
  const ServerState& state_;
  ServiceProbe& probe_;
};

// One Exchange stream: first Hello, then requests. OnFrame is called for one frame at a time, in
// the order received; replies may be sent before it returns.
class FrameStream : public std::enable_shared_from_this<FrameStream> {
 public:
  FrameStream(OperationService& service, Principal principal, std::shared_ptr<FrameSink> sink)
      : service_(service), principal_(std::move(principal)), sink_(std::move(sink)) {}

  // Errors, the stream must end with them and nothing was sent: DATA_LOSS (undecodable),
  // FAILED_PRECONDITION (the first frame is no Hello), UNIMPLEMENTED (no common version).
  absl::Status OnFrame(MessageBytes frame);
  // The client is gone: cancels the parked pulls.
  void OnClosed();
  bool greeted() const { return greeted_.load(std::memory_order_relaxed); }

 private:
  absl::Status OnHello(uint64_t request_id, const v1::Hello& hello);
  absl::Status OnPull(uint64_t request_id, MessageBytes frame);
  absl::Status OnPush(uint64_t request_id, MessageBytes frame);
  absl::Status OnMessage(uint64_t request_id, uint32_t body, const MessageBytes& frame);
  void StartPull(uint64_t request_id, std::shared_ptr<const PullFrame> pull, size_t bytes);
  absl::Status CheckRoomToPark(size_t bytes);
  void SendMessage(const v1::Frame& frame);
  void SendPullReply(uint64_t request_id, PullAnswer answer);
  void Refuse(uint64_t request_id, const absl::Status& why);

  OperationService& service_;
  const Principal principal_;
  const std::shared_ptr<FrameSink> sink_;
  std::atomic<bool> greeted_{false};

  Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  size_t parked_ GUARDED_BY(mutex_) = 0;
  size_t parked_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t next_pull_ GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::shared_ptr<PullHandle>> pulls_ GUARDED_BY(mutex_);  // not yet answered
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_OPERATION_SERVICE_H_
