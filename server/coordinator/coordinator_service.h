// The Coordinator service of proto/coordinator.proto, over a CoordinatorRunner.
#ifndef SYNCLINE_SERVER_COORDINATOR_COORDINATOR_SERVICE_H_
#define SYNCLINE_SERVER_COORDINATOR_COORDINATOR_SERVICE_H_

#include <functional>
#include <string>
#include <utility>

#include "proto/coordinator.grpc.pb.h"
#include "server/coordinator/coordinator_runner.h"

namespace syncline::coordinator {

// Converts, posts, answers; no request holds a thread while it waits for servers. Every request is
// answered: by the runner, or at once with UNAVAILABLE (stopped) or RESOURCE_EXHAUSTED (full).
//
// To shut down: stop the runner, then the gRPC server.
class CoordinatorService final : public v1::Coordinator::CallbackService {
 public:
  // `host`: name of the server that this runs in, for ListServers. REQUIRES: `runner` outlives it.
  CoordinatorService(CoordinatorRunner& runner, std::string host)
      : runner_(runner), host_(std::move(host)) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Runs on the runner's thread and fills the reply.
  using Handler = std::function<absl::Status(CoordinatorCore&, MonotonicTime, Effects&)>;
  using AnswerBody = CoordinatorRunner::AnswerBody;

  Reactor* Run(Context* context, Handler handler);
  Reactor* RunLater(Context* context, CoordinatorRunner::Question question,
                    std::function<void(AnswerBody)> fill);
  Reactor* AnswerTable(Context* context, v1::TableInfo* reply,
                       CoordinatorRunner::Question question);

  Reactor* GetMap(Context*, const v1::GetMapRequest*, v1::ClusterMap*) override;
  Reactor* CreateJob(Context*, const v1::CreateJobRequest*, v1::JobInfo*) override;
  Reactor* ListJobs(Context*, const v1::ListJobsRequest*, v1::ListJobsReply*) override;
  Reactor* OpenSession(Context*, const v1::OpenSessionRequest*, v1::OpenSessionReply*) override;
  Reactor* Heartbeat(Context*, const v1::HeartbeatRequest*, v1::HeartbeatReply*) override;
  Reactor* CloseSession(Context*, const v1::CloseSessionRequest*, v1::CloseSessionReply*) override;
  Reactor* ListSessions(Context*, const v1::ListSessionsRequest*, v1::ListSessionsReply*) override;
  Reactor* CreateTable(Context*, const v1::CreateTableRequest*, v1::TableInfo*) override;
  Reactor* DescribeTable(Context*, const v1::DescribeTableRequest*, v1::TableInfo*) override;
  Reactor* ListTables(Context*, const v1::ListTablesRequest*, v1::ListTablesReply*) override;
  Reactor* SetOptimizer(Context*, const v1::SetOptimizerRequest*, v1::TableInfo*) override;
  Reactor* ChangeLearningRate(Context*, const v1::ChangeLearningRateRequest*,
                              v1::ChangeLearningRateReply*) override;
  Reactor* OpenPass(Context*, const v1::OpenPassRequest*, v1::OpenPassReply*) override;
  Reactor* LeasePiece(Context*, const v1::LeasePieceRequest*, v1::LeasePieceReply*) override;
  Reactor* ReportPiece(Context*, const v1::ReportPieceRequest*, v1::ReportPieceReply*) override;
  Reactor* RegisterServer(Context*, const v1::RegisterServerRequest*,
                          v1::RegisterServerReply*) override;
  Reactor* ServerHeartbeat(Context*, const v1::ServerHeartbeatRequest*,
                           v1::ServerHeartbeatReply*) override;
  Reactor* ListServers(Context*, const v1::ListServersRequest*, v1::ListServersReply*) override;

  CoordinatorRunner& runner_;
  const std::string host_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COORDINATOR_SERVICE_H_
