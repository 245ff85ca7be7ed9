// Introspection: what psctl, metrics and tests see of a slot.
#include <utility>

#include "server/executor/slot_core_impl.h"

namespace syncline {

std::vector<SlotCore::TableCounters> SlotCore::Tables() const {
  std::vector<TableCounters> views;
  for (const auto& [id, table] : impl_->tables) {
    const TableShardCounters& counters = table.shard->counters();
    TableCounters view;
    view.table = id;
    view.rows = table.shard->rows();
    view.memory_bytes = table.shard->memory_bytes();
    view.rows_created = counters.rows_created;
    view.ids_zeroed = counters.zeroed_ids_pulled + counters.zeroed_ids_pushed;
    view.ids_rejected = counters.rejected_ids;
    view.keys_pulled = table.keys_pulled;
    view.keys_pushed = table.keys_pushed;
    views.push_back(view);
  }
  return views;
}

std::vector<SlotCore::JobView> SlotCore::Jobs() const {
  std::vector<JobView> views;
  for (const auto& [id, job] : impl_->jobs) {
    JobView view;
    view.job = id;
    view.started = job.clocks.started();
    view.min_clock = job.clocks.min_clock();
    view.oldest_round = job.rounds.oldest();
    impl_->sessions.ForEach([&, job_id = id, &clocks = job.clocks](const Session& session) {
      const SessionDeclaration& who = session.declaration;
      if (who.job != job_id) return;
      view.sessions.push_back({who.id, who.rank, who.clocked,
                               clocks.ClockOf(who.id).value_or(Clock(0)), session.log.last()});
    });
    views.push_back(std::move(view));
  }
  return views;
}

size_t SlotCore::parked_reads() const {
  size_t parked = 0;
  for (const auto& [id, job] : impl_->jobs) parked += job.reads.parked();
  return parked;
}

std::optional<uint32_t> SlotCore::DimOf(TableId table) const {
  const auto entry = impl_->tables.find(table);
  if (entry == impl_->tables.end()) return std::nullopt;
  return entry->second.shard->dim();
}

std::optional<SlotCore::RowView> SlotCore::FindRow(TableId table, Key key) const {
  const auto entry = impl_->tables.find(table);
  if (entry == impl_->tables.end()) return std::nullopt;
  Storage& storage = entry->second.shard->storage();
  float* row = nullptr;
  storage.Find({&key, 1}, {&row, 1});
  if (row == nullptr) return std::nullopt;
  const auto weights = storage.layout().Weights(row);
  const auto state = storage.layout().State(row);
  return RowView{{weights.begin(), weights.end()}, {state.begin(), state.end()}};
}

void SlotCore::ForEachRow(
    TableId table,
    const std::function<void(Key, std::span<const float>, std::span<const float>)>& fn) const {
  const auto entry = impl_->tables.find(table);
  if (entry == impl_->tables.end()) return;
  const Storage& storage = entry->second.shard->storage();
  const RowLayout& layout = storage.layout();
  storage.ForEachSorted([&](Key key, std::span<const float> row) {
    fn(key, layout.Weights(row.data()), layout.State(row.data()));
  });
}

}  // namespace syncline
