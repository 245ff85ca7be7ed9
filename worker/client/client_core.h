// The client's side of the protocol as a single-threaded core without I/O.
#ifndef SYNCLINE_WORKER_CLIENT_CLIENT_CORE_H_
#define SYNCLINE_WORKER_CLIENT_CLIENT_CORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "common/random.h"
#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "common/time_source.h"
#include "common/types.h"
#include "worker/client/client_options.h"
#include "worker/client/messages.h"
#include "worker/client/operations.h"
#include "worker/client/pull_plan.h"
#include "worker/client/rows.h"

namespace syncline {

struct CoreOptions {
  CodecId pull_codec = CodecId::kFp32;
  CodecId push_codec = CodecId::kFp32;
  std::chrono::nanoseconds call_deadline = kDefaultCallDeadline;
  std::chrono::nanoseconds reply_timeout = kDefaultReplyTimeout;
  std::chrono::nanoseconds backoff_min = kReconnectBackoffMin;
  std::chrono::nanoseconds backoff_max = kReconnectBackoffMax;
  size_t max_bytes_in_flight = kClientBytesInFlight;
  uint64_t seed = 1;  // of the jitter in backoffs
  // Numbers of connections start above this, so that events of an earlier core's are not taken for
  // this one's.
  uint64_t connections_before = 0;
};

struct CoreSession {
  SessionId session;
  Token token;
  Rank rank = kNoRank;
  bool clocked = false;
  Clock clock;
  SlotMap map;
};

// What a call asks its caller to do, in this order.
struct ClientEffects {
  struct Connect {
    ServerId server;
    std::string endpoint;
    uint64_t connection = 0;
  };
  struct Send {
    ServerId server;
    OutFrame frame;
  };
  struct Completion {
    Done done;
    absl::Status status;
  };
  std::vector<ServerId> disconnects;
  std::vector<Connect> connects;
  std::vector<Send> frames;
  std::vector<Completion> completions;
  bool refresh_map = false;  // ask the coordinator for the map, and call OnMap
  // A server says FENCED: ask the coordinator why (Heartbeat), and call EndSession.
  bool confirm_end = false;
};

// One session. Pure: no I/O, no time of its own, no threads; calls never overlap, and every effect
// is in TakeEffects. The same calls in the same order have the same effects.
//
// Exactly once: an operation gets its number in each slot when it is issued, is sent under it until
// an outcome arrives, and a slot decides a number once (S2, S3). In a slot the newest number sent
// and the oldest without an outcome differ by less than kOutcomeWindow (S4); later ones wait here.
class ClientCore {
 public:
  ClientCore(const CoreOptions& options, const CoreSession& session);
  ~ClientCore();
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  // --- Calls of the API; semantics in ps_client.h. Each ends with exactly one completion.
  void Push(const TableInfo& table, std::span<const Key> keys, RowsIn gradients, uint64_t samples,
            Done done, MonotonicTime now);
  void PushBags(const TableInfo& table, std::span<const Key> keys,
                std::span<const uint32_t> offsets, Pooling pooling, RowsIn gradients,
                uint64_t samples, Done done, MonotonicTime now);
  void Pull(const TableInfo& table, std::span<const Key> keys, RowsOut out,
            const PullOptions& options, Done done, MonotonicTime now);
  void PullBags(const TableInfo& table, std::span<const Key> keys,
                std::span<const uint32_t> offsets, Pooling pooling, RowsOut out,
                const PullOptions& options, Done done, MonotonicTime now);
  void PullDense(const TableInfo& table, uint64_t first, std::span<float> values,
                 const PullOptions& options, Done done, MonotonicTime now);
  void PushDense(const TableInfo& table, uint64_t first, std::span<const float> gradients,
                 uint64_t samples, Done done, MonotonicTime now);
  void Tick(uint64_t samples, std::string_view reader_position, Done done, MonotonicTime now);
  // Leaves in every slot once every operation issued before is decided (S4); no operation may
  // follow.
  void Leave(Done done, MonotonicTime now);

  // --- Events.
  void OnConnected(ServerId server, uint64_t connection, MonotonicTime now);
  void OnDisconnected(ServerId server, uint64_t connection, const absl::Status& why,
                      MonotonicTime now);
  void OnFrame(ServerId server, uint64_t connection, const InFrame& frame, MonotonicTime now);
  void OnMap(const SlotMap& map, MonotonicTime now);
  // The session is over: every pending call fails with `why`, later ones too. The first reason
  // stays.
  void EndSession(const absl::Status& why);
  void OnTimer(MonotonicTime now);
  // The coordinator knew no better reason for the end that an effect asked it to confirm.
  void EndAsTold();
  // When OnTimer has something to do; Max when never.
  MonotonicTime NextTimer() const;

  ClientEffects TakeEffects();

  // --- What it is.
  Clock clock() const { return clock_; }
  const CoreSession& session() const { return session_; }
  const absl::Status& ended() const { return ended_; }  // OK: live
  const SlotMap& map() const { return session_.map; }
  OperationHeader HeaderFor(Clock clock) const;
  size_t undecided_operations() const { return undecided_; }
  size_t undecided_bytes() const { return undecided_bytes_; }
  size_t open_pulls() const { return open_pulls_; }
  ClientStats stats(MonotonicTime now) const;

 private:
  struct Server;
  struct PullCall;
  struct PullRequest;
  struct InFlight;
  using PullRequestPtr = std::shared_ptr<PullRequest>;

