// Commands of the coordinator, and what happens after every change (PROTOCOL.md C2, C5, C6, R2).
#include "server/executor/slot_core.h"

#include <algorithm>
#include <utility>

#include "common/status/status.h"
#include "server/executor/slot_core_impl.h"

namespace syncline {

SlotCore::SlotCore(SlotId slot, Incarnation incarnation, uint32_t slot_count)
    : impl_(std::make_unique<Impl>(slot, incarnation, slot_count)) {}
SlotCore::~SlotCore() = default;

SlotId SlotCore::slot() const { return impl_->slot; }
Incarnation SlotCore::incarnation() const { return impl_->incarnation; }

// A job that nobody has declared yet never starts.
SlotCore::Impl::Job& SlotCore::Impl::JobOf(JobId id) {
  const auto [entry, added] = jobs.try_emplace(id, round_memory);
  if (added) entry->second.declaration.id = id;
  return entry->second;
}

void SlotCore::DeclareJob(const JobDeclaration& job) {
  Impl::Job& known = impl_->JobOf(job.id);
  if (known.declared) return;
  known.declared = true;
  known.declaration = job;
  known.clocks.Declare(job.ranks);
}

void SlotCore::FailJob(JobId job, const std::string& reason, Effects& effects) {
  Impl::Job& failed = impl_->JobOf(job);
  if (failed.failure) return;
  failed.failure = reason;
  failed.rounds.Clear();
  Impl::Release(failed.reads.DropAll(),
                MakeError(absl::StatusCode::kAborted, Detail::kJobFailed, "job {} failed: {}",
                          failed.declaration.name, reason),
                effects);
}

absl::Status SlotCore::CreateTable(const TableInfo& table) {
  if (impl_->tables.contains(table.id)) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<TableShard> shard, TableShard::Create(table));
  Impl::Table& made = impl_->tables[table.id];
  made.shard = std::move(shard);
  if (made.by_rounds()) impl_->JobOf(table.job).rounds.AddTable(table.spec.consistency.staleness);
  return absl::OkStatus();
}

absl::Status SlotCore::SetOptimizer(TableId table, const OptimizerSpec& optimizer) {
  ASSIGN_OR_RETURN(TableShard * shard, impl_->ShardOf(table));
  return shard->SetOptimizer(optimizer);
}

absl::Status SlotCore::ChangeLearningRate(TableId table, Clock from_clock, double learning_rate) {
  ASSIGN_OR_RETURN(TableShard * shard, impl_->ShardOf(table));
  return shard->ChangeLearningRate(from_clock, learning_rate);
}

absl::StatusOr<TableShard*> SlotCore::Impl::ShardOf(TableId table) {
  const auto entry = tables.find(table);
  if (entry != tables.end()) return entry->second.shard.get();
  return MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable,
                   "slot {} has no table {}; create it first", slot.value(), table.value());
}

Clock SlotCore::InstallSession(const SessionDeclaration& session, Clock join_clock,
                               Effects& effects) {
  return impl_->InstallSession(session, join_clock, effects);
}

Clock SlotCore::Impl::InstallSession(const SessionDeclaration& session, Clock join_clock,
                                     Effects& effects) {
  Job& job = JobOf(session.job);
  const bool added = sessions.Install(session) != nullptr;
  if (!session.clocked) return job.clocks.min_clock();
  if (!added) return job.clocks.ClockOf(session.id).value_or(job.clocks.min_clock());
  // C5: not below the oldest open round; the clock table adds the min clock.
  const Clock join = std::max(join_clock, Clock(job.rounds.oldest().value()));
  const Clock clock = job.clocks.Install(session.id, session.rank, join);
  Settle(job, effects);
  return clock;
}

void SlotCore::SetSessionClock(SessionId session, Clock clock, Effects& effects) {
  const Session* known = impl_->sessions.Find(session);
  if (known == nullptr) return;
  Impl::Job& job = impl_->JobOf(known->declaration.job);
  job.clocks.Raise(session, clock);
  impl_->Settle(job, effects);
}

void SlotCore::Fence(SessionId session, Effects& effects) { impl_->Fence(session, effects); }

void SlotCore::Impl::Fence(SessionId id, Effects& effects) {
  const Session* session = sessions.Find(id);
  if (session == nullptr) {
    sessions.Remove(id, SessionTable::End::kFenced);
    return;
  }
  Job& job = JobOf(session->declaration.job);
  if (session->declaration.clocked && job.declaration.reproducible) job.held = true;
  job.clocks.Remove(id);
  job.rounds.Fence(ContributorOf(*session));  // C6
  Release(job.reads.Drop(id),
          MakeError(absl::StatusCode::kNotFound, Detail::kFenced,
                    "session {} is fenced: its lease expired; open a new session", id.ToString()),
          effects);
  sessions.Remove(id, SessionTable::End::kFenced);
  Settle(job, effects);
}

void SlotCore::Impl::Settle(Job& job, Effects& effects) {
  if (const std::optional<Round> limit = CloseLimit(job)) {
    while (const std::optional<ClosedRound> closed = job.rounds.CloseNext(*limit)) {
      ApplyRound(*closed);
    }
  }
  Release(job.reads.Advance({job.clocks.started(), job.clocks.min_clock(), job.rounds.oldest()}),
          absl::OkStatus(), effects);
}

// A round closes when every live rank has ticked it, which its clock says: joiners count as having
// ticked the rounds below theirs (C5). With nobody alive, rounds up to the last tick close (R2).
std::optional<Round> SlotCore::Impl::CloseLimit(const Job& job) {
  if (!job.clocks.started() || job.held || job.failure) return std::nullopt;
  if (const std::optional<Clock> least = job.clocks.least_live()) return Round(least->value());
  const std::optional<Round> last = job.rounds.last_ticked();
  if (!last) return std::nullopt;
  return last->Next();
}

void SlotCore::Impl::ApplyRound(const ClosedRound& round) {
  for (const TableSum& sum : round.tables) {
    TableShard& shard = *tables.at(sum.table).shard;
    const bool mean = shard.info().spec.reduce == Reduce::kMean;
    const double divisor = mean ? static_cast<double>(round.samples) : 1.0;  // R1
    shard.Apply(sum.keys, sum.sums, {Clock(round.round.value()), divisor});
  }
}

Contributor SlotCore::Impl::ContributorOf(const Session& session) {
  return {session.declaration.rank, session.life};
}

void SlotCore::Impl::Release(const std::vector<ReadId>& ids, const absl::Status& status,
                             Effects& effects) {
  for (ReadId id : ids) effects.released.push_back({id, status});
}

}  // namespace syncline
