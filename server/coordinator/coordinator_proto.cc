#include "server/coordinator/coordinator_proto.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "common/status/status.h"
#include "common/wire/outcome_proto.h"
#include "common/wire/spec_proto.h"

namespace syncline::coordinator {

// The converters of common/wire, which this namespace's overloads would hide.
using ::syncline::FromProto;
using ::syncline::ToProto;

namespace {

std::chrono::milliseconds Milliseconds(uint64_t value) {
  // A year at most: later sums do not overflow, and the range checks still refuse it.
  constexpr uint64_t kYear = 366ull * 86'400'000;
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(value, kYear)));
}

uint64_t Count(std::chrono::milliseconds value) {
  return static_cast<uint64_t>(std::max<int64_t>(0, value.count()));
}

template <typename Message>
void SetSession(SessionId id, Message& message) {
  message.set_session_high(id.high);
  message.set_session_low(id.low);
}

template <typename Message>
SessionId SessionOf(const Message& message) {
  return {message.session_high(), message.session_low()};
}

// One overload per kind of command.
class CommandWriter {
 public:
  explicit CommandWriter(v1::Command& out) : out_(out) {}

  void operator()(const SendMap& c) { *out_.mutable_map() = ToProto(*c.map); }
  void operator()(const DeclareJob& c) { *out_.mutable_declare_job() = ToProto(c.job); }
  void operator()(const CreateTable& c) { *out_.mutable_create_table() = ToProto(c.table); }
  void operator()(const InstallSession& c) { *out_.mutable_install() = ToProto(c); }
  void operator()(const SetSessionClock& c) {
    SetSession(c.id, *out_.mutable_set_clock());
    out_.mutable_set_clock()->set_clock(c.clock.value());
  }
  void operator()(const FenceSession& c) { SetSession(c.id, *out_.mutable_fence()); }
  void operator()(const FailJob& c) {
    out_.mutable_fail_job()->set_job(c.job.value());
    out_.mutable_fail_job()->set_reason(c.reason);
  }
  void operator()(const SetOptimizer& c) { *out_.mutable_set_optimizer() = ToProto(c.table); }
  void operator()(const ChangeLearningRate& c) {
    *out_.mutable_change_learning_rate() = ToProto(c);
  }

 private:
  v1::Command& out_;
};

absl::StatusOr<CommandBody> BodyOf(const v1::Command& c) {
  switch (c.body_case()) {
    case v1::Command::kMap: {
      ASSIGN_OR_RETURN(SlotMap map, FromProto(c.map()));
      return SendMap{std::make_shared<const SlotMap>(std::move(map))};
    }
    case v1::Command::kDeclareJob:
      return DeclareJob{FromProto(c.declare_job())};
    case v1::Command::kCreateTable: {
      ASSIGN_OR_RETURN(TableInfo table, FromProto(c.create_table()));
      return CreateTable{std::move(table)};
    }
    case v1::Command::kInstall: {
      const v1::InstallSession& i = c.install();
      return InstallSession{SessionOf(i), Token(i.token()), JobId(i.job()),  Rank(i.rank()),
                            i.clocked(),  {i.principal()},  Clock(i.clock())};
    }
    case v1::Command::kSetClock:
      return SetSessionClock{SessionOf(c.set_clock()), Clock(c.set_clock().clock())};
    case v1::Command::kFence:
      return FenceSession{SessionOf(c.fence())};
    case v1::Command::kFailJob:
      return FailJob{JobId(c.fail_job().job()), c.fail_job().reason()};
    case v1::Command::kSetOptimizer: {
      ASSIGN_OR_RETURN(TableInfo table, FromProto(c.set_optimizer()));
      return SetOptimizer{std::move(table)};
    }
    case v1::Command::kChangeLearningRate:
      return ChangeLearningRate{TableId(c.change_learning_rate().table()),
                                Clock(c.change_learning_rate().from_clock()),
                                c.change_learning_rate().learning_rate()};
    case v1::Command::BODY_NOT_SET:
      break;
  }
  return InvalidArgument("command {} has no body that this version knows; upgrade the server",
                         c.number());
}

}  // namespace

v1::JobInfo ToProto(const JobInfo& job) {
  v1::JobInfo out;
  out.set_id(job.id.value());
  v1::JobSpec& spec = *out.mutable_spec();
  spec.set_name(job.spec.name);
  spec.set_ranks(static_cast<uint32_t>(job.spec.ranks));
  spec.set_reproducible(job.spec.reproducible);
  spec.set_start_timeout_ms(Count(job.spec.start_timeout));
  spec.set_lease_ms(Count(job.spec.lease));
  out.set_state(static_cast<v1::JobInfo::State>(job.state));
  out.set_failure(job.failure);
  out.set_ranks_joined(static_cast<uint32_t>(job.ranks_joined));
  return out;
}

JobSpec FromProto(const v1::JobSpec& spec) {
  constexpr uint32_t kMost = std::numeric_limits<int32_t>::max();
  return {.name = spec.name(),
          .ranks = static_cast<int32_t>(std::min(spec.ranks(), kMost)),
          .reproducible = spec.reproducible(),
          .start_timeout = Milliseconds(spec.start_timeout_ms()),
          .lease = Milliseconds(spec.lease_ms())};
}