  // client_core.cc: calls, sessions, timers.
  bool Refuse(const Done& done);
  std::shared_ptr<Call> NewCall(CallKind kind, std::string what, Done done);
  void Complete(const std::shared_ptr<Call>& call, const absl::Status& status);
  void IssuePush(const TableInfo& table, absl::StatusOr<std::vector<PushContent>> contents,
                 uint64_t samples, Done done);
  void Issue(const std::shared_ptr<const Bundle>& bundle, SlotId slot, const PushPartPlan* part);
  void IssueInEverySlot(const std::shared_ptr<Bundle>& bundle);
  void IssueLeaveWhenDecided();
  void StartPull(const TableInfo& table, absl::StatusOr<PullPlan> plan, const PullOptions& options,
                 Done done);
  void Later(std::chrono::nanoseconds delay, std::function<void()> action);
  std::chrono::nanoseconds NextBackoff(std::chrono::nanoseconds& backoff);
  void CheckCallDeadlines();
  absl::Status NoReply(const Call& call, const std::string& where) const;
  std::string DescribeWaiting(const PullCall& pull) const;
  void GiveUp(Operation& operation);
  SlotState& Slot(SlotId slot) { return slots_[slot.value()]; }
  Server& ServerOf(SlotId slot);
  Server* FindServer(ServerId id);
  std::string EndpointOf(SlotId slot) const;

  // client_core_send.cc: queues, connections, frames out.
  void Admit(std::vector<SlotId> slots);
  void AdmitAll();
  void BlockSlot(SlotId slot);
  void NeedResume(SlotId slot, Incarnation incarnation);
  void Pump();
  void PumpServer(Server& server);
  void StartConnecting(Server& server);
  void DropConnection(Server& server, const absl::Status& why);
  void RequeueOperations(InFlight& frame);
  void SendResume(Server& server);
  void SendOperations(Server& server);
  uint64_t NextRequestId() { return ++last_request_id_; }
  void SendFrame(Server& server, std::vector<OperationPtr> operations, size_t bytes);
  OutMessage OperationsMessage(const std::vector<OperationPtr>& operations) const;
  PushFrame PushFrameOf(const std::vector<OperationPtr>& operations) const;
  void QueuePull(const PullRequestPtr& request);
  void SendPulls(Server& server);
  void SendPull(Server& server, const PullRequestPtr& request);
  bool MovePartsToOwners(const PullRequestPtr& request, ServerId server);
  void ReleasePull(Server& server, uint64_t request_id);
  void CheckReplyTimeouts();
  void CheckReplyTimeouts(Server& server);

  // client_core_reply.cc: frames in.
  void OnOutcomes(Server& server, uint64_t request_id, const OutcomesFrame& reply);
  void OnOutcome(Server& server, uint64_t request_id, const PartOutcome& outcome);
  void Decide(SlotState& slot, const OperationPtr& operation, const PartOutcome& outcome);
  void OnRetry(SlotState& slot, const OperationPtr& operation, const PartOutcome& outcome);
  void OnGone(SlotState& slot, const OperationPtr& operation, const PartOutcome& outcome,
              Server& server);
  void OnResumed(Server& server, const InFlight& frame, const OutcomesFrame& reply);
  void OnFrameRefused(Server& server, InFlight& frame, const absl::Status& error);
  void OnPullReply(Server& server, uint64_t request_id, const PullReplyFrame& reply);
  void OnPullRefused(Server& server, const PullRequestPtr& request, const PullReplyFrame& reply);
  void OnPullAnswered(const PullRequestPtr& request, const PullReplyFrame& reply);
  void RetryPull(const PullRequestPtr& request, bool backoff);
  void CountStaleness(const PullCall& pull, const PullReplyFrame& reply);
  void EndBecause(const absl::Status& why);
  absl::Status GoneStatus(Outcome outcome, const absl::Status& error, bool newer_incarnation,
                          const Server& server) const;

  const CoreOptions options_;
  CoreSession session_;
  Clock clock_;
  absl::Status ended_;
  absl::Status ending_;  // FENCED by a server, not confirmed yet: nothing is sent any more
  MonotonicTime now_;    // of the event being handled
  SplitMix64 random_;
  std::vector<SlotState> slots_;
  std::vector<SlotId> to_admit_;  // slots whose window may have opened in this event
  std::map<ServerId, std::unique_ptr<Server>> servers_;
  // Open calls in the order of their deadlines, which is the order of issue.
  std::deque<std::shared_ptr<Call>> calls_;
  std::list<std::weak_ptr<PullCall>> pulls_;  // open ones; finished ones linger until swept
  std::multimap<MonotonicTime, std::function<void()>> timers_;
  std::shared_ptr<Call> leaving_;
  bool leave_issued_ = false;
  bool pulls_moved_ = false;  // to a server whose turn had passed
  size_t undecided_ = 0;
  size_t undecided_bytes_ = 0;
  size_t open_pulls_ = 0;
  size_t operation_bytes_in_flight_ = 0;
  size_t pull_bytes_in_flight_ = 0;
  size_t prefetch_bytes_in_flight_ = 0;
  uint64_t last_request_id_ = 0;
  uint64_t last_bundle_id_ = 0;
  uint64_t last_connection_;
  ClientEffects effects_;
  ClientStats stats_;
  size_t present_pulls_ = 0;  // open pulls that are no prefetches
  MonotonicTime waiting_since_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_CLIENT_CORE_H_
