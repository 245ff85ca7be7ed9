// Between gRPC's types and ours. Internal to server/service.
#ifndef SYNCLINE_SERVER_SERVICE_GRPC_BYTES_H_
#define SYNCLINE_SERVER_SERVICE_GRPC_BYTES_H_

#include "absl/status/status.h"
#include "grpcpp/grpcpp.h"

#include "common/types.h"
#include "server/service/operation_service.h"

namespace syncline {

// Shares the buffer's slices: no copy.
MessageBytes FromByteBuffer(const grpc::ByteBuffer& buffer);
// Borrows the frame's bytes until gRPC has sent them: no copy but of short pieces.
grpc::ByteBuffer ToByteBuffer(OutgoingBytes bytes);
// What the transport proves about the caller; "anonymous" without credentials.
Principal PrincipalOf(const grpc::ServerContextBase& context);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_GRPC_BYTES_H_
