#include "server/service/admin_services.h"

#include <utility>

#include "absl/status/statusor.h"

#include "common/net/status_grpc.h"

namespace syncline {
namespace {

template <typename Reply>
grpc::Status Answer(absl::StatusOr<Reply> answer, Reply* reply) {
  if (answer.ok()) *reply = *std::move(answer);
  return ToGrpc(answer.status());
}

}  // namespace

grpc::Status ControlService::Execute(grpc::ServerContext*, const v1::Command* command,
                                     v1::CommandReply* reply) {
  return Answer(commands_.Execute(*command), reply);
}

grpc::Status AdminService::GetServerStatus(grpc::ServerContext*, const v1::GetServerStatusRequest*,
                                           v1::ServerStatus* reply) {
  *reply = queries_.Status();
  return grpc::Status::OK;
}

grpc::Status AdminService::GetTableStats(grpc::ServerContext*,
                                         const v1::GetTableStatsRequest* request,
                                         v1::TableStatsReply* reply) {
  return Answer(queries_.TableStats(*request), reply);
}

grpc::Status AdminService::GetRow(grpc::ServerContext*, const v1::GetRowRequest* request,
                                  v1::Row* reply) {
  return Answer(queries_.GetRow(*request), reply);
}

grpc::Status AdminService::ListSlots(grpc::ServerContext*, const v1::ListSlotsRequest* request,
                                     v1::ListSlotsReply* reply) {
  *reply = queries_.ListSlots(*request);
  return grpc::Status::OK;
}

grpc::Status AdminService::GetStateHash(grpc::ServerContext*, const v1::GetStateHashRequest*,
                                        v1::StateHash* reply) {
  *reply = queries_.StateHash();
  return grpc::Status::OK;
}

}  // namespace syncline
