// A coordinator core with a few servers around it, all in one thread: messages wait in a bag from
// which the test (or a seed) delivers, drops, repeats and reorders them.
#ifndef SYNCLINE_TESTS_SERVER_COORDINATOR_FAKE_CLUSTER_H_
#define SYNCLINE_TESTS_SERVER_COORDINATOR_FAKE_CLUSTER_H_

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "common/random.h"
#include "common/status/status.h"
#include "common/time_source.h"
#include "server/coordinator/coordinator_core.h"
#include "server/coordinator/coordinator_proto.h"

namespace syncline::coordinator {

// One slot's worth of what a server does with commands: the independent reading of S1 that the
// core is judged by. Records what would break the rules.
class FakeServer {
 public:
  FakeServer(std::string server_name, uint64_t boot) : name(std::move(server_name)), boot_(boot) {}

  uint64_t boot() const { return boot_; }
  void Restart(uint64_t boot) { *this = FakeServer(name, boot); }

  CommandReply Execute(const Command& command) {
    if (command.boot != boot_ || command.term < term_) {
      return {0, Clock(0), Error(absl::StatusCode::kFailedPrecondition)};
    }
    if (command.term > term_) {
      term_ = command.term;
      last_ = 0;
      replies_.clear();
    }
    if (command.number <= last_) return replies_.at(command.number);
    if (command.number != last_ + 1) {
      return {last_, Clock(0), Error(absl::StatusCode::kOutOfRange)};
    }
    ++last_;
    const bool is_table = std::holds_alternative<CreateTable>(command.body);
    return replies_[last_] = {last_,
                              std::visit([this](const auto& c) { return Apply(c); }, command.body),
                              is_table ? table_result : absl::OkStatus()};
  }

  // The clock that a joining session would get here; tests move it.
  Clock min_clock{0};
  absl::Status table_result;  // what every CreateTable ends with
  std::string name;
  std::shared_ptr<const SlotMap> map;
  std::map<SessionId, InstallSession> sessions;
  std::map<SessionId, Clock> clocks;
  std::set<JobId> jobs;
  std::map<JobId, std::string> failed;
  std::map<TableId, TableInfo> tables;
  std::vector<coordinator::ChangeLearningRate> rates;
  std::vector<std::string> violations;
  size_t installs = 0;

 private:
  static absl::Status Error(absl::StatusCode code) {
    return MakeStatus(code, Detail::kNone, "not applied");
  }

  Clock Apply(const SendMap& c) {
    if (map != nullptr && c.map->epoch() < map->epoch()) violations.push_back("epoch went back");
    map = c.map;
    return Clock(0);
  }
  Clock Apply(const DeclareJob& c) {
    jobs.insert(c.job.id);
    return Clock(0);
  }
  Clock Apply(const CreateTable& c) {
    if (!jobs.contains(c.table.job)) violations.push_back("table before its job");
    tables[c.table.id] = c.table;
    return Clock(0);
  }
  Clock Apply(const InstallSession& c) {
    for (const auto& [id, other] : sessions) {
      if (c.clocked && other.clocked && other.job == c.job && other.rank == c.rank) {
        violations.push_back("S1: a rank's session was installed before the old one's fence");
      }
    }
    if (!jobs.contains(c.job)) violations.push_back("session before its job");
    ++installs;
    sessions[c.id] = c;
    return clocks[c.id] = std::max(c.clock, min_clock);
  }
  Clock Apply(const SetSessionClock& c) {
    if (clocks.contains(c.id)) clocks[c.id] = std::max(clocks[c.id], c.clock);
    return Clock(0);
  }
  Clock Apply(const FenceSession& c) {
    sessions.erase(c.id);
    clocks.erase(c.id);
    return Clock(0);
  }
  Clock Apply(const FailJob& c) {
    failed[c.job] = c.reason;
    return Clock(0);
  }
  Clock Apply(const SetOptimizer& c) {
    tables[c.table.id] = c.table;
    return Clock(0);
  }
  Clock Apply(const ChangeLearningRate& c) {
    rates.push_back(c);
    return Clock(0);
  }

  uint64_t boot_;
  uint64_t term_ = 0;
  uint64_t last_ = 0;
  std::map<uint64_t, CommandReply> replies_;
};

class FakeCluster {
 public:
  using Body = absl::StatusOr<std::variant<JoinResult, TableInfo>>;

  explicit FakeCluster(uint32_t servers, uint64_t seed = 1) : random_(seed) {
    config_.servers_expected = servers;
    config_.slot_count = 8;
    StartCoordinator();
    for (uint32_t i = 0; i < servers; ++i) {
      servers_.emplace_back("ps-" + std::to_string(i), random_.Next());
    }
  }

