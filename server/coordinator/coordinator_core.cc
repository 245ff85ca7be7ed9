#include "server/coordinator/coordinator_core.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "fmt/format.h"

#include "common/status/status.h"

namespace syncline::coordinator {
namespace {

absl::Status CheckConfig(const CoreConfig& config) {
  if (!std::has_single_bit(config.slot_count) || config.slot_count > kMaxSlotCount) {
    return InvalidArgument("slot count {} must be a power of two up to {}", config.slot_count,
                           kMaxSlotCount);
  }
  if (config.servers_expected == 0 || config.servers_expected > kMaxServers) {
    return InvalidArgument("expected servers: {}, must be 1 to {}", config.servers_expected,
                           kMaxServers);
  }
  return absl::OkStatus();
}

absl::Status CheckSameCluster(const CoreConfig& config, const ClusterState& stored) {
  const bool same = (config.cluster.empty() || config.cluster == stored.cluster) &&
                    config.slot_count == stored.slot_count &&
                    config.servers_expected == stored.servers_expected;
  if (same) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                   "the stored cluster is {} with {} slots and {} servers, configured are {} slots "
                   "and {} servers; use the stored numbers, or another directory for a new cluster",
                   stored.cluster, stored.slot_count, stored.servers_expected, config.slot_count,
                   config.servers_expected);
}

}  // namespace

CoordinatorCore::CoordinatorCore(const ClusterState& cluster, OptimizerCheck check_optimizer,
                                 Random& random, MonotonicTime now)
    : cluster_(cluster),
      random_(random),
      queues_(cluster.term),
      registry_(cluster.cluster, cluster.slot_count, cluster.servers_expected),
      catalog_(std::move(check_optimizer)),
      last_timer_(now) {}

absl::StatusOr<std::unique_ptr<CoordinatorCore>> CoordinatorCore::Start(
    const CoreConfig& config, StoredState stored, OptimizerCheck check_optimizer, Random& random,
    MonotonicTime now, Effects& effects) {
  RETURN_IF_ERROR(CheckConfig(config));
  ClusterState cluster;
  if (stored.cluster) {
    cluster = *stored.cluster;
    RETURN_IF_ERROR(CheckSameCluster(config, cluster));
  } else {
    cluster.cluster = config.cluster;
    if (cluster.cluster.empty()) cluster.cluster = fmt::format("{:016x}", random.Next());
    cluster.slot_count = config.slot_count;
    cluster.servers_expected = config.servers_expected;
  }
  ++cluster.term;
  std::unique_ptr<CoordinatorCore> core(
      new CoordinatorCore(cluster, std::move(check_optimizer), random, now));
  core->Restore(std::move(stored), now);
  core->PersistCluster(effects);
  return core;
}

void CoordinatorCore::Restore(StoredState stored, MonotonicTime now) {
  catalog_.Restore(cluster_.next_ids);
  for (ServerEntry& server : stored.servers) registry_.RestoreServer(std::move(server));
  if (stored.map) registry_.RestoreMap(std::move(*stored.map));
  for (Job& job : stored.jobs) catalog_.Restore(std::move(job));
  for (Table& table : stored.tables) catalog_.Restore(std::move(table));
  Effects nothing;  // no queue is started yet, so nothing can be sent
  for (Session& restored : stored.sessions) {
    if (!catalog_.jobs().contains(restored.job)) continue;
    restored.lease = catalog_.At(restored.job).info.spec.lease;
    if (restored.state == SessionState::kLive) restored.lease_end = now + restored.lease;  // C7
    Session& session = book_.Add(std::move(restored));
    if (session.over()) AddOperation(MakeFence(session, now, nothing), now, nothing);
  }
}

void CoordinatorCore::PersistCluster(Effects& effects) {
  cluster_.next_ids = catalog_.next_ids();
  effects.persist[ClusterKey()] = Encode(cluster_);
}

// --- Commands and what waits for them ---------------------------------------------------------

void CoordinatorCore::Broadcast(const CommandBody& body, Operation* operation, MonotonicTime now,
                                Effects& effects) {
  for (const auto& [id, server] : registry_.servers()) {
    if (!queues_.started(id)) continue;
    const uint64_t number = queues_.Add(id, body, now, effects.commands);
    if (operation != nullptr) operation->waiting[id] = number;
  }
}

