#include "common/wire/outcome_proto.h"

#include "common/limits.h"
#include "common/status/status.h"
#include "common/wire/utf8.h"

namespace syncline {
namespace {

// google.rpc.Code ends at UNAUTHENTICATED.
absl::StatusCode CodeFromNumber(int number) {
  const bool known = number >= 0 && number <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown;
}

}  // namespace

v1::ErrorInfo ToProto(const absl::Status& status) {
  v1::ErrorInfo error;
  if (status.ok()) return error;
  error.set_code(static_cast<int>(status.code()));
  error.set_detail(static_cast<v1::ErrorDetail>(DetailOf(status)));
  error.set_message(ValidUtf8(MessageOf(status), kMaxErrorMessageBytes));
  return error;
}

absl::Status FromProto(const v1::ErrorInfo& error) {
  return MakeStatus(CodeFromNumber(error.code()), static_cast<Detail>(error.detail()),
                    error.message());
}

v1::PartOutcome ToProto(const PartOutcome& outcome) {
  v1::PartOutcome out;
  out.set_slot(outcome.slot.value());
  out.set_incarnation(outcome.incarnation.value());
  out.set_sequence(outcome.sequence.value());
  out.set_outcome(static_cast<v1::Outcome>(outcome.outcome));
  out.set_expected(outcome.expected.value());
  out.set_durable(outcome.durable.value());
  out.set_oldest_round(outcome.oldest_round.value());
  out.set_min_clock(outcome.min_clock.value());
  if (!outcome.error.ok()) *out.mutable_error() = ToProto(outcome.error);
  return out;
}

absl::StatusOr<PartOutcome> FromProto(const v1::PartOutcome& outcome) {
  const int number = outcome.outcome();
  if (number <= 0 || number > UINT8_MAX) {
    return InvalidArgument("slot {}: {} is no outcome; the server may be newer than this client",
                           outcome.slot(), number);
  }
  PartOutcome out;
  out.slot = SlotId(outcome.slot());
  out.incarnation = Incarnation(outcome.incarnation());
  out.sequence = Sequence(outcome.sequence());
  out.outcome = static_cast<Outcome>(number);
  out.expected = Sequence(outcome.expected());
  out.durable = Sequence(outcome.durable());
  out.oldest_round = Round(outcome.oldest_round());
  out.min_clock = Clock(outcome.min_clock());
  out.error = FromProto(outcome.error());
  return out;
}

v1::OperationHeader ToProto(const OperationHeader& header) {
  v1::OperationHeader out;
  out.set_session_high(header.session.high);
  out.set_session_low(header.session.low);
  out.set_token(header.token.value());
  out.set_epoch(header.epoch.value());
  out.set_clock(header.clock.value());
  return out;
}

OperationHeader FromProto(const v1::OperationHeader& header) {
  OperationHeader out;
  out.session = {header.session_high(), header.session_low()};
  out.token = Token(header.token());
  out.epoch = Epoch(header.epoch());
  out.clock = Clock(header.clock());
  return out;
}

}  // namespace syncline
