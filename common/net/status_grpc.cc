#include "common/net/status_grpc.h"

#include "common/status/status.h"
#include "common/wire/outcome_proto.h"

namespace syncline {
namespace {

// gRPC itself gives no text with an unknown call, and others may not either.
std::string TextOf(const grpc::Status& status) {
  if (!status.error_message().empty()) return status.error_message();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return "this process does not offer the call; is the address the right one (the "
           "coordinator's?), and the release the same?";
  }
  return fmt::format("failed with code {} and no text", static_cast<int>(status.error_code()));
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorInfo error = ToProto(status);
  const std::string message = error.message();
  error.clear_message();
  const std::string details =
      DetailOf(status) == Detail::kNone ? std::string() : error.SerializeAsString();
  return {static_cast<grpc::StatusCode>(status.code()), message, details};
}

absl::Status FromGrpc(const grpc::Status& status, std::string_view context) {
  if (status.ok()) return absl::OkStatus();
  v1::ErrorInfo error;
  // Details of someone else's making (a proxy, another server) are not ours to read.
  if (!error.ParseFromString(status.error_details()) || error.code() != status.error_code()) {
    error.Clear();
  }
  error.set_code(status.error_code());
  error.set_message(TextOf(status));
  const absl::Status out = FromProto(error);
  return context.empty() ? out : Annotate(out, context);
}

}  // namespace syncline