void CoordinatorCore::AddOperation(Operation operation, MonotonicTime now, Effects& effects) {
  if (operation.waiting.empty()) return FinishOperation(std::move(operation), now, effects);
  operations_.emplace(next_operation_++, std::move(operation));
}

void CoordinatorCore::FinishDone(MonotonicTime now, Effects& effects) {
  for (auto it = operations_.begin(); it != operations_.end();) {
    if (!it->second.waiting.empty()) {
      ++it;
      continue;
    }
    const uint64_t id = it->first;
    Operation done = std::move(it->second);
    operations_.erase(it);
    FinishOperation(std::move(done), now, effects);
    it = operations_.upper_bound(id);  // finishing may have begun and removed others
  }
}

void CoordinatorCore::FinishOperation(Operation operation, MonotonicTime now, Effects& effects) {
  if (operation.kind == Operation::Kind::kSpread) {
    if (!operation.error.ok()) {
      effects.answers.push_back({operation.request, operation.error});
    } else {
      effects.answers.push_back({operation.request, catalog_.tables().at(operation.table).info});
    }
    return;
  }
  Session* const session = book_.Find(operation.session);
  if (session == nullptr) return;
  if (operation.kind == Operation::Kind::kFence) return OnFenced(*session, now, effects);
  if (session->over()) return;
  if (!operation.error.ok()) {
    return Fence(*session, SessionState::kFencing, operation.error, now, effects);
  }
  if (operation.kind == Operation::Kind::kInstall) {
    return OnInstalled(*session, operation, now, effects);
  }
  GoLive(*session, now, effects);
}

void CoordinatorCore::OnCommandReply(ServerId server, const Command& command,
                                     const CommandReply& reply, MonotonicTime now,
                                     Effects& effects) {
  if (!queues_.OnReply(server, command, reply, now, effects.commands)) return;
  for (auto& [id, operation] : operations_) {
    const auto it = operation.waiting.find(server);
    if (it == operation.waiting.end() || it->second == 0 || it->second > command.number) continue;
    if (it->second == command.number) {
      operation.clock = std::max(operation.clock, reply.clock);
      if (operation.error.ok() && !reply.status.ok()) {
        operation.error =
            Annotate(reply.status, fmt::format("server {}", registry_.Find(server)->entry.name));
      }
    }
    operation.waiting.erase(it);
  }
  FinishDone(now, effects);
}

std::string CoordinatorCore::Describe(const std::map<ServerId, uint64_t>& waiting,
                                      MonotonicTime now) const {
  std::string text;
  for (const auto& [id, number] : waiting) {
    const ServerRegistry::Server* const server = registry_.Find(id);
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - server->heard);
    text += fmt::format(" {} ({}, last heard of {} ms ago)", server->entry.name,
                        server->entry.endpoint, server->registered ? age.count() : -1);
  }
  return text;
}

void CoordinatorCore::ExpireOperations(MonotonicTime now, Effects& effects) {
  for (auto it = operations_.begin(); it != operations_.end();) {
    const Operation& operation = it->second;
    if (operation.deadline > now) {
      ++it;
      continue;
    }
    effects.answers.push_back(
        {operation.request,
         MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                   "not acknowledged yet by{}; it is kept and will be; ask again",
                   Describe(operation.waiting, now))});
    it = operations_.erase(it);
  }
}

// --- Servers ----------------------------------------------------------------------------------

absl::StatusOr<RegisterResult> CoordinatorCore::RegisterServer(const RegisterRequest& request,
                                                               MonotonicTime now,
                                                               Effects& effects) {
  ASSIGN_OR_RETURN(const ServerRegistry::Registration done, registry_.Register(request, now));
  const ServerEntry& entry = registry_.Find(done.id)->entry;
  if (done.new_boot || done.new_endpoint) effects.persist[KeyOf(entry)] = Encode(entry);
  if (done.map_changed) effects.persist[MapKey()] = Encode(*registry_.map());
  if (done.new_boot) OnNewBoot(done.id, now, effects);
  if (!done.first && done.new_endpoint && queues_.started(done.id)) {
    queues_.SetEndpoint(done.id, entry.endpoint);
  }
  for (const auto& [id, server] : registry_.servers()) {
    if (registry_.map() == nullptr || !server.registered) continue;
    if (done.map_completed || (done.first && id == done.id)) {
      SendState(id, now, effects);
    } else if (done.map_changed && queues_.started(id)) {
      queues_.Add(id, SendMap{registry_.map()}, now, effects.commands);
    }
  }
  FinishDone(now, effects);
  return RegisterResult{done.id, cluster_.cluster, cluster_.term, kServerHeartbeat};
}

