// Frames between the client's structs and bytes: bulk through common/wire by hand, the rest through
// generated code.
#ifndef SYNCLINE_WORKER_CLIENT_FRAME_IO_H_
#define SYNCLINE_WORKER_CLIENT_FRAME_IO_H_

#include <span>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"

#include "common/wire/byte_view.h"
#include "worker/client/messages.h"

namespace syncline {

// Highest and lowest protocol version that this client speaks.
inline constexpr uint32_t kProtocolVersionMax = 1;
inline constexpr uint32_t kProtocolVersionMin = 1;

// Bulk bytes are sent in place; the buffer keeps the frame's owner.
grpc::ByteBuffer EncodeOut(const OutFrame& frame);
grpc::ByteBuffer EncodeHello(const OperationHeader& header, const std::string& client);

// The status is the server's answer to Hello: OK, or why it refused.
struct HelloAnswer {
  absl::Status status;
};
// Kinds that this client does not ask for (Update, ...).
struct Ignored {};
using Received = std::variant<InFrame, HelloAnswer, Ignored>;

// Views of the result point into `pieces`.
// Errors: DATA_LOSS or INVALID_ARGUMENT when the bytes are no frame; the connection is then of no
// use.
absl::StatusOr<Received> DecodeIn(std::span<const ByteSpan> pieces);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_FRAME_IO_H_
