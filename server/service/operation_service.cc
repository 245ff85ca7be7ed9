#include "server/service/operation_service.h"

#include <utility>

#include "common/status/status.h"
#include "common/wire/frame_codec.h"
#include "common/wire/outcome_proto.h"
#include "server/service/simple_requests.h"

namespace syncline {
namespace {

Caller CallerOf(const OperationHeader& header, const Principal& principal) {
  return Caller{.session = header.session, .token = header.token, .principal = principal};
}

// A part takes memory even when it is empty, and no request needs more of them than slots.
absl::Status CheckPartCount(size_t parts, size_t slots) {
  if (parts <= slots) return absl::OkStatus();
  return InvalidArgument("{} slot parts in one request of a cluster with {} slots; split it", parts,
                         slots);
}

// The slots, incarnations and sequences of a tick or leave, as parts.
template <typename Request>
absl::StatusOr<std::vector<SlotPart>> PartsOf(const Request& request, size_t slots) {
  const int n = request.slots_size();
  if (request.incarnations_size() != n || request.sequences_size() != n) {
    return InvalidArgument("{} slots, {} incarnations and {} sequences: one of each per slot", n,
                           request.incarnations_size(), request.sequences_size());
  }
  RETURN_IF_ERROR(CheckPartCount(static_cast<size_t>(n), slots));
  std::vector<SlotPart> parts;
  parts.reserve(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    parts.push_back({.slot = SlotId(request.slots(i)),
                     .incarnation = Incarnation(request.incarnations(i)),
                     .sequence = Sequence(request.sequences(i))});
  }
  return parts;
}

absl::Status AddTold(const v1::TickRequest& request, std::vector<SlotPart>& parts) {
  if (request.told_size() == 0) return absl::OkStatus();
  if (static_cast<size_t>(request.told_size()) != parts.size()) {
    return InvalidArgument("{} told outcomes for {} slots: none, or one per slot",
                           request.told_size(), parts.size());
  }
  for (int i = 0; i < request.told_size(); ++i) {
    const int told = request.told(i);
    if (told != 0 && (told < 0 || told > 255 || !IsFinal(static_cast<Outcome>(told)))) {
      return InvalidArgument("told outcome {} of slot {} is no final outcome", told,
                             parts[static_cast<size_t>(i)].slot.value());
    }
    parts[static_cast<size_t>(i)].told = static_cast<Outcome>(told);
  }
  return absl::OkStatus();
}

template <typename Reply>
void AddOutcomes(const std::vector<PartOutcome>& outcomes, Reply& reply) {
  reply.mutable_parts()->Reserve(static_cast<int>(outcomes.size()));
  for (const PartOutcome& outcome : outcomes) *reply.add_parts() = ToProto(outcome);
}

OutgoingBytes Serialized(const google::protobuf::MessageLite& message) {
  auto bytes = std::make_shared<std::string>(message.SerializeAsString());
  OutgoingBytes out;
  out.frame.AppendView(
      ByteView(ByteSpan(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size())));
  out.owner = bytes;
  return out;
}

bool ParseMessage(const MessageBytes& bytes, google::protobuf::MessageLite& message) {
  std::string flat;
  flat.reserve(bytes.size);
  for (const ByteSpan& piece : bytes.pieces) {
    flat.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return message.ParseFromString(flat);
}

// A decoded frame together with the bytes that it points into.
template <typename Frame>
struct Owned {
  MessageBytes bytes;
  Frame frame;
};

template <typename Frame>
absl::StatusOr<std::shared_ptr<const Frame>> Decode(
    MessageBytes bytes, absl::StatusOr<Frame> (*decode)(std::span<const ByteSpan>)) {
  auto owned = std::make_shared<Owned<Frame>>();
  owned->bytes = std::move(bytes);  // first: views point into this array of pieces
  ASSIGN_OR_RETURN(owned->frame, decode(owned->bytes.pieces));
  return std::shared_ptr<const Frame>(owned, &owned->frame);
}

PullReplyFrame RefusedPull(const absl::Status& why, Epoch epoch) {
  PullReplyFrame reply;
  reply.error = why;
  reply.epoch = epoch;
  return reply;
}

}  // namespace

// --- Single messages.

absl::Status OperationService::CheckServing() const {
  if (state_.stopping()) return absl::UnavailableError("the server is stopping; retry elsewhere");
  if (host_.slot_count() == 0) {
    return absl::UnavailableError("this server has no cluster map yet; retry");
  }
  return absl::OkStatus();
}

void OperationService::Push(const Principal& principal, const MessageBytes& message,
                            BytesDone done) {
  absl::Status serving = CheckServing();
  if (!serving.ok()) return done(std::move(serving));
  auto decoded = Decode<PushFrame>(message, &DecodePushMessage);
  if (!decoded.ok()) return done(decoded.status());
  absl::Status few = CheckPartCount((*decoded)->parts.size(), host_.slot_count());
  if (!few.ok()) return done(std::move(few));
  auto sorted = SortAndSum(*std::move(decoded), host_);
  if (!sorted.ok()) return done(sorted.status());
  std::shared_ptr<const PushFrame> push = *std::move(sorted);
  host_.Push(CallerOf(push->header, principal), push,
             [this, push, done, began = probe_.Now()](std::vector<PartOutcome> outcomes) {
               probe_.PushAnswered(*push, outcomes, began);
               v1::PushReply reply;
               reply.set_epoch(host_.epoch().value());
               AddOutcomes(outcomes, reply);
               done(Serialized(reply));
             });
}

std::shared_ptr<PullHandle> OperationService::Pull(const Principal& principal,
                                                   const MessageBytes& message, BytesDone done) {
  const auto refuse = [&done](const absl::Status& why) {
    done(why);
    return nullptr;
  };
  if (absl::Status serving = CheckServing(); !serving.ok()) return refuse(serving);
  auto decoded = Decode<PullFrame>(message, &DecodePullMessage);
  if (!decoded.ok()) return refuse(decoded.status());
  absl::Status few = CheckPartCount((*decoded)->parts.size(), host_.slot_count());
  if (!few.ok()) return refuse(few);
  auto sorted = SortBags(*std::move(decoded));
  if (!sorted.ok()) return refuse(sorted.status());
  std::shared_ptr<const PullFrame> pull = *std::move(sorted);
  return host_.Pull(CallerOf(pull->header, principal), pull,
                    [this, pull, done, began = probe_.Now()](PullAnswer answer) {
                      probe_.PullAnswered(*pull, answer.reply.error, began);
                      if (!answer.reply.error.ok()) return done(answer.reply.error);
                      auto owned = std::make_shared<PullAnswer>(std::move(answer));
                      done(OutgoingBytes{EncodeMessage(owned->reply), owned});
                    });
}

void OperationService::Tick(const Principal& principal, const v1::TickRequest& request,
                            std::function<void(v1::TickReply)> done) {
  absl::Status status = CheckServing();
  absl::StatusOr<std::vector<SlotPart>> parts = PartsOf(request, host_.slot_count());
  status.Update(parts.status());
  if (status.ok()) status = AddTold(request, *parts);
  if (!status.ok()) {
    v1::TickReply reply;
    *reply.mutable_error() = ToProto(status);
    reply.set_epoch(host_.epoch().value());
    return done(std::move(reply));
  }
  TickOperation tick;
  tick.clock = Clock(request.clock());
  tick.ends_round = Round(request.ends_round());
  tick.samples = request.samples();
  host_.Tick(CallerOf(FromProto(request.header()), principal), tick, *std::move(parts),
             [this, done = std::move(done)](std::vector<PartOutcome> outcomes) {
               probe_.TickAnswered(outcomes);
               v1::TickReply reply;
               reply.set_epoch(host_.epoch().value());
               AddOutcomes(outcomes, reply);
               done(std::move(reply));
             });
}

void OperationService::Leave(const Principal& principal, const v1::LeaveRequest& request,
                             std::function<void(v1::LeaveReply)> done) {
  absl::Status status = CheckServing();
  absl::StatusOr<std::vector<SlotPart>> parts = PartsOf(request, host_.slot_count());
  status.Update(parts.status());
  if (!status.ok()) {
    v1::LeaveReply reply;
    *reply.mutable_error() = ToProto(status);
    return done(std::move(reply));
  }
  host_.Leave(CallerOf(FromProto(request.header()), principal), *std::move(parts),
              [done = std::move(done)](std::vector<PartOutcome> outcomes) {
                v1::LeaveReply reply;
                AddOutcomes(outcomes, reply);
                done(std::move(reply));
              });
}

void OperationService::Resume(const Principal& principal, const v1::ResumeRequest& request,
                              std::function<void(v1::ResumeReply)> done) {
  absl::Status status = CheckServing();
  status.Update(CheckPartCount(static_cast<size_t>(request.parts_size()), host_.slot_count()));
  if (!status.ok()) {
    v1::ResumeReply reply;
    *reply.mutable_error() = ToProto(status);
    return done(std::move(reply));
  }
  std::vector<SlotPart> parts;
  for (const v1::ResumeRequest::Part& part : request.parts()) {
    parts.push_back({.slot = SlotId(part.slot()), .incarnation = Incarnation(part.incarnation())});
  }
  host_.Resume(CallerOf(FromProto(request.header()), principal), std::move(parts),
               [done = std::move(done)](std::vector<PartOutcome> outcomes) {
                 v1::ResumeReply reply;
                 AddOutcomes(outcomes, reply);
                 done(std::move(reply));
               });
}

std::shared_ptr<FrameStream> OperationService::OpenStream(Principal principal,
                                                          std::shared_ptr<FrameSink> sink) {
  return std::make_shared<FrameStream>(*this, std::move(principal), std::move(sink));
}

// --- Streams.

absl::Status FrameStream::OnFrame(MessageBytes frame) {
  service_.probe_.FrameReceived(frame.size);
  ASSIGN_OR_RETURN(const FramePeek peek, PeekFrame(frame.pieces));
  const bool is_hello = peek.body == v1::Frame::kHelloFieldNumber;
  if (!greeted() && !is_hello) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "the first frame of a stream must be Hello, this one has body {}", peek.body);
  }
  if (peek.Is(FrameBody::kPush)) return OnPush(peek.request_id, std::move(frame));
  if (peek.Is(FrameBody::kPull)) return OnPull(peek.request_id, std::move(frame));
  return OnMessage(peek.request_id, peek.body, frame);
}

