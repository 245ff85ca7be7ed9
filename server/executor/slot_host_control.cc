// Commands of the coordinator and introspection: everything that visits all slots and waits.
#include <algorithm>
#include <utility>

#include "common/status/status.h"
#include "server/executor/hosted_slot.h"
#include "server/executor/slot_host.h"
#include "server/table/table_shard.h"

namespace syncline {
namespace {

// Waits until a number of things has happened.
class Countdown {
 public:
  explicit Countdown(size_t count) : left_(count) {}
  void Done() {
    MutexLock lock(mutex_);
    if (--left_ == 0) zero_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (left_ > 0) zero_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar zero_;
  size_t left_ GUARDED_BY(mutex_);
};

}  // namespace

// --- Commands.

void SlotHost::ForEachSlot(const std::function<void(HostedSlot&)>& visit) {
  const std::shared_ptr<const SlotTable> table = CurrentTable();
  if (table == nullptr) return;
  Countdown countdown(executors_.size());
  for (size_t i = 0; i < executors_.size(); ++i) {
    executors_[i]->Post([&, i] {
      for (HostedSlot* slot : table->owned) {
        if (slot->executor_index == i) visit(*slot);
      }
      // So that the executor is free for the caller's next operation.
      Executor::AfterRelease([&countdown] { countdown.Done(); });
    });
  }
  countdown.Wait();
}

absl::Status SlotHost::CommandAll(const std::function<absl::Status(SlotCore&, Effects&)>& apply) {
  Mutex mutex;
  absl::Status first;
  ForEachSlot([&](HostedSlot& slot) {
    Effects effects;
    const absl::Status status = apply(slot.core, effects);
    HandleEffects(slot, std::move(effects));
    MutexLock lock(mutex);
    first.Update(status);
  });
  return first;
}

void SlotHost::DeclareJob(const JobDeclaration& job) {
  MutexLock commands(command_mutex_);
  {
    MutexLock lock(mutex_);
    jobs_[job.id] = job;
  }
  (void)CommandAll([&](SlotCore& core, Effects&) {
    core.DeclareJob(job);
    return absl::OkStatus();
  });
}

void SlotHost::FailJob(JobId job, const std::string& reason) {
  MutexLock commands(command_mutex_);
  {
    MutexLock lock(mutex_);
    failed_jobs_.emplace(job, reason);
  }
  (void)CommandAll([&](SlotCore& core, Effects& effects) {
    core.FailJob(job, reason, effects);
    return absl::OkStatus();
  });
}

absl::Status SlotHost::CreateTable(const TableInfo& table) {
  // Also when no slot is here to refuse it: slots that come later take what is declared as it is.
  RETURN_IF_ERROR(TableShard::Validate(table.spec));
  MutexLock commands(command_mutex_);
  {
    MutexLock lock(mutex_);
    if (tables_.size() >= kMaxTablesPerCluster && !tables_.contains(table.id)) {
      return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                       "table {}: there are {} tables already", table.spec.name, tables_.size());
    }
  }
  RETURN_IF_ERROR(CommandAll([&](SlotCore& core, Effects&) { return core.CreateTable(table); }));
  MutexLock lock(mutex_);
  tables_.emplace(table.id, table);
  return absl::OkStatus();
}

absl::Status SlotHost::SetOptimizer(TableId table, const OptimizerSpec& optimizer) {
  TableSpec spec;
  spec.optimizer = optimizer;
  RETURN_IF_ERROR(TableShard::Validate(spec));
  MutexLock commands(command_mutex_);
  RETURN_IF_ERROR(
      CommandAll([&](SlotCore& core, Effects&) { return core.SetOptimizer(table, optimizer); }));
  MutexLock lock(mutex_);
  const auto found = tables_.find(table);
  if (found != tables_.end()) found->second.spec.optimizer = optimizer;
  return absl::OkStatus();
}

absl::Status SlotHost::ChangeLearningRate(TableId table, Clock from_clock, double learning_rate) {
  MutexLock commands(command_mutex_);
  return CommandAll([&](SlotCore& core, Effects&) {
    return core.ChangeLearningRate(table, from_clock, learning_rate);
  });
}

Clock SlotHost::InstallSession(const SessionDeclaration& session, Clock join_clock) {
  MutexLock commands(command_mutex_);
  Mutex mutex;
  Clock greatest = join_clock;
  (void)CommandAll([&](SlotCore& core, Effects& effects) {
    const Clock clock = core.InstallSession(session, join_clock, effects);
    MutexLock lock(mutex);
    greatest = std::max(greatest, clock);
    return absl::OkStatus();
  });
  return greatest;
}

void SlotHost::SetSessionClock(SessionId session, Clock clock) {
  MutexLock commands(command_mutex_);
  (void)CommandAll([&](SlotCore& core, Effects& effects) {
    core.SetSessionClock(session, clock, effects);
    return absl::OkStatus();
  });
}

void SlotHost::Fence(SessionId session) {
  MutexLock commands(command_mutex_);
  (void)CommandAll([&](SlotCore& core, Effects& effects) {
    core.Fence(session, effects);
    return absl::OkStatus();
  });
}

// --- Introspection.

std::vector<SlotHost::SlotSnapshot> SlotHost::Snapshot() {
  std::vector<SlotSnapshot> slots;
  Mutex mutex;
  ForEachSlot([&](HostedSlot& slot) {
    SlotSnapshot snapshot{.slot = slot.core.slot(),
                          .incarnation = slot.core.incarnation(),
                          .executor = slot.executor_index,
                          .parked_reads = slot.core.parked_reads(),
                          .tables = slot.core.Tables(),
                          .jobs = slot.core.Jobs()};
    MutexLock lock(mutex);
    slots.push_back(std::move(snapshot));
  });
  std::sort(slots.begin(), slots.end(),
            [](const SlotSnapshot& a, const SlotSnapshot& b) { return a.slot < b.slot; });
  return slots;
}

void SlotHost::VisitSlots(const std::function<void(SlotCore&)>& visit) {
  ForEachSlot([&](HostedSlot& slot) { visit(slot.core); });
}

bool SlotHost::VisitSlot(SlotId id, const std::function<void(SlotCore&)>& visit) {
  const std::shared_ptr<const SlotTable> table = CurrentTable();
  HostedSlot* slot = table == nullptr ? nullptr : table->Find(id);
  if (slot == nullptr) return false;
  Countdown countdown(1);
  slot->executor.Post([&] {
    visit(slot->core);
    Executor::AfterRelease([&countdown] { countdown.Done(); });
  });
  countdown.Wait();
  return true;
}

std::vector<TableInfo> SlotHost::Tables() const {
  MutexLock lock(mutex_);
  std::vector<TableInfo> tables;
  for (const auto& [id, table] : tables_) tables.push_back(table);
  return tables;
}

std::optional<TableInfo> SlotHost::FindTable(TableId table) const {
  MutexLock lock(mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return std::nullopt;
  return found->second;
}

std::vector<JobDeclaration> SlotHost::Jobs() const {
  MutexLock lock(mutex_);
  std::vector<JobDeclaration> jobs;
  for (const auto& [id, job] : jobs_) jobs.push_back(job);
  return jobs;
}

size_t SlotHost::queued() const {
  size_t queued = 0;
  for (const auto& executor : executors_) queued += executor->queued();
  return queued;
}

}  // namespace syncline
