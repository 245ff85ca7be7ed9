#include "server/service/grpc_bytes.h"

#include <string>
#include <utility>

#include "common/net/byte_buffer.h"

namespace syncline {

MessageBytes FromByteBuffer(const grpc::ByteBuffer& buffer) {
  const auto received = std::make_shared<const ReceivedBytes>(buffer);
  MessageBytes bytes;
  bytes.pieces.assign(received->pieces().begin(), received->pieces().end());
  bytes.size = received->size();
  bytes.owner = received;
  return bytes;
}

grpc::ByteBuffer ToByteBuffer(OutgoingBytes bytes) {
  return ToByteBuffer(bytes.frame, std::move(bytes.owner));
}

Principal PrincipalOf(const grpc::ServerContextBase& context) {
  const auto identity = context.auth_context()->GetPeerIdentity();
  if (identity.empty()) return Principal{"anonymous"};
  return Principal{std::string(identity.front().data(), identity.front().size())};
}

}  // namespace syncline
