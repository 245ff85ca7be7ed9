#include "tests/integration/raw_server.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"

#include "common/hash.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "common/time_source.h"

namespace syncline {
namespace {

constexpr uint64_t kKey = 5;
constexpr uint64_t kLongLease = 600'000;
constexpr std::chrono::milliseconds kAnswerTime{1'000};

using GenericStub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

gpr_timespec In(int64_t seconds) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(seconds, GPR_TIMESPAN));
}

std::string KeyBytes(uint64_t key) { return {reinterpret_cast<const char*>(&key), sizeof(key)}; }

void Must(const grpc::Status& status, std::string_view what) {
  SYNCLINE_CHECK(status.ok(), fmt::format("{}: {}", what, status.error_message()));
}

std::shared_ptr<grpc::Channel> UnlimitedChannel(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
}

std::string ServerProgram() {
  const char* given = std::getenv("SYNCLINE_PS_SERVER");
  return given != nullptr ? given : ProgramFolder() + "/../../server/ps-server";
}

v1::TableSpec TableOfTests() {
  v1::TableSpec spec;
  spec.set_name("t");
  spec.set_dim(4);
  spec.mutable_optimizer()->set_name("sgd");
  (*spec.mutable_optimizer()->mutable_arguments())["lr"] = 1;
  spec.mutable_consistency()->set_mode(v1::ConsistencyPolicy::SSP);
  spec.mutable_consistency()->set_staleness(1);
  spec.mutable_ids()->set_kind(v1::IdPolicy::REJECT);
  spec.mutable_ids()->set_vocabulary(1'000);
  return spec;
}

}  // namespace

RawServer::RawServer() {
  auto cluster = ProcessCluster::Start({.program = ServerProgram()});
  SYNCLINE_CHECK(cluster.ok(), cluster.status().ToString());
  cluster_ = *std::move(cluster);
  const absl::Status ready = cluster_->WaitReady();
  SYNCLINE_CHECK(ready.ok(), ready.ToString());
  channel = UnlimitedChannel(cluster_->coordinator());
  data = v1::ParameterServer::NewStub(channel);
  coordinator = v1::Coordinator::NewStub(channel);
  admin = v1::Admin::NewStub(channel);
  control = v1::ServerControl::NewStub(channel);

  v1::CreateJobRequest job;
  job.mutable_spec()->set_name("bad");
  job.mutable_spec()->set_ranks(1);
  job.mutable_spec()->set_lease_ms(kLongLease);
  v1::JobInfo job_info;
  Must(coordinator->CreateJob(Patience().get(), job, &job_info), "CreateJob");
  v1::OpenSessionRequest open;
  open.set_job("bad");
  open.set_clocked(true);
  Must(coordinator->OpenSession(Patience().get(), open, &session), "OpenSession");
  v1::CreateTableRequest create;
  create.set_job("bad");
  *create.mutable_spec() = TableOfTests();
  v1::TableInfo info;
  Must(coordinator->CreateTable(Patience().get(), create, &info), "CreateTable");
  table = info.id();
  slot = SlotOf(TableId(table), kKey, session.map().slot_count()).value();
  boot = session.map().servers(0).boot();

  v1::PushRequest first = Push();
  first.mutable_parts(0)->set_sequence(1);
  v1::PushReply reply;
  Must(data->Push(Patience().get(), first, &reply), "Push");
  SYNCLINE_CHECK(OutcomesOf(reply) == "OK", OutcomesOf(reply));
}

v1::OperationHeader RawServer::Header() const {
  v1::OperationHeader header;
  header.set_session_high(session.session_high());
  header.set_session_low(session.session_low());
  header.set_token(session.token());
  header.set_epoch(session.map().epoch());
  header.set_clock(session.clock());
  return header;
}

v1::PushRequest RawServer::Push() const {
  v1::PushRequest push;
  *push.mutable_header() = Header();
  push.set_table(table);
  push.set_codec(1);
  push.set_samples(1);
  v1::PushPart* part = push.add_parts();
  part->set_slot(slot);
  part->set_incarnation(session.map().slots(static_cast<int>(slot)).incarnation());
  part->set_sequence(2);
  part->set_keys(KeyBytes(kKey));
  const float gradient[4] = {1, 2, 3, 4};
  part->set_values(std::string(reinterpret_cast<const char*>(gradient), sizeof(gradient)));
  return push;
}

v1::PullRequest RawServer::Pull() const {
  v1::PullRequest pull;
  *pull.mutable_header() = Header();
  pull.set_table(table);
  pull.set_codec(1);
  pull.set_deadline_ms(200);
  v1::PullPart* part = pull.add_parts();
  part->set_slot(slot);
  part->set_incarnation(session.map().slots(static_cast<int>(slot)).incarnation());
  part->set_sequence(1);
  part->set_keys(KeyBytes(kKey));
  return pull;
}

v1::TickRequest RawServer::Tick() const {
  v1::TickRequest tick;
  *tick.mutable_header() = Header();
  tick.set_clock(session.clock() + 1);
  tick.set_ends_round(session.clock());
  tick.add_slots(slot);
  tick.add_incarnations(session.map().slots(static_cast<int>(slot)).incarnation());
  tick.add_sequences(2);
  return tick;
}

v1::LeaveRequest RawServer::Leave() const {
  v1::LeaveRequest leave;
  *leave.mutable_header() = Header();
  leave.add_slots(slot);
  leave.add_incarnations(session.map().slots(static_cast<int>(slot)).incarnation());
  leave.add_sequences(2);
  return leave;
}

uint64_t RawServer::StateHash() {
  v1::StateHash hash;
  Must(admin->GetStateHash(Patience().get(), {}, &hash), "GetStateHash");
  return hash.hash();
}

RawServer& TheServer() {
  static RawServer server;
  return server;
}

std::unique_ptr<grpc::ClientContext> Patience() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(In(10));
  return context;
}