// Starts the numbering for a new boot of a server, or for a new term, with all that it must know.
void CoordinatorCore::SendState(ServerId server, MonotonicTime now, Effects& effects) {
  const ServerEntry& entry = registry_.Find(server)->entry;
  queues_.Start(server, entry.boot, entry.endpoint);
  auto send = [&](CommandBody body) {
    return queues_.Add(server, std::move(body), now, effects.commands);
  };
  send(SendMap{registry_.map()});
  for (const auto& [id, job] : catalog_.jobs()) {
    send(DeclareJob{job.info});
    if (job.info.state == JobState::kFailed) {
      send(coordinator::FailJob{id, job.info.failure});
    }
  }
  for (const auto& [id, table] : catalog_.tables()) {
    send(coordinator::CreateTable{table.info});
    // The server may know the table since before its optimizer was set.
    if (!table.info.spec.optimizer.name.empty()) send(coordinator::SetOptimizer{table.info});
    for (const ChangeLearningRate& rate : table.rates) send(rate);
  }
  for (auto& [number, operation] : operations_) {
    const auto it = operation.waiting.find(server);
    if (it == operation.waiting.end()) continue;
    if (operation.kind == Operation::Kind::kSpread) {
      it->second = queues_.last(server);
    } else if (operation.kind == Operation::Kind::kFence) {
      const Session* const session = book_.Find(operation.session);
      if (session != nullptr && session->installed_on.at(server) == entry.boot) {
        it->second = send(FenceSession{operation.session});
      } else {
        operation.waiting.erase(it);  // that process is gone, and the session with it
      }
    }
  }
}

// Without a journal the server's state is gone: its sessions are lost, and the declared ranks must
// all join again before anyone reads there (C5).
void CoordinatorCore::OnNewBoot(ServerId server, MonotonicTime now, Effects& effects) {
  const ServerEntry& entry = registry_.Find(server)->entry;
  std::vector<SessionId> lost;
  for (const auto& [id, session] : book_.sessions()) {
    const auto it = session.installed_on.find(server);
    if (!session.over() && it != session.installed_on.end() && it->second != entry.boot) {
      lost.push_back(id);
    }
  }
  for (SessionId id : lost) {
    Session& session = *book_.Find(id);
    LoseRank(session, fmt::format("server {} restarted without its state", entry.name), now,
             effects);
    Fence(session, SessionState::kLost,
          MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                    "server {} restarted while the session was opened; open it again", entry.name),
          now, effects);
  }
  for (auto& [id, job] : catalog_.jobs()) {
    if (job.joined.empty() || job.info.state == JobState::kFailed) continue;
    job.joined.clear();
    job.info.ranks_joined = 0;
    job.info.state = JobState::kStarting;
    job.start_deadline = MonotonicTime::Max();
    effects.persist[KeyOf(job)] = Encode(job);
  }
}

bool CoordinatorCore::ServerHeartbeat(ServerId server, uint64_t boot, MonotonicTime now) {
  return registry_.Heartbeat(server, boot, now);
}

// --- Jobs and tables --------------------------------------------------------------------------

absl::StatusOr<JobInfo> CoordinatorCore::CreateJob(JobSpec spec, MonotonicTime now,
                                                   Effects& effects) {
  ASSIGN_OR_RETURN(const auto made, catalog_.CreateJob(std::move(spec)));
  const Job& job = *made.first;
  if (made.second) {
    PersistCluster(effects);
    effects.persist[KeyOf(job)] = Encode(job);
    Broadcast(DeclareJob{job.info}, nullptr, now, effects);
  }
  return job.info;
}