  // --- Time and messages.
  MonotonicTime now() const { return time_.Now(); }
  // In ticks, as the service does.
  void Advance(std::chrono::milliseconds d) {
    for (; d.count() > 0; d -= kCoordinatorTick) {
      time_.Advance(std::min<std::chrono::nanoseconds>(d, kCoordinatorTick));
      Tick();
    }
  }
  void Tick() {
    core_->OnTimer(now(), effects_);
    Absorb();
  }
  // Jumps, as when the coordinator stood still.
  void Jump(std::chrono::milliseconds d) {
    time_.Advance(d);
    Tick();
  }
  // Delivers everything, in order, until nothing is on its way.
  void Settle() {
    while (!commands_.empty() || !replies_.empty()) {
      if (!commands_.empty()) {
        DeliverCommand(0);
      } else {
        DeliverReply(0);
      }
    }
  }
  void DeliverCommand(size_t index, bool keep = false) {
    const Dispatch dispatch = commands_[index];
    if (!keep) commands_.erase(commands_.begin() + static_cast<std::ptrdiff_t>(index));
    FakeServer& server = servers_[dispatch.server.value()];
    // Through the wire form, so that every command's conversion is used.
    auto sent = FromProto(ToProto(dispatch.command));
    EXPECT_TRUE(sent.ok()) << sent.status();
    if (!silent_.contains(dispatch.server)) {
      const size_t installs = server.installs;
      replies_.push_back({dispatch.server, dispatch.command, server.Execute(*sent)});
      if (server.installs != installs) CheckFencedEverywhere(dispatch.command);
    }
  }
  void DeliverReply(size_t index, bool keep = false) {
    const Reply reply = replies_[index];
    if (!keep) replies_.erase(replies_.begin() + static_cast<std::ptrdiff_t>(index));
    core_->OnCommandReply(reply.server, reply.command, reply.reply, now(), effects_);
    Absorb();
  }
  // One random thing happens to one message on its way.
  void Shuffle(SplitMix64& dice) {
    const size_t total = commands_.size() + replies_.size();
    if (total == 0) return;
    size_t pick = dice.Below(total);
    const uint64_t fate = dice.Below(10);
    const bool keep = fate < 2;  // delivered, and once more later
    if (pick < commands_.size()) {
      if (fate == 9) {
        commands_.erase(commands_.begin() + static_cast<std::ptrdiff_t>(pick));
      } else {
        DeliverCommand(pick, keep);
      }
      return;
    }
    pick -= commands_.size();
    if (fate == 9) {
      replies_.erase(replies_.begin() + static_cast<std::ptrdiff_t>(pick));
    } else {
      DeliverReply(pick, keep);
    }
  }
  void DropAllMessages() {
    commands_.clear();
    replies_.clear();
  }
  // The server takes no command until Speak.
  void Silence(uint32_t server) { silent_.insert(ServerId(server)); }
  void Speak(uint32_t server) { silent_.erase(ServerId(server)); }

  // --- Servers.
  FakeServer& server(uint32_t i) { return servers_[i]; }
  std::vector<FakeServer>& servers() { return servers_; }
  absl::StatusOr<RegisterResult> Register(uint32_t i) {
    auto result = core_->RegisterServer(
        {servers_[i].name, "host" + std::to_string(i) + ":1", servers_[i].boot(), "test"}, now(),
        effects_);
    Absorb();
    return result;
  }
  void RegisterAll() {
    for (uint32_t i = 0; i < servers_.size(); ++i) EXPECT_TRUE(Register(i).ok());
    Settle();
  }
  void RestartServer(uint32_t i) { servers_[i].Restart(random_.Next()); }

  // --- The coordinator.
  CoordinatorCore& core() { return *core_; }
  void RestartCoordinator() {
    DropAllMessages();
    effects_ = {};
    answers_.clear();
    StartCoordinator();
  }
  const std::map<std::string, std::string>& stored() const { return stored_; }
  CoreConfig& config() { return config_; }
  absl::StatusOr<std::unique_ptr<CoordinatorCore>> TryStart(Effects& effects) {
    auto state = DecodeRecords({stored_.begin(), stored_.end()});
    if (!state.ok()) return state.status();
    return CoordinatorCore::Start(config_, *state, CheckOptimizer, random_, now(), effects);
  }