void FrameStream::OnClosed() {
  std::map<uint64_t, std::shared_ptr<PullHandle>> pulls;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    pulls.swap(pulls_);
  }
  for (const auto& [number, pull] : pulls) pull->Cancel();
}

absl::Status FrameStream::OnHello(uint64_t request_id, const v1::Hello& hello) {
  if (hello.version_min() > kProtocolVersion || hello.version_max() < kProtocolVersion) {
    return MakeError(absl::StatusCode::kUnimplemented, Detail::kUnsupported,
                     "the client speaks protocol versions {} to {}, this server {}; use a client "
                     "of the server's release or one before it",
                     hello.version_min(), hello.version_max(), kProtocolVersion);
  }
  greeted_.store(true, std::memory_order_relaxed);
  v1::Frame reply;
  reply.set_request_id(request_id);
  v1::HelloReply& body = *reply.mutable_hello_reply();
  body.set_version(kProtocolVersion);
  body.set_server(service_.state_.server().value());
  body.set_epoch(service_.host_.epoch().value());
  body.set_boot(service_.state_.boot());
  SendMessage(reply);
  return absl::OkStatus();
}

absl::Status FrameStream::OnPush(uint64_t request_id, MessageBytes frame) {
  auto push = Decode<PushFrame>(std::move(frame), &DecodePushFrame);
  absl::Status status = push.status();
  if (absl::IsDataLoss(status)) return status;
  if (status.ok()) status = service_.CheckServing();
  if (status.ok()) status = CheckPartCount((*push)->parts.size(), service_.host_.slot_count());
  if (!status.ok()) {
    service_.probe_.RequestRefused(status);
    v1::Frame reply;
    reply.set_request_id(request_id);
    *reply.mutable_push_reply()->mutable_error() = ToProto(status);
    reply.mutable_push_reply()->set_epoch(service_.host_.epoch().value());
    SendMessage(reply);
    return absl::OkStatus();
  }
  service_.host_.Push(CallerOf((*push)->header, principal_), *push,
                      [self = shared_from_this(), push = *push, request_id,
                       began = service_.probe_.Now()](std::vector<PartOutcome> outcomes) {
                        self->service_.probe_.PushAnswered(*push, outcomes, began);
                        v1::Frame reply;
                        reply.set_request_id(request_id);
                        reply.mutable_push_reply()->set_epoch(self->service_.host_.epoch().value());
                        AddOutcomes(outcomes, *reply.mutable_push_reply());
                        self->SendMessage(reply);
                      });
  return absl::OkStatus();
}