std::vector<JobInfo> CoordinatorCore::ListJobs() {
  std::vector<JobInfo> list;
  for (const auto& [id, job] : catalog_.jobs()) list.push_back(job.info);
  return list;
}

void CoordinatorCore::FailJob(Job& job, const std::string& reason, MonotonicTime now,
                              Effects& effects) {
  if (job.info.state == JobState::kFailed) return;
  job.info.state = JobState::kFailed;
  job.info.failure = reason;
  job.start_deadline = MonotonicTime::Max();
  effects.persist[KeyOf(job)] = Encode(job);
  Broadcast(coordinator::FailJob{job.info.id, reason}, nullptr, now, effects);
}

bool CoordinatorCore::Busy(RequestId request, Effects& effects) {
  absl::Status status = registry_.CheckAllPresent();
  if (status.ok() &&
      (operations_.size() >= kMaxWaitingRequests || queues_.depth() >= kMaxQueuedCommands)) {
    status = MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                       "the coordinator has too many requests that wait for servers; retry later");
  }
  if (status.ok()) return false;
  effects.answers.push_back({request, std::move(status)});
  return true;
}

void CoordinatorCore::Spread(RequestId request, TableId table, const CommandBody& body,
                             MonotonicTime now, Effects& effects) {
  const Table& made = catalog_.tables().at(table);
  PersistCluster(effects);
  effects.persist[KeyOf(made)] = Encode(made);
  Operation operation;
  operation.request = request;
  operation.table = table;
  operation.deadline = now + kServersAnswerTimeout;
  Broadcast(body, &operation, now, effects);
  AddOperation(std::move(operation), now, effects);
}

// A repeated request is spread again: servers take a known table as no change, and the answer then
// still means that every server knows it.
void CoordinatorCore::CreateTable(RequestId request, const std::string& job, const TableSpec& spec,
                                  MonotonicTime now, Effects& effects) {
  if (Busy(request, effects)) return;
  const auto made = catalog_.CreateTable(job, spec);
  if (!made.ok()) return effects.answers.push_back({request, made.status()});
  const TableInfo& info = made->first->info;
  Spread(request, info.id, coordinator::CreateTable{info}, now, effects);
}

void CoordinatorCore::SetOptimizer(RequestId request, const std::string& job,
                                   const std::string& table, const OptimizerSpec& optimizer,
                                   MonotonicTime now, Effects& effects) {
  if (Busy(request, effects)) return;
  const auto set = catalog_.SetOptimizer(job, table, optimizer);
  if (!set.ok()) return effects.answers.push_back({request, set.status()});
  const TableInfo& info = set->first->info;
  Spread(request, info.id, coordinator::SetOptimizer{info}, now, effects);
}

void CoordinatorCore::ChangeRate(RequestId request, const std::string& job,
                                 const std::string& table, Clock from_clock, double learning_rate,
                                 MonotonicTime now, Effects& effects) {
  if (Busy(request, effects)) return;
  const auto changed = catalog_.ChangeRate(job, table, from_clock, learning_rate);
  if (!changed.ok()) return effects.answers.push_back({request, changed.status()});
  Spread(request, (*changed)->info.id, (*changed)->rates.back(), now, effects);
}

absl::StatusOr<TableInfo> CoordinatorCore::DescribeTable(const std::string& job,
                                                         const std::string& name) {
  ASSIGN_OR_RETURN(const Table* const table, catalog_.FindTable(job, name));
  return table->info;
}

std::vector<TableInfo> CoordinatorCore::ListTables() const {
  std::vector<TableInfo> list;
  for (const auto& [id, table] : catalog_.tables()) list.push_back(table.info);
  return list;
}

// --- Time -------------------------------------------------------------------------------------

void CoordinatorCore::OnTimer(MonotonicTime now, Effects& effects) {
  if (now - last_timer_ > kCoordinatorAway) {
    for (auto& [id, session] : book_.sessions()) {
      if (session.state == SessionState::kLive) session.lease_end = now + session.lease;  // C7
    }
  }
  last_timer_ = now;
  queues_.OnTimer(now, effects.commands);
  ExpireLeases(now, effects);
  ExpireStarts(now, effects);
  ExpireWaiters(now, effects);
  ExpireOperations(now, effects);
}

}  // namespace syncline::coordinator
