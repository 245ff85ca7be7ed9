// The inside of SlotCore: what it holds, and the steps that its operations share.
#ifndef SYNCLINE_SERVER_EXECUTOR_SLOT_CORE_IMPL_H_
#define SYNCLINE_SERVER_EXECUTOR_SLOT_CORE_IMPL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/consistency/admission.h"
#include "server/consistency/clock_table.h"
#include "server/consistency/round_table.h"
#include "server/consistency/session_table.h"
#include "server/executor/push_decoder.h"
#include "server/executor/slot_core.h"
#include "server/table/table_shard.h"

namespace syncline {

// What became of an operation, before it is recorded.
struct Verdict {
  Outcome outcome = Outcome::kOk;
  absl::Status reason;
};

struct SlotCore::Impl {
  struct Job {
    explicit Job(RoundMemory& memory) : rounds(memory) {}

    bool declared = false;
    JobDeclaration declaration;
    ClockTable clocks;
    RoundTable rounds;
    Admission reads;
    // A reproducible job has lost a rank: no round closes without it (C6).
    bool held = false;
    std::optional<std::string> failure;
  };
  struct Table {
    std::unique_ptr<TableShard> shard;
    uint64_t keys_pulled = 0;
    uint64_t keys_pushed = 0;

    const TableSpec& spec() const { return shard->info().spec; }
    bool by_rounds() const { return spec().consistency.apply == ApplyMode::kRound; }
  };
  // An operation on its way: either answered already, or with its session and job.
  struct Asked {
    Session* session = nullptr;
    Job* job = nullptr;
    Sequence sequence;
    std::optional<PartOutcome> answer;
  };

  Impl(SlotId slot_id, Incarnation own_incarnation, uint32_t count)
      : slot(slot_id), incarnation(own_incarnation), slot_count(count), sessions(own_incarnation) {}

  // slot_core.cc: commands of the coordinator.
  Job& JobOf(JobId id);
  absl::StatusOr<TableShard*> ShardOf(TableId table);
  Clock InstallSession(const SessionDeclaration& session, Clock join_clock, Effects& effects);
  void Fence(SessionId session, Effects& effects);
  // Closes what can close and releases what may be served. Called after every change of clocks,
  // ticks or sessions.
  void Settle(Job& job, Effects& effects);
  // The round below which rounds may close now (R2); nullopt: none.
  static std::optional<Round> CloseLimit(const Job& job);
  void ApplyRound(const ClosedRound& round);
  static Contributor ContributorOf(const Session& session);
  static void Release(const std::vector<ReadId>& ids, const absl::Status& status, Effects& effects);

  // slot_operations.cc: operations of sessions.
  Asked Begin(const Caller& caller, Incarnation named, Sequence sequence);
  std::optional<Verdict> CheckPlace(const Asked& asked) const;
  PartOutcome Finish(const Asked& asked, const Verdict& verdict, Effects& effects);
  PartOutcome Answer(const Job* job, const Session* session, Sequence sequence,
                     const Verdict& verdict) const;
  absl::Status IncarnationError(Incarnation named) const;
  Verdict DecideTick(const Asked& asked, const TickOperation& tick);

  // slot_push.cc: pushes.
  Table* FindTable(JobId job, TableId id);
  Verdict DecidePush(const Asked& asked, const PushOperation& push);
  Verdict Place(const Asked& asked, const PushOperation& push, Table& table);
  Verdict PlaceInRound(const Asked& asked, const PushOperation& push, Table& table);
  // Judges all that does not depend on clocks and rounds, and decodes into `gradients`.
  absl::Status CheckPush(const PushOperation& push, Table& table);
  absl::Status CheckOwnKeys(TableId table, std::span<const Key> keys) const;

  // slot_reads.cc: reads.
  absl::StatusOr<bool> AskRead(const Caller& caller, const ReadRequest& read);
  absl::StatusOr<ReadPosition> Gather(SessionId session, TableId table, std::span<const Key> keys,
                                      bool read_only, std::span<float> out, size_t stride);
  static absl::Status GatherInAnyOrder(TableShard& shard, std::span<const Key> keys, ReadMode mode,
                                       std::span<float> out, size_t stride);

  const SlotId slot;
  const Incarnation incarnation;
  const uint32_t slot_count;
  RoundMemory round_memory;  // outlives `jobs`
  std::map<JobId, Job> jobs;
  std::map<TableId, Table> tables;
  SessionTable sessions;
  GradientDecoder decoder;
  std::vector<float> gradients;  // of the push being decided
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_SLOT_CORE_IMPL_H_
