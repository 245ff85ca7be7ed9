// All slots of this server behind asynchronous operations: routes, joins and parks.
#ifndef SYNCLINE_SERVER_EXECUTOR_SLOT_HOST_H_
#define SYNCLINE_SERVER_EXECUTOR_SLOT_HOST_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/limits.h"
#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "common/thread/mutex.h"
#include "common/time_source.h"
#include "common/types.h"
#include "common/wire/frames.h"
#include "server/executor/executor.h"
#include "server/executor/slot_core.h"
#include "server/executor/timer_queue.h"

namespace syncline {

// How long a read is parked when the client names no deadline, and at most.
inline constexpr std::chrono::milliseconds kDefaultReadDeadline{30'000};
inline constexpr std::chrono::milliseconds kMaxReadDeadline{600'000};

// One slot's share of a tick, leave or resume.
struct SlotPart {
  SlotId slot;
  Incarnation incarnation;
  Sequence sequence = Sequence();
  Outcome told = Outcome::kUnspecified;
};

// The answer to a pull. `reply` holds the parts in the order asked, or the error and the slot that
// refused; its views point into `values`.
struct PullAnswer {
  PullReplyFrame reply;
  std::shared_ptr<const uint8_t> values;  // null when empty
};

struct HostedSlot;    // hosted_slot.h
class PullOperation;  // pull_operation.h

// A pull under way; Cancel() when its caller is gone. The answer still comes (CANCELLED), unless it
// was given already. Thread-safe.
class PullHandle {
 public:
  virtual ~PullHandle() = default;
  virtual void Cancel() = 0;
};

// Owns the SlotCores of one server and its executors. Slots lie on executors in contiguous ranges
// of ascending slot numbers, so that a visit in slot order changes executors as rarely as possible.
//
// Thread-safe. Operations never block: `done` is called exactly once, on the calling thread or
// another, with no executor held. Commands and introspection block until every slot has answered:
// they must not be called from `done` callbacks.
class SlotHost {
 public:
  struct SlotTable;  // hosted_slot.h

  struct Options {
    size_t executors = 1;
    size_t executor_queue = kMaxExecutorQueue;
    size_t max_parked_reads = kMaxParkedReadsPerServer;
  };

  // REQUIRES: `timers` outlives the host.
  SlotHost(const Options& options, TimerQueue& timers);
  // REQUIRES: no operation is brought any more. Parked pulls are answered UNAVAILABLE.
  ~SlotHost();
  SlotHost(const SlotHost&) = delete;
  SlotHost& operator=(const SlotHost&) = delete;

  // Takes over the slots that the map gives to `self`. A slot already here with that incarnation
  // stays as it is; a new one starts empty, with the jobs and tables declared so far; one that is
  // no longer ours is dropped and its parked reads get WRONG_OWNER.
  // Errors: FAILED_PRECONDITION when the slot count differs from the present one, or the epoch is
  // older.
  absl::Status Assign(const SlotMap& map, ServerId self);
  Epoch epoch() const;
  uint32_t slot_count() const;  // 0 before the first map

  // --- Operations. Outcomes come in the order of the parts. A slot that is not here answers
  // kRetryWrongOwner (S7), before the first map kRetryUnavailable, a full executor
  // kRetryResourceExhausted; everything else is SlotCore's answer.
  using OutcomesDone = std::function<void(std::vector<PartOutcome>)>;
  // The frame (aliased to the bytes that its views point into) lives until `done` was called.
  void Push(Caller caller, std::shared_ptr<const PushFrame> frame, OutcomesDone done);
  void Tick(Caller caller, TickOperation common, std::vector<SlotPart> parts, OutcomesDone done);
  void Leave(Caller caller, std::vector<SlotPart> parts, OutcomesDone done);
  void Resume(Caller caller, std::vector<SlotPart> parts, OutcomesDone done);

  using PullDone = std::function<void(PullAnswer)>;
  // Called with true when the pull parks in a slot and with false when it goes on; in pairs.
  using ParkObserver = std::function<void(bool parked)>;
  // Visits the slots one after the other in ascending order (S6); parks in the first that is not
  // ready. Rows of bags are summed per bag over all parts, ascending by slot, then key (B1).
  // The answer's error is one of AskRead's and Gather's, or
  //   NOT_FOUND (UNKNOWN_TABLE)  no such table here
  //   INVALID_ARGUMENT           unknown codec, a key that lives in another slot, or an answer
  //                              larger than a frame: nothing was allocated
  //   UNAVAILABLE                the deadline passed while parked, or there is no map yet
  //   FAILED_PRECONDITION        WRONG_OWNER
  //   RESOURCE_EXHAUSTED         OVERLOADED: too many parked reads here, or a full executor
  std::shared_ptr<PullHandle> Pull(Caller caller, std::shared_ptr<const PullFrame> frame,
                                   PullDone done, ParkObserver observer = nullptr);

  // --- Commands of the coordinator, applied to every slot.
  void DeclareJob(const JobDeclaration& job);
  void FailJob(JobId job, const std::string& reason);
  // Errors: INVALID_ARGUMENT (SlotCore), RESOURCE_EXHAUSTED beyond kMaxTablesPerCluster.
  absl::Status CreateTable(const TableInfo& table);
  absl::Status SetOptimizer(TableId table, const OptimizerSpec& optimizer);
  absl::Status ChangeLearningRate(TableId table, Clock from_clock, double learning_rate);
  // The greatest clock that a slot gave the session (C5).
  Clock InstallSession(const SessionDeclaration& session, Clock join_clock);
  void SetSessionClock(SessionId session, Clock clock);
  void Fence(SessionId session);

  // --- Introspection.
  struct SlotSnapshot {
    SlotId slot;
    Incarnation incarnation;
    size_t executor = 0;
    size_t parked_reads = 0;
    std::vector<SlotCore::TableCounters> tables;
    std::vector<SlotCore::JobView> jobs;
  };
  std::vector<SlotSnapshot> Snapshot();  // ascending by slot
  // Runs `visit` for every slot, or for one, on its executor. Slots of different executors overlap:
  // `visit` may only write what belongs to its slot.
  void VisitSlots(const std::function<void(SlotCore&)>& visit);
  bool VisitSlot(SlotId slot, const std::function<void(SlotCore&)>& visit);  // false: not here
  std::vector<TableInfo> Tables() const;                                     // by id
  std::optional<TableInfo> FindTable(TableId table) const;
  std::vector<JobDeclaration> Jobs() const;  // by id
  size_t executors() const { return executors_.size(); }
  size_t queued() const;
  size_t parked_reads() const { return parked_reads_.load(std::memory_order_relaxed); }

 private:
  friend class PullOperation;
  struct PartsOperation;
  using ApplyPart = std::function<PartOutcome(size_t part, SlotCore& core, Effects& effects)>;

  std::shared_ptr<const SlotTable> CurrentTable() const;
  void Declare(SlotCore& core) REQUIRES(mutex_);
  void RunParts(std::vector<SlotPart> parts, ApplyPart apply, OutcomesDone done);
  void RunGroup(const std::shared_ptr<PartsOperation>& operation, Executor& executor,
                std::vector<uint32_t> group);
  // Runs `visit` for every slot on its executor and waits for all.
  void ForEachSlot(const std::function<void(HostedSlot&)>& visit);
  absl::Status CommandAll(const std::function<absl::Status(SlotCore&, Effects&)>& apply);
  // On the slot's executor: sends the reads that an effect released on their way.
  void HandleEffects(HostedSlot& slot, Effects effects);

  const Options options_;
  TimerQueue& timers_;
  std::atomic<ReadId> next_read_id_{1};
  std::atomic<size_t> parked_reads_{0};

  // Commands and map changes come one at a time.
  Mutex command_mutex_;
  mutable Mutex mutex_;
  std::shared_ptr<const SlotTable> table_ GUARDED_BY(mutex_);
  std::map<TableId, TableInfo> tables_ GUARDED_BY(mutex_);
  std::map<JobId, JobDeclaration> jobs_ GUARDED_BY(mutex_);
  std::map<JobId, std::string> failed_jobs_ GUARDED_BY(mutex_);

  std::vector<std::unique_ptr<Executor>> executors_;  // last: their tasks use the fields above
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_SLOT_HOST_H_
