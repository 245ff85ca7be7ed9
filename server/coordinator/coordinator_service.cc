#include "server/coordinator/coordinator_service.h"

#include <algorithm>

#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "common/wire/outcome_proto.h"
#include "common/wire/spec_proto.h"
#include "server/coordinator/coordinator_proto.h"

namespace syncline::coordinator {

// The converters of common/wire, which this namespace's overloads would hide.
using ::syncline::FromProto;
using ::syncline::ToProto;

namespace {

// Without credentials everybody is the same.
Principal PrincipalOf(const grpc::CallbackServerContext&) { return {"anonymous"}; }

absl::Status Refused() {
  return MakeError(absl::StatusCode::kUnavailable, Detail::kOverloaded,
                   "the coordinator is shutting down or has too many requests; retry later");
}

template <typename Request>
SessionKey KeyOf(const Request& request, const Principal& principal) {
  return {{request.session_high(), request.session_low()}, Token(request.token()), principal};
}

template <typename Request>
SessionId SessionOf(const Request& request) {
  return {request.session_high(), request.session_low()};
}

uint64_t Milliseconds(std::chrono::milliseconds d) { return static_cast<uint64_t>(d.count()); }

}  // namespace

grpc::ServerUnaryReactor* CoordinatorService::Run(Context* context, Handler handler) {
  Reactor* const reactor = context->DefaultReactor();
  const bool posted = runner_.Post(
      [reactor, handler = std::move(handler)](CoordinatorCore& core, MonotonicTime now,
                                              Effects& effects) -> CoordinatorRunner::Finish {
        const absl::Status status = handler(core, now, effects);
        return [reactor, status](const absl::Status& stored) {
          reactor->Finish(ToGrpc(status.ok() ? stored : status));
        };
      });
  if (!posted) reactor->Finish(ToGrpc(Refused()));
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::RunLater(Context* context,
                                                       CoordinatorRunner::Question question,
                                                       std::function<void(AnswerBody)> fill) {
  Reactor* const reactor = context->DefaultReactor();
  const bool posted =
      runner_.Ask(std::move(question), [reactor, fill = std::move(fill)](AnswerBody body) {
        const absl::Status status = body.status();
        if (body.ok()) fill(std::move(body));
        reactor->Finish(ToGrpc(status));
      });
  if (!posted) reactor->Finish(ToGrpc(Refused()));
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::AnswerTable(Context* context, v1::TableInfo* reply,
                                                          CoordinatorRunner::Question question) {
  return RunLater(context, std::move(question),
                  [reply](AnswerBody body) { *reply = ToProto(std::get<TableInfo>(*body)); });
}

// --- Jobs and tables --------------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::GetMap(Context* context, const v1::GetMapRequest*,
                                                     v1::ClusterMap* reply) {
  return Run(context, [reply](CoordinatorCore& core, MonotonicTime, Effects&) {
    *reply = ToProto(core.GetMap());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::CreateJob(Context* context,
                                                        const v1::CreateJobRequest* request,
                                                        v1::JobInfo* reply) {
  return Run(context, [request, reply](CoordinatorCore& core, MonotonicTime now, Effects& effects) {
    const auto job = core.CreateJob(FromProto(request->spec()), now, effects);
    if (job.ok()) *reply = ToProto(*job);
    return job.status();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::ListJobs(Context* context, const v1::ListJobsRequest*,
                                                       v1::ListJobsReply* reply) {
  return Run(context, [reply](CoordinatorCore& core, MonotonicTime, Effects&) {
    for (const JobInfo& job : core.ListJobs()) *reply->add_jobs() = ToProto(job);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::CreateTable(Context* context,
                                                          const v1::CreateTableRequest* request,
                                                          v1::TableInfo* reply) {
  return AnswerTable(
      context, reply,
      [request](CoordinatorCore& core, RequestId id, MonotonicTime now, Effects& effects) {
        const auto spec = FromProto(request->spec());
        if (!spec.ok()) return effects.answers.push_back({id, spec.status()});
        core.CreateTable(id, request->job(), *spec, now, effects);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::DescribeTable(Context* context,
                                                            const v1::DescribeTableRequest* request,
                                                            v1::TableInfo* reply) {
  return Run(context, [request, reply](CoordinatorCore& core, MonotonicTime, Effects&) {
    const auto table = core.DescribeTable(request->job(), request->name());
    if (table.ok()) *reply = ToProto(*table);
    return table.status();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::ListTables(Context* context,
                                                         const v1::ListTablesRequest*,
                                                         v1::ListTablesReply* reply) {
  return Run(context, [reply](CoordinatorCore& core, MonotonicTime, Effects&) {
    for (const TableInfo& table : core.ListTables()) *reply->add_tables() = ToProto(table);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::SetOptimizer(Context* context,
                                                           const v1::SetOptimizerRequest* request,
                                                           v1::TableInfo* reply) {
  return AnswerTable(
      context, reply,
      [request](CoordinatorCore& core, RequestId id, MonotonicTime now, Effects& effects) {
        core.SetOptimizer(id, request->job(), request->table(), FromProto(request->optimizer()),
                          now, effects);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::ChangeLearningRate(
    Context* context, const v1::ChangeLearningRateRequest* request, v1::ChangeLearningRateReply*) {
  return RunLater(
      context,
      [request](CoordinatorCore& core, RequestId id, MonotonicTime now, Effects& effects) {
        core.ChangeRate(id, request->job(), request->table(), Clock(request->from_clock()),
                        request->learning_rate(), now, effects);
      },
      [](const AnswerBody&) {});
}

// --- Sessions and pieces ----------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::OpenSession(Context* context,
                                                          const v1::OpenSessionRequest* request,
                                                          v1::OpenSessionReply* reply) {
  const JoinRequest join = FromProto(*request, PrincipalOf(*context));
  return RunLater(
      context,
      [join](CoordinatorCore& core, RequestId id, MonotonicTime now, Effects& effects) {
        core.OpenSession(id, join, now, effects);
      },
      [reply](AnswerBody body) { *reply = ToProto(std::get<JoinResult>(*body)); });
}

grpc::ServerUnaryReactor* CoordinatorService::Heartbeat(Context* context,
                                                        const v1::HeartbeatRequest* request,
                                                        v1::HeartbeatReply* reply) {
  const SessionKey key = KeyOf(*request, PrincipalOf(*context));
  return Run(context, [key, request, reply](CoordinatorCore& core, MonotonicTime now, Effects&) {
    const auto beat = core.Heartbeat(key, FromProto(request->report()), now);
    if (!beat.ok()) return beat.status();
    reply->set_epoch(beat->epoch.value());
    reply->set_lease_ms(Milliseconds(beat->lease));
    if (!beat->job_error.ok()) *reply->mutable_job_error() = ToProto(beat->job_error);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::CloseSession(Context* context,
                                                           const v1::CloseSessionRequest* request,
                                                           v1::CloseSessionReply*) {
  const SessionKey key = KeyOf(*request, PrincipalOf(*context));
  return Run(context, [key](CoordinatorCore& core, MonotonicTime now, Effects& effects) {
    return core.CloseSession(key, now, effects);
  });
}

grpc::ServerUnaryReactor* CoordinatorService::ListSessions(Context* context,
                                                           const v1::ListSessionsRequest* request,
                                                           v1::ListSessionsReply* reply) {
  return Run(context, [request, reply](CoordinatorCore& core, MonotonicTime now, Effects&) {
    for (const SessionInfo& session : core.ListSessions(request->include_ended(), now)) {
      *reply->add_sessions() = ToProto(session);
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::OpenPass(Context* context,
                                                       const v1::OpenPassRequest* request,
                                                       v1::OpenPassReply*) {
  return Run(context, [request](CoordinatorCore& core, MonotonicTime, Effects&) {
    return core.OpenPass(request->job(), request->pass(), request->pieces());
  });
}

grpc::ServerUnaryReactor* CoordinatorService::LeasePiece(Context* context,
                                                         const v1::LeasePieceRequest* request,
                                                         v1::LeasePieceReply* reply) {
  return Run(context, [request, reply](CoordinatorCore& core, MonotonicTime, Effects&) {
    const auto lease = core.LeasePiece(request->job(), request->pass(), SessionOf(*request));
    if (!lease.ok()) return lease.status();
    reply->set_pass_closed(lease->closed);
    reply->set_has_piece(lease->piece.has_value());
    reply->set_piece(lease->piece.value_or(0));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::ReportPiece(Context* context,
                                                          const v1::ReportPieceRequest* request,
                                                          v1::ReportPieceReply*) {
  return Run(context, [request](CoordinatorCore& core, MonotonicTime, Effects&) {
    return core.ReportPiece(request->job(), request->pass(), request->piece(), SessionOf(*request));
  });
}

// --- Servers ----------------------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::RegisterServer(
    Context* context, const v1::RegisterServerRequest* request, v1::RegisterServerReply* reply) {
  return Run(context, [request, reply](CoordinatorCore& core, MonotonicTime now, Effects& effects) {
    const auto done = core.RegisterServer(FromProto(*request), now, effects);
    if (!done.ok()) return done.status();
    reply->set_server(done->server.value());
    reply->set_cluster(done->cluster);
    reply->set_term(done->term);
    reply->set_heartbeat_ms(Milliseconds(done->heartbeat));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::ServerHeartbeat(
    Context* context, const v1::ServerHeartbeatRequest* request, v1::ServerHeartbeatReply* reply) {
  return Run(context, [request, reply](CoordinatorCore& core, MonotonicTime now, Effects&) {
    reply->set_register_again(
        !core.ServerHeartbeat(ServerId(request->server()), request->boot(), now));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::ListServers(Context* context,
                                                          const v1::ListServersRequest*,
                                                          v1::ListServersReply* reply) {
  return Run(context, [this, reply](CoordinatorCore& core, MonotonicTime now, Effects&) {
    for (const ServerInfo& server : core.ListServers(now)) {
      v1::ServerInfo& added = *reply->add_servers();
      added = ToProto(server);
      added.set_coordinator(server.address.name == host_);
    }
    return absl::OkStatus();
  });
}

}  // namespace syncline::coordinator
