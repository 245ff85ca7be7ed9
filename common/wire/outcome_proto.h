// Outcomes, errors and headers as C++ values and as messages of proto/parameter_server.proto.
#ifndef SYNCLINE_COMMON_WIRE_OUTCOME_PROTO_H_
#define SYNCLINE_COMMON_WIRE_OUTCOME_PROTO_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/wire/frames.h"
#include "proto/parameter_server.pb.h"

namespace syncline {

// The text is cut to kMaxErrorMessageBytes, and bytes that are no UTF-8 become '?'. OK gives an
// empty message.
v1::ErrorInfo ToProto(const absl::Status& status);
// Code 0 gives OK; a code that this version does not know gives UNKNOWN. The detail's number is
// kept even when it is not known.
absl::Status FromProto(const v1::ErrorInfo& error);

// `error` is set only when it is not OK.
v1::PartOutcome ToProto(const PartOutcome& outcome);
// Outcomes that this version does not know keep their number, so that IsFinal, IsRetry and IsGone
// still sort them.
// Errors: INVALID_ARGUMENT when the outcome is unset or beyond 255.
absl::StatusOr<PartOutcome> FromProto(const v1::PartOutcome& outcome);

v1::OperationHeader ToProto(const OperationHeader& header);
OperationHeader FromProto(const v1::OperationHeader& header);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_WIRE_OUTCOME_PROTO_H_
