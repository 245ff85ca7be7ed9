#include "server/service/command_log.h"

#include <memory>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"
#include "common/table_spec.h"
#include "common/wire/outcome_proto.h"
#include "common/wire/spec_proto.h"

namespace syncline {
namespace {

SessionId IdOf(uint64_t high, uint64_t low) { return SessionId{.high = high, .low = low}; }

SessionDeclaration DeclarationOf(const v1::InstallSession& install) {
  return SessionDeclaration{.id = IdOf(install.session_high(), install.session_low()),
                            .token = Token(install.token()),
                            .job = JobId(install.job()),
                            .rank = Rank(install.rank()),
                            .clocked = install.clocked(),
                            .principal = Principal{install.principal()}};
}

JobDeclaration DeclarationOf(const v1::JobInfo& job) {
  return JobDeclaration{.id = JobId(job.id()),
                        .name = job.spec().name(),
                        .ranks = static_cast<int32_t>(job.spec().ranks()),
                        .reproducible = job.spec().reproducible()};
}

// To the coordinator these codes say that a command was not applied and must be sent again; it was.
absl::Status AsResult(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      return MakeStatus(absl::StatusCode::kInternal, DetailOf(status), MessageOf(status));
    default:
      return status;
  }
}

}  // namespace

absl::StatusOr<v1::CommandReply> CommandLog::Execute(const v1::Command& command) {
  if (command.boot() != state_.boot()) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "command {} is for another start of this server; it has to register again",
                     command.number());
  }
  MutexLock lock(mutex_);
  if (command.term() < term_) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "command {} is of term {}; term {} has begun", command.number(),
                     command.term(), term_);
  }
  if (command.term() > term_) {
    term_ = command.term();
    last_ = 0;
    replies_.clear();
  }
  if (command.number() > last_ + 1 || command.number() == 0) {
    return MakeError(absl::StatusCode::kOutOfRange, Detail::kNone,
                     "command {} does not follow {}; send {}", command.number(), last_, last_ + 1);
  }
  if (command.number() <= last_) {
    const uint64_t age = last_ - command.number();
    if (age < replies_.size()) return replies_[replies_.size() - 1 - age];
    v1::CommandReply forgotten;
    forgotten.set_last(last_);
    return forgotten;
  }
  v1::CommandReply reply;
  const absl::Status applied = Apply(command, reply);
  if (!applied.ok()) *reply.mutable_error() = ToProto(AsResult(applied));
  last_ = command.number();
  reply.set_last(last_);
  replies_.push_back(reply);
  if (replies_.size() > kKeptCommandReplies) replies_.pop_front();
  return reply;
}

uint64_t CommandLog::last() const {
  MutexLock lock(mutex_);
  return last_;
}

absl::Status CommandLog::Apply(const v1::Command& command, v1::CommandReply& reply) {
  switch (command.body_case()) {
    case v1::Command::kMap:
      return ApplyMap(command.map());
    case v1::Command::kDeclareJob:
      if (command.declare_job().spec().ranks() > kMaxRanksPerJob) {
        return InvalidArgument("a job of {} ranks; at most {}",
                               command.declare_job().spec().ranks(), kMaxRanksPerJob);
      }
      host_.DeclareJob(DeclarationOf(command.declare_job()));
      return absl::OkStatus();
    case v1::Command::kCreateTable: {
      ASSIGN_OR_RETURN(const TableInfo table, FromProto(command.create_table()));
      RETURN_IF_ERROR(ValidateTableSpec(table.spec));
      return host_.CreateTable(table);
    }
    case v1::Command::kInstall:
      reply.set_clock(
          host_.InstallSession(DeclarationOf(command.install()), Clock(command.install().clock()))
              .value());
      return absl::OkStatus();
    case v1::Command::kSetClock:
      host_.SetSessionClock(
          IdOf(command.set_clock().session_high(), command.set_clock().session_low()),
          Clock(command.set_clock().clock()));
      return absl::OkStatus();
    case v1::Command::kFence:
      host_.Fence(IdOf(command.fence().session_high(), command.fence().session_low()));
      return absl::OkStatus();
    case v1::Command::kFailJob:
      host_.FailJob(JobId(command.fail_job().job()), command.fail_job().reason());
      return absl::OkStatus();
    case v1::Command::kSetOptimizer:
      return host_.SetOptimizer(TableId(command.set_optimizer().id()),
                                FromProto(command.set_optimizer().spec().optimizer()));
    case v1::Command::kChangeLearningRate:
      return host_.ChangeLearningRate(TableId(command.change_learning_rate().table()),
                                      Clock(command.change_learning_rate().from_clock()),
                                      command.change_learning_rate().learning_rate());
    case v1::Command::BODY_NOT_SET:
      break;
  }
  return MakeError(absl::StatusCode::kUnimplemented, Detail::kUnsupported,
                   "command {} is of a kind that this server does not know", command.number());
}

absl::Status CommandLog::ApplyMap(const v1::ClusterMap& message) {
  ASSIGN_OR_RETURN(SlotMap map, FromProto(message));
  // The map may come before the answer to our registration: we know ourselves by our boot.
  for (const ServerEntry& server : map.servers()) {
    if (server.boot == state_.boot()) state_.SetServer(server.id);
  }
  RETURN_IF_ERROR(host_.Assign(map, state_.server()));
  state_.SetMap(std::make_shared<const SlotMap>(std::move(map)));
  return absl::OkStatus();
}

}  // namespace syncline
