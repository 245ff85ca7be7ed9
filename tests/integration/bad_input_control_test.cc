// Calls of the coordinator, of a server's status and of its control.
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "tests/integration/raw_server.h"

namespace syncline {
namespace {

// A case of stub.Method with a request made by `fill`.
template <typename Stub, typename Request, typename Reply>
BadCase Call(std::string name, std::unique_ptr<Stub> RawServer::*stub,
             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
             std::function<void(Request&, RawServer&)> fill, std::string expected) {
  return {std::move(name),
          [=](RawServer& server) {
            Request request;
            fill(request, server);
            Reply reply;
            return Verdict(((*(server.*stub)).*method)(Patience().get(), request, &reply));
          },
          std::move(expected)};
}

using C = v1::Coordinator::Stub;
constexpr auto kCoordinator = &RawServer::coordinator;

v1::TableSpec* NewTable(v1::CreateTableRequest& r) {
  r.set_job("bad");
  r.mutable_spec()->set_name("new");
  r.mutable_spec()->set_dim(4);
  return r.mutable_spec();
}

BadCase CreateTable(std::string name, std::function<void(v1::CreateTableRequest&)> change,
                    std::string expected) {
  return Call<C, v1::CreateTableRequest, v1::TableInfo>(
      std::move(name), kCoordinator, &C::CreateTable,
      [change](auto& r, RawServer&) {
        NewTable(r);
        change(r);
      },
      std::move(expected));
}

TEST(BadInputCoordinator, CreateTable) {
  Judge({
      CreateTable(
          "a job that is not there", [](auto& r) { r.set_job("none"); }, "NOT_FOUND"),
      CreateTable(
          "no name", [](auto& r) { r.mutable_spec()->clear_name(); }, "INVALID_ARGUMENT"),
      CreateTable(
          "a name with a space", [](auto& r) { r.mutable_spec()->set_name("a b"); },
          "INVALID_ARGUMENT"),
      CreateTable(
          "a name of 129 bytes", [](auto& r) { r.mutable_spec()->set_name(std::string(129, 'n')); },
          "INVALID_ARGUMENT"),
      CreateTable(
          "no dim", [](auto& r) { r.mutable_spec()->clear_dim(); }, "INVALID_ARGUMENT"),
      CreateTable(
          "a dim of 4 G", [](auto& r) { r.mutable_spec()->set_dim(UINT32_MAX); },
          "INVALID_ARGUMENT"),
      CreateTable(
          "a dense table of 2^63 elements",
          [](auto& r) {
            r.mutable_spec()->set_kind(v1::DENSE);
            r.mutable_spec()->set_elements(uint64_t{1} << 63);
          },
          "INVALID_ARGUMENT"),
      CreateTable(
          "a kind that is not there",
          [](auto& r) { r.mutable_spec()->set_kind(static_cast<v1::TableKind>(9)); },
          "INVALID_ARGUMENT"),
      CreateTable(
          "an optimizer that is not there",
          [](auto& r) { r.mutable_spec()->mutable_optimizer()->set_name("magic"); },
          "INVALID_ARGUMENT"),
      CreateTable(
          "an argument that is not there",
          [](auto& r) {
            r.mutable_spec()->mutable_optimizer()->set_name("sgd");
            (*r.mutable_spec()->mutable_optimizer()->mutable_arguments())["magic"] = 1;
          },
          "INVALID_ARGUMENT"),
      CreateTable(
          "a negative staleness",
          [](auto& r) {
            r.mutable_spec()->mutable_consistency()->set_mode(v1::ConsistencyPolicy::SSP);
            r.mutable_spec()->mutable_consistency()->set_staleness(-1);
          },
          "INVALID_ARGUMENT"),
      CreateTable(
          "a durability of later", [](auto& r) { r.mutable_spec()->set_durability(v1::SYNC); },
          "UNIMPLEMENTED/UNSUPPORTED"),
      CreateTable(
          "a policy of later",
          [](auto& r) {
            r.mutable_spec()->mutable_consistency()->set_mode(v1::ConsistencyPolicy::ESSP);
          },
          "UNIMPLEMENTED/UNSUPPORTED"),
      CreateTable(
          "another spec of a name that is taken", [](auto& r) { r.mutable_spec()->set_name("t"); },
          "ALREADY_EXISTS/SPEC_DIFFERS"),
  });
}

TEST(BadInputCoordinator, Jobs) {
  Judge({
      Call<C, v1::CreateJobRequest, v1::JobInfo>(
          "a job without a name", kCoordinator, &C::CreateJob, [](auto&, RawServer&) {},
          "INVALID_ARGUMENT"),
      Call<C, v1::CreateJobRequest, v1::JobInfo>(
          "a job of 4 G ranks", kCoordinator, &C::CreateJob,
          [](auto& r, RawServer&) {
            r.mutable_spec()->set_name("huge");
            r.mutable_spec()->set_ranks(UINT32_MAX);
          },
          "INVALID_ARGUMENT"),
      Call<C, v1::CreateJobRequest, v1::JobInfo>(
          "a lease of one millisecond", kCoordinator, &C::CreateJob,
          [](auto& r, RawServer&) {
            r.mutable_spec()->set_name("short");
            r.mutable_spec()->set_lease_ms(1);
          },
          "INVALID_ARGUMENT"),
      Call<C, v1::CreateJobRequest, v1::JobInfo>(
          "another job of a name that is taken", kCoordinator, &C::CreateJob,
          [](auto& r, RawServer&) {
            r.mutable_spec()->set_name("bad");
            r.mutable_spec()->set_ranks(2);
          },
          "ALREADY_EXISTS/SPEC_DIFFERS"),
  });
}

TEST(BadInputCoordinator, Sessions) {
  const auto unknown = [](auto& r) { r.set_session_low(1); };
  Judge({
      Call<C, v1::OpenSessionRequest, v1::OpenSessionReply>(
          "a session of no job", kCoordinator, &C::OpenSession,
          [](auto& r, RawServer&) { r.set_job("none"); }, "NOT_FOUND"),
      Call<C, v1::OpenSessionRequest, v1::OpenSessionReply>(
          "a rank beyond the job's", kCoordinator, &C::OpenSession,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_clocked(true);
            r.set_rank(7);
          },
          "INVALID_ARGUMENT"),
      Call<C, v1::OpenSessionRequest, v1::OpenSessionReply>(
          "a rank that is held", kCoordinator, &C::OpenSession,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_clocked(true);
          },
          "ALREADY_EXISTS"),
      Call<C, v1::HeartbeatRequest, v1::HeartbeatReply>(
          "a heartbeat of nobody", kCoordinator, &C::Heartbeat,
          [=](auto& r, RawServer&) { unknown(r); }, "NOT_FOUND/SESSION_UNKNOWN"),
      Call<C, v1::HeartbeatRequest, v1::HeartbeatReply>(
          "a heartbeat with another token", kCoordinator, &C::Heartbeat,
          [](auto& r, RawServer& server) {
            r.set_session_high(server.session.session_high());
            r.set_session_low(server.session.session_low());
            r.set_token(server.session.token() + 1);
          },
          "NOT_FOUND/SESSION_UNKNOWN"),
      Call<C, v1::CloseSessionRequest, v1::CloseSessionReply>(
          "a session closed with another token", kCoordinator, &C::CloseSession,
          [](auto& r, RawServer& server) {
            r.set_session_high(server.session.session_high());
            r.set_session_low(server.session.session_low());
            r.set_token(server.session.token() + 1);
          },
          "NOT_FOUND/SESSION_UNKNOWN"),
  });
}

