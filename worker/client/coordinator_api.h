// What a client asks the coordinator: the control plane behind a seam.
#ifndef SYNCLINE_WORKER_CLIENT_COORDINATOR_API_H_
#define SYNCLINE_WORKER_CLIENT_COORDINATOR_API_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "common/types.h"
#include "worker/client/client_options.h"

namespace syncline {

struct OpenSessionCall {
  std::string job;
  bool clocked = false;
  Rank rank = kNoRank;
  bool take_over = false;
  std::string client;
  std::string nonce;  // the same in retries: the same answer comes back
};

struct SessionGrant {
  SessionId session;
  Token token;
  Rank rank = kNoRank;
  Clock clock;
  std::chrono::milliseconds lease{0};
  JobId job;
  uint32_t ranks = 0;
  SlotMap map;
};

struct SessionReport {
  Clock clock;
  double step_seconds = 0;
  double wait_ratio = 0;
  double samples_per_second = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

struct HeartbeatAnswer {
  Epoch epoch;
  std::chrono::milliseconds lease{0};
  absl::Status job_error;
};

// Thread-safe; every call blocks at most `deadline` and may be repeated.
// Errors: those of proto/coordinator.proto, with UNAVAILABLE and DEADLINE_EXCEEDED naming the
// endpoint.
class CoordinatorApi {
 public:
  using Millis = std::chrono::milliseconds;
  virtual ~CoordinatorApi() = default;

  virtual const std::string& endpoint() const = 0;
  virtual absl::Status CreateJob(const JobOptions& job, Millis deadline) = 0;
  virtual absl::StatusOr<SessionGrant> OpenSession(const OpenSessionCall& call,
                                                   Millis deadline) = 0;
  virtual absl::StatusOr<HeartbeatAnswer> Heartbeat(SessionId session, Token token,
                                                    const SessionReport& report,
                                                    Millis deadline) = 0;
  virtual absl::Status CloseSession(SessionId session, Token token, Millis deadline) = 0;
  // UNAVAILABLE while servers are missing.
  virtual absl::StatusOr<SlotMap> GetMap(Millis deadline) = 0;

  virtual absl::StatusOr<TableInfo> CreateTable(const std::string& job, const TableSpec& spec,
                                                Millis deadline) = 0;
  virtual absl::StatusOr<TableInfo> DescribeTable(const std::string& job, const std::string& name,
                                                  Millis deadline) = 0;
  virtual absl::StatusOr<std::vector<TableInfo>> ListTables(Millis deadline) = 0;
  virtual absl::StatusOr<TableInfo> SetOptimizer(const std::string& job, const std::string& table,
                                                 const OptimizerSpec& optimizer,
                                                 Millis deadline) = 0;
  virtual absl::Status ChangeLearningRate(const std::string& job, const std::string& table,
                                          Clock from_clock, double learning_rate,
                                          Millis deadline) = 0;

  virtual absl::Status OpenPass(const std::string& job, uint64_t pass, uint64_t pieces,
                                Millis deadline) = 0;
  struct Piece {
    bool pass_closed = false;
    std::optional<uint64_t> piece;
  };
  virtual absl::StatusOr<Piece> LeasePiece(const std::string& job, uint64_t pass, SessionId session,
                                           Millis deadline) = 0;
  virtual absl::Status ReportPiece(const std::string& job, uint64_t pass, uint64_t piece,
                                   SessionId session, Millis deadline) = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_COORDINATOR_API_H_
