// absl::Status and grpc::Status, with the typed detail kept.
#ifndef SYNCLINE_COMMON_NET_STATUS_GRPC_H_
#define SYNCLINE_COMMON_NET_STATUS_GRPC_H_

#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace syncline {

// The text is cut and made UTF-8 as in ErrorInfo. The detail travels in error_details (the trailer
// grpc-status-details-bin) as a serialized v1.ErrorInfo with code and detail; its message stays
// empty, because trailers are bounded to 8 KiB and the text is in grpc-message already.
grpc::Status ToGrpc(const absl::Status& status);

// `context` ("host:port Push") goes before the text when it is not empty. A status without
// readable details has detail kNone.
absl::Status FromGrpc(const grpc::Status& status, std::string_view context = {});

}  // namespace syncline

#endif  // SYNCLINE_COMMON_NET_STATUS_GRPC_H_
