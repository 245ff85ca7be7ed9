// The coordinator: who is in the cluster, which tables and jobs exist, and who may train.
#ifndef SYNCLINE_SERVER_COORDINATOR_COORDINATOR_CORE_H_
#define SYNCLINE_SERVER_COORDINATOR_COORDINATOR_CORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/limits.h"
#include "common/random.h"
#include "common/table_spec.h"
#include "common/time_source.h"
#include "common/types.h"
#include "server/coordinator/catalog.h"
#include "server/coordinator/command_queues.h"
#include "server/coordinator/coordinator_types.h"
#include "server/coordinator/piece_ledger.h"
#include "server/coordinator/records.h"
#include "server/coordinator/server_registry.h"
#include "server/coordinator/session_book.h"

namespace syncline::coordinator {

struct CoreConfig {
  std::string cluster;  // empty: the stored one, or a random one for a new cluster
  uint32_t slot_count = kDefaultSlotCount;
  uint32_t servers_expected = 1;
};

// Single-threaded, no I/O, no time of its own: a message or a timer comes in with the time, effects
// go out (Effects says in which order its caller carries them out). Off the data path.
//
// Rules it enforces (PROTOCOL.md): S1 (numbered commands; a rank's new session is installed only
// after every server has acknowledged the old one's fence), C5 (join in two steps; the start
// barrier's start_timeout), C6 (leases, fences, reproducible jobs), C7 (full leases after an
// absence), D1 and D2 (leased pieces), J4 (a server's new boot raises its slots' incarnations; its
// sessions are lost).
//
// Durable: cluster, jobs, tables, ids, tokens, server names, map, sessions, the term (raised at
// every start). In memory: heartbeats, reports, pieces, notes of ended sessions.
//
// Requests whose answer needs the servers take a RequestId and answer through Effects::answers,
// exactly once, within kServersAnswerTimeout; the others answer at once.
class CoordinatorCore {
 public:
  // `stored`: what an earlier coordinator wrote. `random` outlives the core.
  // Errors: INVALID_ARGUMENT (config), FAILED_PRECONDITION (the stored cluster has another name,
  // slot count or number of servers).
  static absl::StatusOr<std::unique_ptr<CoordinatorCore>> Start(const CoreConfig& config,
                                                                StoredState stored,
                                                                OptimizerCheck check_optimizer,
                                                                Random& random, MonotonicTime now,
                                                                Effects& effects);

  uint64_t term() const { return cluster_.term; }
  const std::string& cluster() const { return cluster_.cluster; }

  // --- Jobs and tables. Errors of the lists below come from Catalog.
  MapView GetMap() const { return registry_.View(); }
  absl::StatusOr<JobInfo> CreateJob(JobSpec spec, MonotonicTime now, Effects& effects);
  std::vector<JobInfo> ListJobs();
  // Answered when every server knows the table. Also UNAVAILABLE (servers missing or silent).
  void CreateTable(RequestId request, const std::string& job, const TableSpec& spec,
                   MonotonicTime now, Effects& effects);
  void SetOptimizer(RequestId request, const std::string& job, const std::string& table,
                    const OptimizerSpec& optimizer, MonotonicTime now, Effects& effects);
  void ChangeRate(RequestId request, const std::string& job, const std::string& table,
                  Clock from_clock, double learning_rate, MonotonicTime now, Effects& effects);
  absl::StatusOr<TableInfo> DescribeTable(const std::string& job, const std::string& name);
  std::vector<TableInfo> ListTables() const;

  // --- Sessions.
  // Answered when every server has installed the session and its clock is set (C5).
  // Errors: NOT_FOUND (job), ABORTED (JOB_FAILED), ALREADY_EXISTS (the rank is held),
  // FAILED_PRECONDITION (the job declares no ranks), INVALID_ARGUMENT, RESOURCE_EXHAUSTED,
  // UNAVAILABLE (servers missing, silent or restarted: retry with the same nonce).
  void OpenSession(RequestId request, const JoinRequest& join, MonotonicTime now, Effects& effects);
  // Renews the lease. Errors: NOT_FOUND (SESSION_UNKNOWN, FENCED, SESSION_LOST), PERMISSION_DENIED.
  absl::StatusOr<HeartbeatResult> Heartbeat(const SessionKey& key, const WorkerReport& report,
                                            MonotonicTime now);
  // Idempotent. The client has left every slot before (S4). Errors: as Heartbeat.
  absl::Status CloseSession(const SessionKey& key, MonotonicTime now, Effects& effects);
  std::vector<SessionInfo> ListSessions(bool include_ended, MonotonicTime now);

  // --- Leased pieces. Errors: PieceLedger's; NOT_FOUND (job, session); FAILED_PRECONDITION (the
  // job is reproducible and reads static pieces).
  absl::Status OpenPass(const std::string& job, uint64_t pass, uint64_t pieces);
  absl::StatusOr<PieceLease> LeasePiece(const std::string& job, uint64_t pass, SessionId session);
  absl::Status ReportPiece(const std::string& job, uint64_t pass, uint64_t piece,
                           SessionId session);