JobInfo FromProto(const v1::JobInfo& job) {
  JobInfo info;
  info.id = JobId(job.id());
  info.spec = FromProto(job.spec());
  info.state = job.state() == v1::JobInfo::STATE_UNSPECIFIED ? JobState::kStarting
                                                             : static_cast<JobState>(job.state());
  info.failure = job.failure();
  info.ranks_joined = static_cast<int32_t>(job.ranks_joined());
  return info;
}

v1::ServerAddress ToProto(const ServerEntry& server) {
  v1::ServerAddress out;
  out.set_id(server.id.value());
  out.set_name(server.name);
  out.set_endpoint(server.endpoint);
  out.set_boot(server.boot);
  return out;
}

v1::ClusterMap ToProto(const MapView& view) {
  v1::ClusterMap out;
  if (view.map != nullptr) {
    out = ToProto(*view.map);
  } else {
    out.set_cluster(view.cluster);
    out.set_slot_count(view.slot_count);
    for (const ServerEntry& server : view.servers) *out.add_servers() = ToProto(server);
  }
  out.set_servers_expected(view.servers_expected);
  return out;
}

v1::OpenSessionReply ToProto(const JoinResult& result) {
  v1::OpenSessionReply out;
  SetSession(result.session, out);
  out.set_token(result.token.value());
  out.set_rank(result.rank.value());
  out.set_clock(result.clock.value());
  out.set_lease_ms(Count(result.lease));
  *out.mutable_job() = ToProto(result.job);
  *out.mutable_map() = ToProto(result.map);
  return out;
}

v1::SessionInfo ToProto(const SessionInfo& session) {
  v1::SessionInfo out;
  SetSession(session.id, out);
  out.set_job(session.job.value());
  out.set_job_name(session.job_name);
  out.set_rank(session.rank.value());
  out.set_clocked(session.clocked);
  out.set_client(session.client);
  out.set_principal(session.principal.name);
  v1::WorkerReport& report = *out.mutable_report();
  report.set_clock(session.report.clock.value());
  report.set_step_seconds(session.report.step_seconds);
  report.set_wait_ratio(session.report.wait_ratio);
  report.set_samples_per_second(session.report.samples_per_second);
  report.set_bytes_sent(session.report.bytes_sent);
  report.set_bytes_received(session.report.bytes_received);
  out.set_lease_left_ms(Count(session.lease_left));
  out.set_state(std::string(SessionStateName(session.state)));
  return out;
}

v1::ServerInfo ToProto(const ServerInfo& server) {
  v1::ServerInfo out;
  *out.mutable_address() = ToProto(server.address);
  out.set_slots(server.slots);
  out.set_heartbeat_age_ms(Count(server.heartbeat_age));
  out.set_live(server.live);
  out.set_version(server.version);
  return out;
}

WorkerReport FromProto(const v1::WorkerReport& report) {
  return {.clock = Clock(report.clock()),
          .step_seconds = report.step_seconds(),
          .wait_ratio = report.wait_ratio(),
          .samples_per_second = report.samples_per_second(),
          .bytes_sent = report.bytes_sent(),
          .bytes_received = report.bytes_received()};
}

JoinRequest FromProto(const v1::OpenSessionRequest& request, const Principal& principal) {
  return {.job = request.job(),
          .clocked = request.clocked(),
          .rank = Rank(request.rank()),
          .take_over = request.take_over(),
          .client = request.client(),
          .nonce = request.nonce(),
          .principal = principal};
}

RegisterRequest FromProto(const v1::RegisterServerRequest& request) {
  return {request.name(), request.endpoint(), request.boot(), request.version()};
}

v1::InstallSession ToProto(const InstallSession& install) {
  v1::InstallSession out;
  SetSession(install.id, out);
  out.set_token(install.token.value());
  out.set_job(install.job.value());
  out.set_rank(install.rank.value());
  out.set_clocked(install.clocked);
  out.set_principal(install.principal.name);
  out.set_clock(install.clock.value());
  return out;
}

v1::ChangeLearningRateCommand ToProto(const ChangeLearningRate& change) {
  v1::ChangeLearningRateCommand out;
  out.set_table(change.table.value());
  out.set_from_clock(change.from_clock.value());
  out.set_learning_rate(change.learning_rate);
  return out;
}

v1::Command ToProto(const Command& command) {
  v1::Command out;
  out.set_term(command.term);
  out.set_boot(command.boot);
  out.set_number(command.number);
  std::visit(CommandWriter(out), command.body);
  return out;
}

absl::StatusOr<Command> FromProto(const v1::Command& command) {
  ASSIGN_OR_RETURN(CommandBody body, BodyOf(command));
  return Command{command.term(), command.boot(), command.number(), std::move(body)};
}

CommandReply FromProto(const v1::CommandReply& reply) {
  return {reply.last(), Clock(reply.clock()), FromProto(reply.error())};
}

}  // namespace syncline::coordinator
