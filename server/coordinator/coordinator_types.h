// The values that the coordinator's core takes and gives: twins of coordinator.proto's messages.
#ifndef SYNCLINE_SERVER_COORDINATOR_COORDINATOR_TYPES_H_
#define SYNCLINE_SERVER_COORDINATOR_COORDINATOR_TYPES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "common/types.h"

namespace syncline::coordinator {

// --- Jobs and sessions ------------------------------------------------------------------------
struct JobSpec {
  std::string name;
  int32_t ranks = 0;  // declared ranks 0..ranks-1; 0: no clocked session may join
  bool reproducible = false;
  std::chrono::milliseconds start_timeout{0};  // 0: kDefaultStartTimeout
  std::chrono::milliseconds lease{0};          // 0: kDefaultLease
  bool operator==(const JobSpec&) const = default;
};

enum class JobState { kStarting = 1, kRunning = 2, kFailed = 3 };

struct JobInfo {
  JobId id;
  JobSpec spec;
  JobState state = JobState::kStarting;
  std::string failure;
  int32_t ranks_joined = 0;
};

// What a client shows to prove that a session is its own.
struct SessionKey {
  SessionId id;
  Token token;
  Principal principal;
};

struct JoinRequest {
  std::string job;
  bool clocked = false;
  Rank rank = kNoRank;  // kNoRank: the lowest free one
  bool take_over = false;
  std::string client;
  std::string nonce;
  Principal principal;
};

struct MapView {
  std::string cluster;
  uint32_t slot_count = 0;
  uint32_t servers_expected = 0;
  std::vector<ServerEntry> servers;    // registered so far
  std::shared_ptr<const SlotMap> map;  // null: not complete yet
};

struct JoinResult {
  SessionId session;
  Token token;
  Rank rank = kNoRank;
  Clock clock;
  std::chrono::milliseconds lease{0};
  JobInfo job;
  MapView map;
};

struct WorkerReport {
  Clock clock;
  double step_seconds = 0;
  double wait_ratio = 0;
  double samples_per_second = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

struct HeartbeatResult {
  Epoch epoch;
  std::chrono::milliseconds lease{0};
  absl::Status job_error;
};

// opening: not told to its client yet. live. fencing, then fenced: its lease ended or it was taken
// over; the servers are being told. lost: a server restarted without its state. left: closed.
enum class SessionState { kOpening, kLive, kFencing, kFenced, kLost, kLeft };
std::string_view SessionStateName(SessionState state);

struct SessionInfo {
  SessionId id;
  JobId job;
  std::string job_name;
  Rank rank = kNoRank;
  bool clocked = false;
  std::string client;
  Principal principal;
  WorkerReport report;
  std::chrono::milliseconds lease_left{0};
  SessionState state = SessionState::kOpening;
};

// --- Servers ----------------------------------------------------------------------------------
struct RegisterRequest {
  std::string name;
  std::string endpoint;
  uint64_t boot = 0;
  std::string version;
};

struct RegisterResult {
  ServerId server;
  std::string cluster;
  uint64_t term = 0;
  std::chrono::milliseconds heartbeat{0};
};

struct ServerInfo {
  ServerEntry address;
  uint32_t slots = 0;
  std::chrono::milliseconds heartbeat_age{0};
  bool live = false;
  std::string version;
};

// --- Commands to servers (S1) -----------------------------------------------------------------
struct SendMap {
  std::shared_ptr<const SlotMap> map;
};
struct DeclareJob {
  JobInfo job;
};
struct CreateTable {
  TableInfo table;
};
struct InstallSession {
  SessionId id;
  Token token;
  JobId job;
  Rank rank = kNoRank;
  bool clocked = false;
  Principal principal;
  Clock clock;  // join clock asked for
};
struct SetSessionClock {
  SessionId id;
  Clock clock;
};
struct FenceSession {
  SessionId id;
};
struct FailJob {
  JobId job;
  std::string reason;
};
struct SetOptimizer {
  TableInfo table;
};
struct ChangeLearningRate {
  TableId table;
  Clock from_clock;
  double learning_rate = 0;
};
using CommandBody = std::variant<SendMap, DeclareJob, CreateTable, InstallSession, SetSessionClock,
                                 FenceSession, FailJob, SetOptimizer, ChangeLearningRate>;

struct Command {
  uint64_t term = 0;
  uint64_t boot = 0;
  uint64_t number = 0;  // 1, 2, 3, ... without gaps per (term, boot)
  CommandBody body;
};

struct CommandReply {
  // The newest number that the server has applied for the command's term and boot. Below the
  // command's number: it was not applied, or that is not known; send it again.
  uint64_t last = 0;
  Clock clock;  // install: the greatest clock that a slot gave the session
  // The result of an applied command (an error is final: repeating it gives the same), or why it
  // was not applied.
  absl::Status status;
};

struct Dispatch {
  ServerId server;
  std::string endpoint;
  Command command;
};

// --- Effects ----------------------------------------------------------------------------------
// Names a request whose answer comes later; chosen by the caller, unique while it waits.
using RequestId = uint64_t;

struct Answer {
  RequestId request = 0;
  absl::StatusOr<std::variant<JoinResult, TableInfo>> body;
};

// What a call asks its caller to do, in this order: make `persist` durable, all of it together;
// then send the commands and the answers. nullopt in `persist`: delete the key.
struct Effects {
  std::map<std::string, std::optional<std::string>> persist;
  std::vector<Dispatch> commands;
  std::vector<Answer> answers;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COORDINATOR_TYPES_H_
