// The two small gRPC services of a server: commands of the coordinator, questions of operators.
#ifndef SYNCLINE_SERVER_SERVICE_ADMIN_SERVICES_H_
#define SYNCLINE_SERVER_SERVICE_ADMIN_SERVICES_H_

#include "grpcpp/grpcpp.h"

#include "proto/admin.grpc.pb.h"
#include "proto/coordinator.grpc.pb.h"
#include "server/service/admin_queries.h"
#include "server/service/command_log.h"

namespace syncline {

// ServerControl: only the coordinator calls it. Errors are CommandLog's.
class ControlService final : public v1::ServerControl::Service {
 public:
  explicit ControlService(CommandLog& commands) : commands_(commands) {}
  grpc::Status Execute(grpc::ServerContext* context, const v1::Command* command,
                       v1::CommandReply* reply) override;

 private:
  CommandLog& commands_;
};

// Admin. Errors are AdminQueries'.
class AdminService final : public v1::Admin::Service {
 public:
  explicit AdminService(AdminQueries& queries) : queries_(queries) {}
  grpc::Status GetServerStatus(grpc::ServerContext* context,
                               const v1::GetServerStatusRequest* request,
                               v1::ServerStatus* reply) override;
  grpc::Status GetTableStats(grpc::ServerContext* context, const v1::GetTableStatsRequest* request,
                             v1::TableStatsReply* reply) override;
  grpc::Status GetRow(grpc::ServerContext* context, const v1::GetRowRequest* request,
                      v1::Row* reply) override;
  grpc::Status ListSlots(grpc::ServerContext* context, const v1::ListSlotsRequest* request,
                         v1::ListSlotsReply* reply) override;
  grpc::Status GetStateHash(grpc::ServerContext* context, const v1::GetStateHashRequest* request,
                            v1::StateHash* reply) override;

 private:
  AdminQueries& queries_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_ADMIN_SERVICES_H_