  // --- Servers. Errors: ServerRegistry's.
  absl::StatusOr<RegisterResult> RegisterServer(const RegisterRequest& request, MonotonicTime now,
                                                Effects& effects);
  // False: the server must register again.
  bool ServerHeartbeat(ServerId server, uint64_t boot, MonotonicTime now);
  std::vector<ServerInfo> ListServers(MonotonicTime now) const { return registry_.List(now); }
  // The answer to `command`, or why none came (UNAVAILABLE). Repeated and late ones are ignored.
  void OnCommandReply(ServerId server, const Command& command, const CommandReply& reply,
                      MonotonicTime now, Effects& effects);

  // --- Time. Called every kCoordinatorTick. A gap above kCoordinatorAway counts as an absence.
  void OnTimer(MonotonicTime now, Effects& effects);

 private:
  // Something that every server must acknowledge.
  struct Operation {
    enum class Kind { kInstall, kSetClock, kFence, kSpread };
    Kind kind = Kind::kSpread;
    SessionId session;                     // install, set, fence
    std::map<ServerId, uint64_t> waiting;  // number to be acknowledged; 0: sent at registration
    Clock clock{0};                        // install: the greatest answer
    absl::Status error;                    // the first
    RequestId request = 0;                 // spread: whom to answer
    TableId table;
    MonotonicTime deadline = MonotonicTime::Max();
  };

  CoordinatorCore(const ClusterState& cluster, OptimizerCheck check_optimizer, Random& random,
                  MonotonicTime now);

  // coordinator_core.cc
  void Restore(StoredState stored, MonotonicTime now);
  void PersistCluster(Effects& effects);
  void Broadcast(const CommandBody& body, Operation* operation, MonotonicTime now,
                 Effects& effects);
  void Spread(RequestId request, TableId table, const CommandBody& body, MonotonicTime now,
              Effects& effects);
  void AddOperation(Operation operation, MonotonicTime now, Effects& effects);
  void FinishOperation(Operation operation, MonotonicTime now, Effects& effects);
  void FinishDone(MonotonicTime now, Effects& effects);
  void SendState(ServerId server, MonotonicTime now, Effects& effects);
  void OnNewBoot(ServerId server, MonotonicTime now, Effects& effects);
  void FailJob(Job& job, const std::string& reason, MonotonicTime now, Effects& effects);
  bool Busy(RequestId request, Effects& effects);
  std::string Describe(const std::map<ServerId, uint64_t>& waiting, MonotonicTime now) const;
  void ExpireOperations(MonotonicTime now, Effects& effects);

  // coordinator_sessions.cc
  absl::StatusOr<Session*> FindOrAddSession(const JoinRequest& join, MonotonicTime now,
                                            Effects& effects);
  absl::StatusOr<Rank> ChooseRank(const Job& job, const JoinRequest& join);
  absl::Status MakeRoom(const Job& job, const JoinRequest& join, Rank rank, MonotonicTime now,
                        Effects& effects);
  Session& AddSession(const Job& job, const JoinRequest& join, Rank rank, Effects& effects);
  void StartWhenFenced(JobId job, Rank rank, MonotonicTime now, Effects& effects);
  void StartInstall(Session& session, MonotonicTime now, Effects& effects);
  void OnInstalled(Session& session, const Operation& operation, MonotonicTime now,
                   Effects& effects);
  void GoLive(Session& session, MonotonicTime now, Effects& effects);
  // Ends a session that is not over: kFencing or kLost. `why` answers its waiters.
  void Fence(Session& session, SessionState state, const absl::Status& why, MonotonicTime now,
             Effects& effects);
  void OnFenced(Session& session, MonotonicTime now, Effects& effects);
  void LoseRank(const Session& session, std::string_view why, MonotonicTime now, Effects& effects);
  Operation MakeFence(const Session& session, MonotonicTime now, Effects& effects);
  void AnswerWaiters(Session& session, const absl::Status& status, Effects& effects);
  JoinResult MakeJoinResult(const Session& session);
  SessionInfo Describe(const Session& session, MonotonicTime now);
  void ExpireLeases(MonotonicTime now, Effects& effects);
  void ExpireStarts(MonotonicTime now, Effects& effects);
  std::string WaitsFor(SessionId session, MonotonicTime now) const;
  void ExpireWaiters(MonotonicTime now, Effects& effects);
  absl::Status CheckReader(const Job& job, SessionId session);

  ClusterState cluster_;
  Random& random_;
  CommandQueues queues_;
  ServerRegistry registry_;
  Catalog catalog_;
  SessionBook book_;
  PieceLedger pieces_;
  std::map<uint64_t, Operation> operations_;  // in the order begun
  uint64_t next_operation_ = 1;
  MonotonicTime last_timer_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COORDINATOR_CORE_H_
