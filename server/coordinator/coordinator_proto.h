// The coordinator's values as messages of proto/coordinator.proto.
#ifndef SYNCLINE_SERVER_COORDINATOR_COORDINATOR_PROTO_H_
#define SYNCLINE_SERVER_COORDINATOR_COORDINATOR_PROTO_H_

#include "absl/status/statusor.h"

#include "proto/coordinator.pb.h"
#include "server/coordinator/coordinator_types.h"

namespace syncline::coordinator {

v1::JobInfo ToProto(const JobInfo& job);
JobInfo FromProto(const v1::JobInfo& job);
// Numbers beyond what a JobSpec holds become ones that CreateJob refuses.
JobSpec FromProto(const v1::JobSpec& spec);

v1::ServerAddress ToProto(const ServerEntry& server);
v1::ClusterMap ToProto(const MapView& view);
v1::OpenSessionReply ToProto(const JoinResult& result);
v1::SessionInfo ToProto(const SessionInfo& session);
v1::ServerInfo ToProto(const ServerInfo& server);

WorkerReport FromProto(const v1::WorkerReport& report);
JoinRequest FromProto(const v1::OpenSessionRequest& request, const Principal& principal);
RegisterRequest FromProto(const v1::RegisterServerRequest& request);

// The parts of a Command that records share.
v1::InstallSession ToProto(const InstallSession& install);
v1::ChangeLearningRateCommand ToProto(const ChangeLearningRate& change);

v1::Command ToProto(const Command& command);
// The server's side. Errors: INVALID_ARGUMENT (no body, or one that does not convert).
absl::StatusOr<Command> FromProto(const v1::Command& command);
CommandReply FromProto(const v1::CommandReply& reply);

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COORDINATOR_PROTO_H_
