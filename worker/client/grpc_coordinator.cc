#include "worker/client/grpc_coordinator.h"

#include <utility>

#include "grpcpp/grpcpp.h"

#include "common/net/channel_factory.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "common/thread/mutex.h"
#include "common/wire/outcome_proto.h"
#include "common/wire/spec_proto.h"
#include "proto/coordinator.grpc.pb.h"

namespace syncline {
namespace {

template <typename Message>
void SetSession(SessionId session, Message& message) {
  message.set_session_high(session.high);
  message.set_session_low(session.low);
}

v1::JobSpec ToProto(const JobOptions& job) {
  v1::JobSpec spec;
  spec.set_name(job.name);
  spec.set_ranks(job.ranks);
  spec.set_reproducible(job.reproducible);
  spec.set_start_timeout_ms(static_cast<uint64_t>(job.start_timeout.count()));
  spec.set_lease_ms(static_cast<uint64_t>(job.lease.count()));
  return spec;
}

class GrpcCoordinator final : public CoordinatorApi {
 public:
  GrpcCoordinator(std::string endpoint, bool allow_plaintext)
      : endpoint_(std::move(endpoint)), allow_plaintext_(allow_plaintext) {}

  const std::string& endpoint() const override { return endpoint_; }

  absl::Status CreateJob(const JobOptions& job, Millis deadline) override {
    v1::CreateJobRequest request;
    *request.mutable_spec() = ToProto(job);
    return Call(&v1::Coordinator::Stub::CreateJob, "CreateJob", request, deadline).status();
  }

  absl::StatusOr<SessionGrant> OpenSession(const OpenSessionCall& call, Millis deadline) override {
    v1::OpenSessionRequest request;
    request.set_job(call.job);
    request.set_clocked(call.clocked);
    request.set_rank(call.rank.value());
    request.set_take_over(call.take_over);
    request.set_client(call.client);
    request.set_nonce(call.nonce);
    ASSIGN_OR_RETURN(const v1::OpenSessionReply reply,
                     Call(&v1::Coordinator::Stub::OpenSession, "OpenSession", request, deadline));
    SessionGrant grant;
    grant.session = {reply.session_high(), reply.session_low()};
    grant.token = Token(reply.token());
    grant.rank = Rank(reply.rank());
    grant.clock = Clock(reply.clock());
    grant.lease = Millis(reply.lease_ms());
    grant.job = JobId(reply.job().id());
    grant.ranks = reply.job().spec().ranks();
    ASSIGN_OR_RETURN(grant.map, FromProto(reply.map()));
    return grant;
  }

  absl::StatusOr<HeartbeatAnswer> Heartbeat(SessionId session, Token token,
                                            const SessionReport& from, Millis deadline) override {
    v1::HeartbeatRequest request;
    SetSession(session, request);
    request.set_token(token.value());
    v1::WorkerReport& report = *request.mutable_report();
    report.set_clock(from.clock.value());
    report.set_step_seconds(from.step_seconds);
    report.set_wait_ratio(from.wait_ratio);
    report.set_samples_per_second(from.samples_per_second);
    report.set_bytes_sent(from.bytes_sent);
    report.set_bytes_received(from.bytes_received);
    ASSIGN_OR_RETURN(
        const v1::HeartbeatReply reply,
        Call(&v1::Coordinator::Stub::Heartbeat, "Heartbeat", request, deadline, /*wait=*/false));
    HeartbeatAnswer answer;
    answer.epoch = Epoch(reply.epoch());
    answer.lease = Millis(reply.lease_ms());
    if (reply.has_job_error()) answer.job_error = FromProto(reply.job_error());
    return answer;
  }

  absl::Status CloseSession(SessionId session, Token token, Millis deadline) override {
    v1::CloseSessionRequest request;
    SetSession(session, request);
    request.set_token(token.value());
    return Call(&v1::Coordinator::Stub::CloseSession, "CloseSession", request, deadline).status();
  }

  absl::StatusOr<SlotMap> GetMap(Millis deadline) override {
    ASSIGN_OR_RETURN(const v1::ClusterMap map,
                     Call(&v1::Coordinator::Stub::GetMap, "GetMap", v1::GetMapRequest(), deadline,
                          /*wait=*/false));
    return FromProto(map);
  }

  absl::StatusOr<TableInfo> CreateTable(const std::string& job, const TableSpec& spec,
                                        Millis deadline) override {
    v1::CreateTableRequest request;
    request.set_job(job);
    *request.mutable_spec() = syncline::ToProto(spec);
    return Table(Call(&v1::Coordinator::Stub::CreateTable, "CreateTable", request, deadline));
  }