TEST(BadInputCoordinator, Tables) {
  Judge({
      Call<C, v1::DescribeTableRequest, v1::TableInfo>(
          "a table that is not there", kCoordinator, &C::DescribeTable,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_name("none");
          },
          "NOT_FOUND/UNKNOWN_TABLE"),
      Call<C, v1::SetOptimizerRequest, v1::TableInfo>(
          "an optimizer for no table", kCoordinator, &C::SetOptimizer,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_table("none");
            r.mutable_optimizer()->set_name("sgd");
          },
          "NOT_FOUND/UNKNOWN_TABLE"),
      Call<C, v1::SetOptimizerRequest, v1::TableInfo>(
          "no optimizer", kCoordinator, &C::SetOptimizer,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_table("t");
          },
          "INVALID_ARGUMENT"),
      Call<C, v1::ChangeLearningRateRequest, v1::ChangeLearningRateReply>(
          "a learning rate that is no number", kCoordinator, &C::ChangeLearningRate,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_table("t");
            r.set_learning_rate(std::numeric_limits<double>::quiet_NaN());
          },
          "INVALID_ARGUMENT"),
  });
}

TEST(BadInputCoordinator, PassesAndServers) {
  Judge({
      Call<C, v1::OpenPassRequest, v1::OpenPassReply>(
          "a pass without pieces", kCoordinator, &C::OpenPass,
          [](auto& r, RawServer&) { r.set_job("bad"); }, "INVALID_ARGUMENT"),
      Call<C, v1::OpenPassRequest, v1::OpenPassReply>(
          "a pass of 2^64 - 1 pieces", kCoordinator, &C::OpenPass,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_pieces(UINT64_MAX);
          },
          "INVALID_ARGUMENT"),
      Call<C, v1::LeasePieceRequest, v1::LeasePieceReply>(
          "a piece of a pass nobody opened", kCoordinator, &C::LeasePiece,
          [](auto& r, RawServer& server) {
            r.set_job("bad");
            r.set_pass(99);
            r.set_session_high(server.session.session_high());
            r.set_session_low(server.session.session_low());
          },
          "NOT_FOUND"),
      Call<C, v1::ReportPieceRequest, v1::ReportPieceReply>(
          "a piece of nobody's", kCoordinator, &C::ReportPiece,
          [](auto& r, RawServer&) {
            r.set_job("bad");
            r.set_session_low(1);
          },
          "NOT_FOUND/SESSION_UNKNOWN"),
      Call<C, v1::RegisterServerRequest, v1::RegisterServerReply>(
          "a server without a name", kCoordinator, &C::RegisterServer, [](auto&, RawServer&) {},
          "INVALID_ARGUMENT"),
      Call<C, v1::RegisterServerRequest, v1::RegisterServerReply>(
          "a server too many", kCoordinator, &C::RegisterServer,
          [](auto& r, RawServer&) {
            r.set_name("intruder");
            r.set_endpoint("127.0.0.1:1");
            r.set_boot(1);
          },
          "FAILED_PRECONDITION"),
  });
}

