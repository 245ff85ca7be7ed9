#include "worker/client/frame_io.h"

#include <utility>

#include "common/net/byte_buffer.h"
#include "common/status/status.h"
#include "common/wire/frame_codec.h"
#include "common/wire/outcome_proto.h"
#include "proto/parameter_server.pb.h"

namespace syncline {
namespace {

// Tick, leave and (as lists of their own) their slots.
template <typename Frame, typename Message>
void AddSlots(const Frame& frame, Message& message) {
  *message.mutable_header() = ToProto(frame.header);
  for (const SlotId slot : frame.slots) message.add_slots(slot.value());
  for (const Incarnation i : frame.incarnations) message.add_incarnations(i.value());
  for (const Sequence s : frame.sequences) message.add_sequences(s.value());
}

void FillBody(const TickFrame& tick, v1::Frame& frame) {
  v1::TickRequest& request = *frame.mutable_tick();
  AddSlots(tick, request);
  request.set_clock(tick.clock.value());
  request.set_ends_round(tick.ends_round.value());
  request.set_samples(tick.samples);
  request.set_reader_position(tick.reader_position);
}

void FillBody(const LeaveFrame& leave, v1::Frame& frame) {
  AddSlots(leave, *frame.mutable_leave());
}

void FillBody(const ResumeFrame& resume, v1::Frame& frame) {
  v1::ResumeRequest& request = *frame.mutable_resume();
  *request.mutable_header() = ToProto(resume.header);
  for (const ResumeFrame::Part& from : resume.parts) {
    v1::ResumeRequest::Part& part = *request.add_parts();
    part.set_slot(from.slot.value());
    part.set_incarnation(from.incarnation.value());
    part.set_clock(from.clock.value());
    part.set_durable(from.durable.value());
    part.set_told(from.told.value());
  }
}

// Works for PushReply, TickReply, LeaveReply and ResumeReply.
template <typename Reply>
absl::StatusOr<OutcomesFrame> OutcomesOf(const Reply& reply) {
  OutcomesFrame frame;
  if (reply.has_error()) frame.error = FromProto(reply.error());
  frame.parts.reserve(static_cast<size_t>(reply.parts_size()));
  for (const v1::PartOutcome& part : reply.parts()) {
    ASSIGN_OR_RETURN(frame.parts.emplace_back(), FromProto(part));
  }
  if constexpr (requires { reply.epoch(); }) frame.epoch = Epoch(reply.epoch());
  return frame;
}

template <typename Reply>
absl::StatusOr<Received> Outcomes(uint64_t request_id, const Reply& reply) {
  ASSIGN_OR_RETURN(OutcomesFrame outcomes, OutcomesOf(reply));
  return Received(InFrame{request_id, std::move(outcomes)});
}

absl::Status HelloStatus(const v1::HelloReply& hello) {
  if (hello.has_error()) return FromProto(hello.error());
  if (hello.version() >= kProtocolVersionMin && hello.version() <= kProtocolVersionMax) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kUnimplemented, Detail::kUnsupported,
                   "the server speaks protocol version {}, this client {} to {}; upgrade the older",
                   hello.version(), kProtocolVersionMin, kProtocolVersionMax);
}

}  // namespace

grpc::ByteBuffer EncodeOut(const OutFrame& out) {
  if (const auto* push = std::get_if<PushFrame>(&out.message)) {
    return ToByteBuffer(EncodeFrame(out.request_id, *push), out.owner);
  }
  if (const auto* pull = std::get_if<PullFrame>(&out.message)) {
    return ToByteBuffer(EncodeFrame(out.request_id, *pull), out.owner);
  }
  v1::Frame frame;
  frame.set_request_id(out.request_id);
  if (const auto* tick = std::get_if<TickFrame>(&out.message)) FillBody(*tick, frame);
  if (const auto* leave = std::get_if<LeaveFrame>(&out.message)) FillBody(*leave, frame);
  if (const auto* resume = std::get_if<ResumeFrame>(&out.message)) FillBody(*resume, frame);
  return ToByteBuffer(frame);
}

grpc::ByteBuffer EncodeHello(const OperationHeader& header, const std::string& client) {
  v1::Frame frame;
  v1::Hello& hello = *frame.mutable_hello();
  hello.set_version_max(kProtocolVersionMax);
  hello.set_version_min(kProtocolVersionMin);
  *hello.mutable_header() = ToProto(header);
  hello.set_client(client);
  return ToByteBuffer(frame);
}

absl::StatusOr<Received> DecodeIn(std::span<const ByteSpan> pieces) {
  ASSIGN_OR_RETURN(const FramePeek peek, PeekFrame(pieces));
  if (peek.Is(FrameBody::kPullReply)) {
    ASSIGN_OR_RETURN(PullReplyFrame pull, DecodePullReplyFrame(pieces));
    return Received(InFrame{peek.request_id, std::move(pull)});
  }
  std::string flat;
  for (const ByteSpan piece : pieces) {
    flat.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  v1::Frame frame;
  if (!frame.ParseFromString(flat)) return absl::DataLossError("a reply that is no frame");
  const uint64_t id = frame.request_id();
  switch (frame.body_case()) {
    case v1::Frame::kHelloReply:
      return Received(HelloAnswer{HelloStatus(frame.hello_reply())});
    case v1::Frame::kPushReply:
      return Outcomes(id, frame.push_reply());
    case v1::Frame::kTickReply:
      return Outcomes(id, frame.tick_reply());
    case v1::Frame::kLeaveReply:
      return Outcomes(id, frame.leave_reply());
    case v1::Frame::kResumeReply:
      return Outcomes(id, frame.resume_reply());
    case v1::Frame::kError: {
      OutcomesFrame refused;
      refused.error = FromProto(frame.error());
      return Received(InFrame{id, std::move(refused)});
    }
    default:
      return Received(Ignored{});
  }
}

}  // namespace syncline
