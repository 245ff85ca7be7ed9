// One real ps-server and the rawest way to it: generated stubs, generic calls with any bytes,
// channels without limits. For tests of what a server does with input that no client sends.
#ifndef SYNCLINE_TESTS_INTEGRATION_RAW_SERVER_H_
#define SYNCLINE_TESTS_INTEGRATION_RAW_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"

#include "proto/admin.grpc.pb.h"
#include "proto/coordinator.grpc.pb.h"
#include "proto/parameter_server.grpc.pb.h"
#include "tests/support/process_cluster.h"

namespace syncline {

// With a job "bad" of one rank, its session, and a table "t" (id `table`, dim 4, sgd, ssp(1),
// vocabulary 1,000 rejecting beyond it) whose key 5 has had a push.
class RawServer {
 public:
  // Panics when it does not come up.
  RawServer();

  std::shared_ptr<grpc::Channel> channel;  // messages of any size
  std::unique_ptr<v1::ParameterServer::Stub> data;
  std::unique_ptr<v1::Coordinator::Stub> coordinator;
  std::unique_ptr<v1::Admin::Stub> admin;
  std::unique_ptr<v1::ServerControl::Stub> control;
  v1::OpenSessionReply session;
  uint32_t table = 0;
  uint32_t slot = 0;  // of key 5
  uint64_t boot = 0;

  v1::OperationHeader Header() const;
  // Well-formed requests for key 5; the push has the slot's next sequence.
  v1::PushRequest Push() const;
  v1::PullRequest Pull() const;
  v1::TickRequest Tick() const;  // in `slot` alone
  v1::LeaveRequest Leave() const;

  uint64_t StateHash();
  ChildProcess& process() { return cluster_->server(0); }

 private:
  std::unique_ptr<ProcessCluster> cluster_;
};

// Started for the first test that asks, ended with the program.
RawServer& TheServer();

// A context that gives up after ten seconds.
std::unique_ptr<grpc::ClientContext> Patience();

// A unary call with any bytes; an OK reply's bytes are dropped.
grpc::Status CallRaw(RawServer& server, const std::string& method, const grpc::ByteBuffer& bytes,
                     grpc_compression_algorithm compression = GRPC_COMPRESS_NONE);
grpc::ByteBuffer BytesOf(std::string_view bytes);
// One megabyte of zeros, n times, without n megabytes of memory.
grpc::ByteBuffer Megabytes(size_t n);

// An Exchange stream of raw frames. Every step gives up after five seconds ("TIMEOUT").
class RawStream {
 public:
  explicit RawStream(RawServer& server,
                     grpc_compression_algorithm compression = GRPC_COMPRESS_NONE);
  ~RawStream();

  bool SayHello();
  // False: the stream is broken.
  bool Write(const grpc::ByteBuffer& frame);
  bool Write(const v1::Frame& frame) { return Write(BytesOf(frame.SerializeAsString())); }
  bool Read(v1::Frame& frame);
  grpc::Status Finish();
  // What came of the last frame: the verdict in the reply, or "stream: " and how it ended.
  std::string Answer();

 private:
  class Calls;
  std::unique_ptr<Calls> calls_;
};

// --- Verdicts: "OK", "NOT_FOUND/SESSION_UNKNOWN", "GONE_FENCED", ...
std::string Verdict(const grpc::Status& status);
std::string Verdict(const v1::ErrorInfo& error);
std::string Verdict(const v1::Frame& reply);

// Of a reply with `parts` of outcomes: the first that is not OK.
template <typename Reply>
std::string OutcomesOf(const Reply& reply) {
  if (reply.has_error()) return Verdict(reply.error());
  for (const v1::PartOutcome& part : reply.parts()) {
    if (part.outcome() == v1::OK) continue;
    return v1::Outcome_Name(part.outcome()) +
           (part.error().detail() == 0 ? "" : "/" + v1::ErrorDetail_Name(part.error().detail()));
  }
  return "OK";
}

// One case of a table: what is done, and the verdict that the contract names.
struct BadCase {
  std::string name;
  std::function<std::string(RawServer&)> act;
  std::string expected;
};
// Runs them: each answered within a second as expected, with the stored rows unchanged and the
// server alive.
void Judge(const std::vector<BadCase>& cases);

}  // namespace syncline

#endif  // SYNCLINE_TESTS_INTEGRATION_RAW_SERVER_H_