TEST(BadInputAdmin, EveryCall) {
  using A = v1::Admin::Stub;
  Judge({
      Call<A, v1::GetRowRequest, v1::Row>(
          "a row of no table", &RawServer::admin, &A::GetRow,
          [](auto& r, RawServer&) { r.set_table(4'000'000'000); }, "NOT_FOUND/UNKNOWN_TABLE"),
      Call<A, v1::GetTableStatsRequest, v1::TableStatsReply>(
          "numbers of no table", &RawServer::admin, &A::GetTableStats,
          [](auto& r, RawServer&) { r.set_table(4'000'000'000); }, "NOT_FOUND/UNKNOWN_TABLE"),
      Call<A, v1::ListSlotsRequest, v1::ListSlotsReply>(
          "a slot beyond all is left out", &RawServer::admin, &A::ListSlots,
          [](auto& r, RawServer&) { r.add_slots(UINT32_MAX); }, "OK"),
  });
}

TEST(BadInputControl, Execute) {
  using E = v1::ServerControl::Stub;
  Judge({
      Call<E, v1::Command, v1::CommandReply>(
          "another start's command", &RawServer::control, &E::Execute,
          [](auto& r, RawServer&) {
            r.set_term(1);
            r.set_number(1);
            r.set_boot(1);
          },
          "FAILED_PRECONDITION"),
      Call<E, v1::Command, v1::CommandReply>(
          "an older term's command", &RawServer::control, &E::Execute,
          [](auto& r, RawServer& server) {
            r.set_boot(server.boot);
            r.set_number(1'000'000);
          },
          "FAILED_PRECONDITION"),
  });
}

}  // namespace
}  // namespace syncline