absl::Status FrameStream::CheckRoomToPark(size_t bytes) {
  MutexLock lock(mutex_);
  if (parked_ < kMaxParkedReadsPerSession && parked_bytes_ + bytes <= kMaxParkedBytesPerStream) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                   "{} pulls of this stream wait already, {} bytes of requests; retry later",
                   parked_, parked_bytes_);
}

absl::Status FrameStream::OnPull(uint64_t request_id, MessageBytes frame) {
  const size_t bytes = frame.size;
  auto pull = Decode<PullFrame>(std::move(frame), &DecodePullFrame);
  absl::Status status = pull.status();
  if (absl::IsDataLoss(status)) return status;
  if (status.ok()) status = service_.CheckServing();
  if (status.ok()) status = CheckPartCount((*pull)->parts.size(), service_.host_.slot_count());
  if (status.ok()) status = CheckRoomToPark(bytes);
  if (status.ok()) {
    StartPull(request_id, *std::move(pull), bytes);
    return absl::OkStatus();
  }
  service_.probe_.RequestRefused(status);
  SendPullReply(request_id, PullAnswer{RefusedPull(status, service_.host_.epoch()), nullptr});
  return absl::OkStatus();
}

void FrameStream::StartPull(uint64_t request_id, std::shared_ptr<const PullFrame> pull,
                            size_t bytes) {
  uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = next_pull_++;
    pulls_.emplace(number, nullptr);  // the answer may come before the handle
  }
  std::shared_ptr<PullHandle> handle = service_.host_.Pull(
      CallerOf(pull->header, principal_), pull,
      [self = shared_from_this(), pull, request_id, number,
       began = service_.probe_.Now()](PullAnswer answer) {
        self->service_.probe_.PullAnswered(*pull, answer.reply.error, began);
        {
          MutexLock lock(self->mutex_);
          self->pulls_.erase(number);
        }
        self->SendPullReply(request_id, std::move(answer));
      },
      [self = shared_from_this(), bytes](bool parked) {
        {
          MutexLock lock(self->mutex_);
          parked ? ++self->parked_ : --self->parked_;
          self->parked_bytes_ += parked ? bytes : -bytes;
        }
        self->sink_->OnParked(parked, bytes);
      });
  bool closed = false;
  {
    MutexLock lock(mutex_);
    const auto found = pulls_.find(number);
    if (found != pulls_.end()) found->second = handle;
    closed = closed_;
  }
  if (closed) handle->Cancel();
}

