// One slot: the protocol's rules and the rows they guard, as a single-threaded core without I/O.
#ifndef SYNCLINE_SERVER_EXECUTOR_SLOT_CORE_H_
#define SYNCLINE_SERVER_EXECUTOR_SLOT_CORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/codec/codec.h"
#include "common/table_spec.h"
#include "common/types.h"
#include "common/wire/byte_view.h"
#include "common/wire/frames.h"
#include "common/wire/outcome.h"
#include "server/consistency/admission.h"
#include "server/consistency/session_table.h"

namespace syncline {

struct JobDeclaration {
  JobId id;
  std::string name;
  int32_t ranks = 0;
  bool reproducible = false;
};

// A push to this slot, keys decoded, values still encoded.
struct PushOperation {
  Incarnation incarnation;
  Sequence sequence;
  Clock clock;
  TableId table;
  uint64_t samples = 0;
  std::span<const Key> keys;
  const Codec* codec = nullptr;  // null: the frame named an unknown one; the push is invalid
  ByteView values;               // rows
  // Bags (B1): key i takes the sum of the vectors bag_ids[bag_offsets[i] .. bag_offsets[i+1]) of
  // bag_vectors. Empty offsets: a push of rows.
  std::span<const uint32_t> bag_offsets;
  std::span<const uint32_t> bag_ids;
  ByteView bag_vectors;  // encoded by `codec`; bag_count x dim
  uint32_t bag_count = 0;
  Outcome placeholder = Outcome::kUnspecified;
};

struct TickOperation {
  Incarnation incarnation;
  Sequence sequence;
  Clock clock;
  Round ends_round;
  uint64_t samples = 0;
  Outcome told = Outcome::kUnspecified;
};

struct ReadRequest {
  ReadId id = 0;
  Incarnation incarnation;
  Sequence sequence;  // the session's last operation here, which the read must contain (S6)
  Clock clock;
  TableId table;
};

// What a read is answered with when it leaves the parking lot.
struct ReleasedRead {
  ReadId id = 0;
  absl::Status status;  // OK: serve it now
};

// What a call asks its executor to do besides answering.
struct Effects {
  std::vector<ReleasedRead> released;  // oldest first
};

struct ReadPosition {
  Sequence sequence;  // the session's last decided operation
  Clock min_clock;
};

// Pure: no I/O, no time, no threads; the slot's executor is the only caller. The same calls in the
// same order leave the same state.
//
// Every operation answers a PartOutcome (with slot, incarnation, sequence and the watermarks filled
// in) and never aborts on client input. What is checked in which order: session known and not
// fenced (S1), token and principal, incarnation (S7), sequence (S2), then the operation itself.
class SlotCore {
 public:
  // REQUIRES: slot_count is a power of two.
  SlotCore(SlotId slot, Incarnation incarnation, uint32_t slot_count);
  ~SlotCore();
  SlotCore(const SlotCore&) = delete;
  SlotCore& operator=(const SlotCore&) = delete;

  SlotId slot() const;
  Incarnation incarnation() const;

  // --- Commands of the coordinator. Repeating one changes nothing.
  void DeclareJob(const JobDeclaration& job);
  // Ends a job with an error: its parked reads are released with it, its operations get
  // kGoneJobFailed.
  void FailJob(JobId job, const std::string& reason, Effects& effects);
  // Errors: INVALID_ARGUMENT when the optimizer is unknown (the coordinator checks before).
  absl::Status CreateTable(const TableInfo& table);
  absl::Status SetOptimizer(TableId table, const OptimizerSpec& optimizer);
  absl::Status ChangeLearningRate(TableId table, Clock from_clock, double learning_rate);
  // Joining, step one (C5): the session's clock becomes max(join_clock, min clock, oldest open
  // round), and is returned.
  Clock InstallSession(const SessionDeclaration& session, Clock join_clock, Effects& effects);
  // Step two: never lowers the clock. Unknown sessions are ignored.
  void SetSessionClock(SessionId session, Clock clock, Effects& effects);
  // Drops the session (C6). Later operations get kGoneFenced.
  void Fence(SessionId session, Effects& effects);

  // --- Operations of sessions (S2 to S5, R1 to R3).
  PartOutcome Push(const Caller& caller, const PushOperation& push, Effects& effects);
  PartOutcome Tick(const Caller& caller, const TickOperation& tick, Effects& effects);
  PartOutcome Leave(const Caller& caller, Incarnation incarnation, Sequence sequence,
                    Effects& effects);
  // Without a journal a session never outlives an incarnation, so Resume only confirms that the
  // session is known in this one: kOk with the last sequence, kRetryResumeFirst when another
  // incarnation is named, or kGone*. An unknown session that names an older incarnation is
  // kGoneSessionLost, in every operation.
  PartOutcome Resume(const Caller& caller, Incarnation incarnation);

  // --- Reads (C3, C4, S6).
  // True: serve now with Gather. False: parked; the id comes back in Effects::released of a later
  // call, at most once, unless cancelled.
  // Errors, nothing parked: NOT_FOUND (SESSION_UNKNOWN, FENCED, UNKNOWN_TABLE), PERMISSION_DENIED
  // (another principal's session), DATA_LOSS (SESSION_LOST), FAILED_PRECONDITION (RESUME_FIRST),
  // RESOURCE_EXHAUSTED (OVERLOADED: the session has kMaxParkedReadsPerSession parked), ABORTED
  // (JOB_FAILED).
  absl::StatusOr<bool> AskRead(const Caller& caller, const ReadRequest& read);
  void CancelRead(ReadId id);
  // REQUIRES: the read was admitted. Writes keys.size() rows of the table's dim, `stride` floats
  // apart, in the order of `keys`, which may be any.
  // Errors: INVALID_ARGUMENT (ID_REJECTED, a dense key beyond the tensor, or a key of another
  // slot), NOT_FOUND when the session or the table is gone: nothing written.
  absl::StatusOr<ReadPosition> Gather(SessionId session, TableId table, std::span<const Key> keys,
                                      bool read_only, std::span<float> out, size_t stride);

  // --- Introspection, for psctl, metrics and tests.
  struct TableCounters {
    TableId table;
    uint64_t rows = 0;
    uint64_t memory_bytes = 0;
    uint64_t rows_created = 0;
    uint64_t ids_zeroed = 0;
    uint64_t ids_rejected = 0;
    uint64_t keys_pulled = 0;
    uint64_t keys_pushed = 0;
  };
  struct SessionView {
    SessionId id;
    Rank rank;
    bool clocked = false;
    Clock clock;
    Sequence last;
  };
  struct JobView {
    JobId job;
    bool started = false;
    Clock min_clock;
    Round oldest_round;
    std::vector<SessionView> sessions;  // by id
  };
  std::vector<TableCounters> Tables() const;  // by table id
  std::vector<JobView> Jobs() const;          // by job id
  size_t parked_reads() const;
  // Null when the table is unknown here: its dim.
  std::optional<uint32_t> DimOf(TableId table) const;
  // A stored row's weights and state, or nullopt when it was never trained.
  struct RowView {
    std::vector<float> weights;
    std::vector<float> state;
  };
  std::optional<RowView> FindRow(TableId table, Key key) const;
  // Calls fn(key, weights, state) for every stored row of the table, ascending by key.
  void ForEachRow(
      TableId table,
      const std::function<void(Key, std::span<const float>, std::span<const float>)>& fn) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_SLOT_CORE_H_