grpc::ByteBuffer BytesOf(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer Megabytes(size_t n) {
  const std::vector<grpc::Slice> slices(n, grpc::Slice(std::string(1 << 20, '\0')));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::Status CallRaw(RawServer& server, const std::string& method, const grpc::ByteBuffer& bytes,
                     grpc_compression_algorithm compression) {
  GenericStub stub(server.channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(In(30));
  context.set_compression_algorithm(compression);
  grpc::ByteBuffer reply;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, method, bytes, &queue);
  call->StartCall();
  call->Finish(&reply, &status, &context);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

// --- RawStream --------------------------------------------------------------------------------

class RawStream::Calls {
 public:
  Calls(RawServer& server, grpc_compression_algorithm compression) : stub_(server.channel) {
    context_.set_compression_algorithm(compression);
    stream_ = stub_.PrepareCall(&context_, "/syncline.v1.ParameterServer/Exchange", &queue_);
    stream_->StartCall(this);
    broken_ = !Wait();
  }
  ~Calls() {
    context_.TryCancel();
    if (!finished_) Finish();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  bool Write(const grpc::ByteBuffer& frame) {
    if (broken_) return false;
    stream_->Write(frame, this);
    return !(broken_ = !Wait());
  }
  bool Read(v1::Frame& frame) {
    if (broken_) return false;
    grpc::ByteBuffer bytes;
    stream_->Read(&bytes, this);
    if (!Wait()) return !(broken_ = true);
    grpc::Slice slice;
    return bytes.DumpToSingleSlice(&slice).ok() &&
           frame.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  grpc::Status Finish() {
    finished_ = true;
    stream_->Finish(&status_, this);
    Wait();
    return status_;
  }

 private:
  // One operation at a time is under way. After five seconds the call is given up.
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, In(5)) == grpc::CompletionQueue::GOT_EVENT) return ok;
    context_.TryCancel();
    queue_.Next(&tag, &ok);
    return false;
  }

  GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
  grpc::Status status_;
  bool broken_ = false;
  bool finished_ = false;
};

RawStream::RawStream(RawServer& server, grpc_compression_algorithm compression)
    : calls_(std::make_unique<Calls>(server, compression)) {}
RawStream::~RawStream() = default;

bool RawStream::SayHello() {
  v1::Frame hello;
  hello.mutable_hello()->set_version_min(1);
  hello.mutable_hello()->set_version_max(1);
  v1::Frame reply;
  return Write(hello) && Read(reply) && reply.has_hello_reply();
}

bool RawStream::Write(const grpc::ByteBuffer& frame) { return calls_->Write(frame); }
bool RawStream::Read(v1::Frame& frame) { return calls_->Read(frame); }
grpc::Status RawStream::Finish() { return calls_->Finish(); }

std::string RawStream::Answer() {
  v1::Frame reply;
  if (Read(reply)) return Verdict(reply);
  return "stream: " + Verdict(Finish());
}

// --- Verdicts ---------------------------------------------------------------------------------

namespace {

std::string CodeName(int code, Detail detail) {
  const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
  return detail == Detail::kNone ? name : name + "/" + std::string(DetailName(detail));
}

}  // namespace

std::string Verdict(const grpc::Status& status) {
  return CodeName(status.error_code(), DetailOf(FromGrpc(status)));
}

std::string Verdict(const v1::ErrorInfo& error) {
  return CodeName(error.code(), static_cast<Detail>(error.detail()));
}

std::string Verdict(const v1::Frame& reply) {
  switch (reply.body_case()) {
    case v1::Frame::kError:
      return "error: " + Verdict(reply.error());
    case v1::Frame::kPushReply:
      return OutcomesOf(reply.push_reply());
    case v1::Frame::kTickReply:
      return OutcomesOf(reply.tick_reply());
    case v1::Frame::kLeaveReply:
      return OutcomesOf(reply.leave_reply());
    case v1::Frame::kResumeReply:
      return OutcomesOf(reply.resume_reply());
    case v1::Frame::kPullReply:
      return reply.pull_reply().has_error() ? Verdict(reply.pull_reply().error()) : "OK";
    default:
      return "OK";
  }
}

void Judge(const std::vector<BadCase>& cases) {
  RawServer& server = TheServer();
  const SystemTimeSource clock;
  const uint64_t hash = server.StateHash();
  for (const BadCase& bad : cases) {
    SCOPED_TRACE(bad.name);
    const MonotonicTime start = clock.Now();
    const std::string verdict = bad.act(server);
    EXPECT_LT(clock.Now() - start, kAnswerTime);
    EXPECT_EQ(verdict, bad.expected);
    ASSERT_TRUE(server.process().running());
    EXPECT_EQ(server.StateHash(), hash);
  }
}

}  // namespace syncline