  absl::StatusOr<TableInfo> DescribeTable(const std::string& job, const std::string& name,
                                          Millis deadline) override {
    v1::DescribeTableRequest request;
    request.set_job(job);
    request.set_name(name);
    return Table(Call(&v1::Coordinator::Stub::DescribeTable, "DescribeTable", request, deadline));
  }

  absl::StatusOr<std::vector<TableInfo>> ListTables(Millis deadline) override {
    ASSIGN_OR_RETURN(
        const v1::ListTablesReply reply,
        Call(&v1::Coordinator::Stub::ListTables, "ListTables", v1::ListTablesRequest(), deadline));
    std::vector<TableInfo> tables;
    for (const v1::TableInfo& table : reply.tables()) {
      ASSIGN_OR_RETURN(tables.emplace_back(), FromProto(table));
    }
    return tables;
  }

  absl::StatusOr<TableInfo> SetOptimizer(const std::string& job, const std::string& table,
                                         const OptimizerSpec& optimizer, Millis deadline) override {
    v1::SetOptimizerRequest request;
    request.set_job(job);
    request.set_table(table);
    *request.mutable_optimizer() = syncline::ToProto(optimizer);
    return Table(Call(&v1::Coordinator::Stub::SetOptimizer, "SetOptimizer", request, deadline));
  }

  absl::Status ChangeLearningRate(const std::string& job, const std::string& table,
                                  Clock from_clock, double learning_rate,
                                  Millis deadline) override {
    v1::ChangeLearningRateRequest request;
    request.set_job(job);
    request.set_table(table);
    request.set_from_clock(from_clock.value());
    request.set_learning_rate(learning_rate);
    return Call(&v1::Coordinator::Stub::ChangeLearningRate, "ChangeLearningRate", request, deadline)
        .status();
  }

  absl::Status OpenPass(const std::string& job, uint64_t pass, uint64_t pieces,
                        Millis deadline) override {
    v1::OpenPassRequest request;
    request.set_job(job);
    request.set_pass(pass);
    request.set_pieces(pieces);
    return Call(&v1::Coordinator::Stub::OpenPass, "OpenPass", request, deadline).status();
  }

  absl::StatusOr<Piece> LeasePiece(const std::string& job, uint64_t pass, SessionId session,
                                   Millis deadline) override {
    v1::LeasePieceRequest request;
    request.set_job(job);
    request.set_pass(pass);
    SetSession(session, request);
    ASSIGN_OR_RETURN(const v1::LeasePieceReply reply,
                     Call(&v1::Coordinator::Stub::LeasePiece, "LeasePiece", request, deadline));
    Piece piece;
    piece.pass_closed = reply.pass_closed();
    if (reply.has_piece()) piece.piece = reply.piece();
    return piece;
  }

  absl::Status ReportPiece(const std::string& job, uint64_t pass, uint64_t piece, SessionId session,
                           Millis deadline) override {
    v1::ReportPieceRequest request;
    request.set_job(job);
    request.set_pass(pass);
    request.set_piece(piece);
    SetSession(session, request);
    return Call(&v1::Coordinator::Stub::ReportPiece, "ReportPiece", request, deadline).status();
  }

 private:
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*,
                                                                           const Request&, Reply*),
                             std::string_view name, const Request& request, Millis deadline,
                             bool wait = true) {
    ASSIGN_OR_RETURN(v1::Coordinator::Stub * stub, Stub());
    grpc::ClientContext context;
    context.set_wait_for_ready(wait);
    context.set_deadline(gpr_time_from_millis(deadline.count(), GPR_TIMESPAN));
    Reply reply;
    const grpc::Status status = (stub->*method)(&context, request, &reply);
    if (status.ok()) return reply;
    return FromGrpc(status, fmt::format("{} at coordinator {}", name, endpoint_));
  }

  absl::StatusOr<v1::Coordinator::Stub*> Stub() {
    MutexLock lock(mutex_);
    if (stub_ == nullptr) {
      ConnectionOptions options;
      options.allow_plaintext = allow_plaintext_;
      options.own_connection = true;
      ASSIGN_OR_RETURN(auto channel, MakeChannel(endpoint_, options));
      stub_ = v1::Coordinator::NewStub(channel);
    }
    return stub_.get();
  }

  static absl::StatusOr<TableInfo> Table(const absl::StatusOr<v1::TableInfo>& reply) {
    if (!reply.ok()) return reply.status();
    return FromProto(*reply);
  }

  const std::string endpoint_;
  const bool allow_plaintext_;
  Mutex mutex_;
  std::unique_ptr<v1::Coordinator::Stub> stub_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<CoordinatorApi> MakeGrpcCoordinator(std::string endpoint, bool allow_plaintext) {
  return std::make_unique<GrpcCoordinator>(std::move(endpoint), allow_plaintext);
}

}  // namespace syncline