absl::Status FrameStream::OnMessage(uint64_t request_id, uint32_t body, const MessageBytes& frame) {
  if (frame.size > kMaxControlFrameBytes) {
    Refuse(request_id, InvalidArgument("a frame with body {} may have {} bytes, not {}", body,
                                       kMaxControlFrameBytes, frame.size));
    return absl::OkStatus();
  }
  v1::Frame request;
  if (!ParseMessage(frame, request)) {
    return MakeError(absl::StatusCode::kDataLoss, Detail::kNone,
                     "a frame of {} bytes with body {} cannot be decoded", frame.size, body);
  }
  const auto reply_to = [self = shared_from_this(), request_id](auto set_body) {
    return [self, request_id, set_body](auto message) {
      v1::Frame reply;
      reply.set_request_id(request_id);
      set_body(reply, std::move(message));
      self->SendMessage(reply);
    };
  };
  switch (request.body_case()) {
    case v1::Frame::kHello:
      return OnHello(request_id, request.hello());
    case v1::Frame::kTick:
      service_.Tick(principal_, request.tick(), reply_to([](v1::Frame& reply, v1::TickReply tick) {
                      *reply.mutable_tick_reply() = std::move(tick);
                    }));
      return absl::OkStatus();
    case v1::Frame::kLeave:
      service_.Leave(principal_, request.leave(),
                     reply_to([](v1::Frame& reply, v1::LeaveReply leave) {
                       *reply.mutable_leave_reply() = std::move(leave);
                     }));
      return absl::OkStatus();
    case v1::Frame::kResume:
      service_.Resume(principal_, request.resume(),
                      reply_to([](v1::Frame& reply, v1::ResumeReply resume) {
                        *reply.mutable_resume_reply() = std::move(resume);
                      }));
      return absl::OkStatus();
    case v1::Frame::kPing: {
      v1::Frame reply;
      reply.set_request_id(request_id);
      reply.mutable_ping_reply()->set_epoch(service_.host_.epoch().value());
      reply.mutable_ping_reply()->set_boot(service_.state_.boot());
      SendMessage(reply);
      return absl::OkStatus();
    }
    default:
      Refuse(request_id, MakeError(absl::StatusCode::kUnimplemented, Detail::kUnsupported,
                                   "frames with body {} are not supported by this server", body));
      return absl::OkStatus();
  }
}

void FrameStream::SendMessage(const v1::Frame& frame) {
  OutgoingBytes bytes = Serialized(frame);
  service_.probe_.FrameSent(bytes.frame.size());
  sink_->Send(std::move(bytes));
}

void FrameStream::SendPullReply(uint64_t request_id, PullAnswer answer) {
  // The encoded frame borrows the values, so the answer travels with it.
  auto owned = std::make_shared<PullAnswer>(std::move(answer));
  OutgoingBytes bytes{EncodeFrame(request_id, owned->reply), owned};
  service_.probe_.FrameSent(bytes.frame.size());
  sink_->Send(std::move(bytes));
}

void FrameStream::Refuse(uint64_t request_id, const absl::Status& why) {
  service_.probe_.RequestRefused(why);
  v1::Frame reply;
  reply.set_request_id(request_id);
  *reply.mutable_error() = ToProto(why);
  SendMessage(reply);
}

}  // namespace syncline
