#include "worker/client/admin_client.h"

#include <algorithm>
#include <map>
#include <utility>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

#include "common/net/channel_factory.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "proto/admin.grpc.pb.h"
#include "proto/coordinator.grpc.pb.h"

namespace syncline {
namespace {

// An attempt to connect outlives every call, so that a silent peer always is DEADLINE_EXCEEDED and
// UNAVAILABLE always means that nobody listens.
ConnectionOptions ConnectionOf(const AdminClientOptions& options) {
  return {.allow_plaintext = options.allow_plaintext,
          .connect_timeout = std::max(kConnectTimeout, options.timeout * 2)};
}

class AdminClient final : public AdminApi {
 public:
  AdminClient(std::string endpoint, std::shared_ptr<grpc::Channel> channel,
              const AdminClientOptions& options)
      : endpoint_(std::move(endpoint)),
        coordinator_(v1::Coordinator::NewStub(std::move(channel))),
        options_(options) {}

  absl::StatusOr<v1::ClusterMap> GetMap() override {
    return Ask<v1::ClusterMap>("GetMap", &Stub::GetMap, v1::GetMapRequest());
  }
  absl::StatusOr<v1::ListServersReply> ListServers() override {
    return Ask<v1::ListServersReply>("ListServers", &Stub::ListServers, v1::ListServersRequest());
  }
  absl::StatusOr<v1::ListJobsReply> ListJobs() override {
    return Ask<v1::ListJobsReply>("ListJobs", &Stub::ListJobs, v1::ListJobsRequest());
  }
  absl::StatusOr<v1::ListTablesReply> ListTables() override {
    return Ask<v1::ListTablesReply>("ListTables", &Stub::ListTables, v1::ListTablesRequest());
  }
  absl::StatusOr<v1::ListSessionsReply> ListSessions(bool include_ended) override {
    v1::ListSessionsRequest request;
    request.set_include_ended(include_ended);
    return Ask<v1::ListSessionsReply>("ListSessions", &Stub::ListSessions, request);
  }

  absl::StatusOr<v1::ServerStatus> GetServerStatus(const std::string& endpoint) override {
    return AskServer<v1::ServerStatus>(endpoint, "GetServerStatus", &AdminStub::GetServerStatus,
                                       v1::GetServerStatusRequest());
  }
  absl::StatusOr<v1::TableStatsReply> GetTableStats(const std::string& endpoint,
                                                    TableId table) override {
    v1::GetTableStatsRequest request;
    request.set_table(table.value());
    return AskServer<v1::TableStatsReply>(endpoint, "GetTableStats", &AdminStub::GetTableStats,
                                          request);
  }
  absl::StatusOr<v1::Row> GetRow(const std::string& endpoint, TableId table, Key key) override {
    v1::GetRowRequest request;
    request.set_table(table.value());
    request.set_key(key);
    return AskServer<v1::Row>(endpoint, "GetRow", &AdminStub::GetRow, request);
  }
  absl::StatusOr<v1::ListSlotsReply> ListSlots(const std::string& endpoint) override {
    return AskServer<v1::ListSlotsReply>(endpoint, "ListSlots", &AdminStub::ListSlots,
                                         v1::ListSlotsRequest());
  }

 private:
  using Stub = v1::Coordinator::Stub;
  using AdminStub = v1::Admin::Stub;

  template <typename Reply, typename S, typename Request>
  absl::StatusOr<Reply> Call(S& stub, const std::string& endpoint, const char* name,
                             grpc::Status (S::*method)(grpc::ClientContext*, const Request&,
                                                       Reply*),
                             const Request& request) {
    grpc::ClientContext context;
    // A span of time, not a point: gRPC adds its own clock.
    context.set_deadline(gpr_time_from_millis(options_.timeout.count(), GPR_TIMESPAN));
    Reply reply;
    const grpc::Status status = (stub.*method)(&context, request, &reply);
    if (!status.ok()) return FromGrpc(status, fmt::format("{} {}", endpoint, name));
    return reply;
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Ask(const char* name,
                            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                         Reply*),
                            const Request& request) {
    return Call<Reply>(*coordinator_, endpoint_, name, method, request);
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> AskServer(const std::string& endpoint, const char* name,
                                  grpc::Status (AdminStub::*method)(grpc::ClientContext*,
                                                                    const Request&, Reply*),
                                  const Request& request) {
    ASSIGN_OR_RETURN(AdminStub * stub, ServerAt(endpoint));
    return Call<Reply>(*stub, endpoint, name, method, request);
  }

  absl::StatusOr<AdminStub*> ServerAt(const std::string& endpoint) {
    auto& stub = servers_[endpoint];
    if (stub == nullptr) {
      ASSIGN_OR_RETURN(auto channel, MakeChannel(endpoint, ConnectionOf(options_)));
      stub = v1::Admin::NewStub(channel);
    }
    return stub.get();
  }

  std::string endpoint_;
  std::unique_ptr<Stub> coordinator_;
  AdminClientOptions options_;
  std::map<std::string, std::unique_ptr<AdminStub>> servers_;
};

absl::StatusOr<std::unique_ptr<AdminApi>> ConnectTo(const std::string& endpoint,
                                                    const AdminClientOptions& options) {
  ASSIGN_OR_RETURN(auto channel, MakeChannel(endpoint, ConnectionOf(options)));
  auto client = std::make_unique<AdminClient>(endpoint, std::move(channel), options);
  RETURN_IF_ERROR(client->GetMap().status());
  return client;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdminApi>> ConnectAdmin(const AdminClientOptions& options) {
  if (options.endpoints.empty()) return InvalidArgument("no endpoint to connect to");
  absl::Status error;
  std::string texts;
  for (const std::string& endpoint : options.endpoints) {
    auto client = ConnectTo(endpoint, options);
    if (client.ok()) return client;
    if (!absl::IsUnavailable(client.status()) || error.ok()) error = client.status();
    texts += (texts.empty() ? "" : "; ") + std::string(MessageOf(client.status()));
  }
  return MakeStatus(error.code(), DetailOf(error), texts);
}

}  // namespace syncline