  // --- Clients.
  absl::StatusOr<JobInfo> CreateJob(JobSpec spec) {
    auto result = core_->CreateJob(std::move(spec), now(), effects_);
    Absorb();
    return result;
  }
  RequestId Open(JoinRequest join) {
    core_->OpenSession(++last_request_, join, now(), effects_);
    Absorb();
    return last_request_;
  }
  RequestId CreateTable(const std::string& job, const TableSpec& spec) {
    core_->CreateTable(++last_request_, job, spec, now(), effects_);
    Absorb();
    return last_request_;
  }
  RequestId SetOptimizer(const std::string& job, const std::string& table,
                         const OptimizerSpec& optimizer) {
    core_->SetOptimizer(++last_request_, job, table, optimizer, now(), effects_);
    Absorb();
    return last_request_;
  }
  RequestId ChangeRate(const std::string& job, const std::string& table, Clock from, double lr) {
    core_->ChangeRate(++last_request_, job, table, from, lr, now(), effects_);
    Absorb();
    return last_request_;
  }
  absl::Status Close(const JoinResult& session) {
    auto result = core_->CloseSession(KeyOf(session), now(), effects_);
    Absorb();
    return result;
  }
  absl::StatusOr<HeartbeatResult> Beat(const JoinResult& session) {
    return core_->Heartbeat(KeyOf(session), {}, now());
  }
  static SessionKey KeyOf(const JoinResult& session) {
    return {session.session, session.token, {"anonymous"}};
  }
  // The answer, if it has come. Each request is answered once; a second answer fails the test.
  std::optional<Body> AnswerTo(RequestId request) const {
    const auto it = answers_.find(request);
    return it == answers_.end() ? std::nullopt : std::optional<Body>(it->second);
  }
  absl::StatusOr<JoinResult> Joined(RequestId request) const { return Get<JoinResult>(request); }
  absl::StatusOr<TableInfo> TableOf(RequestId request) const { return Get<TableInfo>(request); }
  absl::StatusOr<JoinResult> Join(JoinRequest join) {
    const RequestId request = Open(std::move(join));
    Settle();
    return Joined(request);
  }

 private:
  struct Reply {
    ServerId server;
    Command command;
    CommandReply reply;
  };

  static absl::Status CheckOptimizer(const OptimizerSpec& spec) {
    return spec.name == "sgd" ? absl::OkStatus() : InvalidArgument("no optimizer {}", spec.name);
  }

  template <typename T>
  absl::StatusOr<T> Get(RequestId request) const {
    const auto it = answers_.find(request);
    if (it == answers_.end()) {
      return MakeStatus(absl::StatusCode::kInternal, Detail::kNone, "not answered yet");
    }
    if (!it->second.ok()) return it->second.status();
    return std::get<T>(*it->second);
  }

  // S1 over all servers: whoever installs a rank's session, nobody may still hold an older one.
  void CheckFencedEverywhere(const Command& command) {
    const auto& install = std::get<InstallSession>(command.body);
    for (FakeServer& server : servers_) {
      for (const auto& [id, held] : server.sessions) {
        if (install.clocked && held.clocked && held.job == install.job &&
            held.rank == install.rank && held.token < install.token) {
          server.violations.push_back("S1: holds an older session of a rank that is installed");
        }
      }
    }
  }

  void StartCoordinator() {
    auto started = TryStart(effects_);
    ASSERT_TRUE(started.ok()) << started.status();
    core_ = std::move(started).value();
    Absorb();
  }

  void Absorb() {
    for (auto& [key, value] : effects_.persist) {
      if (value) {
        stored_[key] = *value;
      } else {
        stored_.erase(key);
      }
    }
    for (Dispatch& dispatch : effects_.commands) commands_.push_back(std::move(dispatch));
    for (Answer& answer : effects_.answers) {
      const bool added = answers_.emplace(answer.request, std::move(answer.body)).second;
      EXPECT_TRUE(added) << "request " << answer.request << " was answered twice";
    }
    effects_ = {};
  }

  ManualTimeSource time_;
  SeededRandom random_;
  CoreConfig config_;
  std::map<std::string, std::string> stored_;
  std::unique_ptr<CoordinatorCore> core_;
  std::vector<FakeServer> servers_;
  std::set<ServerId> silent_;
  Effects effects_;
  std::vector<Dispatch> commands_;
  std::vector<Reply> replies_;
  std::map<RequestId, Body> answers_;
  RequestId last_request_ = 0;
};

inline JobSpec MakeJob(const std::string& name, int32_t ranks) {
  JobSpec spec;
  spec.name = name;
  spec.ranks = ranks;
  return spec;
}

inline JoinRequest Worker(const std::string& job, int32_t rank, const std::string& nonce = "") {
  JoinRequest join;
  join.job = job;
  join.clocked = true;
  join.rank = Rank(rank);
  join.client = "worker " + std::to_string(rank);
  join.nonce = nonce;
  join.principal = {"anonymous"};
  return join;
}

inline JoinRequest TakeOver(JoinRequest join) {
  join.take_over = true;
  return join;
}

inline TableSpec MakeTable(const std::string& name, uint32_t dim = 4) {
  TableSpec spec;
  spec.name = name;
  spec.dim = dim;
  return spec;
}

}  // namespace syncline::coordinator

#endif  // SYNCLINE_TESTS_SERVER_COORDINATOR_FAKE_CLUSTER_H_
