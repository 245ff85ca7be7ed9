#include "server/service/admin_queries.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "common/hash.h"
#include "common/status/status.h"
#include "common/thread/mutex.h"
#include "server/table/initializer.h"
#include "server/table/state_hash.h"

namespace syncline {
namespace {

using Snapshot = std::vector<SlotHost::SlotSnapshot>;

std::map<TableId, SlotCore::TableCounters> SumTables(const Snapshot& slots) {
  std::map<TableId, SlotCore::TableCounters> sums;
  for (const SlotHost::SlotSnapshot& slot : slots) {
    for (const SlotCore::TableCounters& table : slot.tables) {
      SlotCore::TableCounters& sum = sums[table.table];
      sum.table = table.table;
      sum.rows += table.rows;
      sum.memory_bytes += table.memory_bytes;
      sum.rows_created += table.rows_created;
      sum.ids_zeroed += table.ids_zeroed;
      sum.ids_rejected += table.ids_rejected;
      sum.keys_pulled += table.keys_pulled;
      sum.keys_pushed += table.keys_pushed;
    }
  }
  return sums;
}

// The least over the slots: what the job as a whole has reached here.
struct JobSummary {
  bool started = true;
  Clock min_clock = Clock(INT64_MAX);
  Round oldest_round = Round(INT64_MAX);
  std::map<SessionId, SlotCore::SessionView> sessions;
};

std::map<JobId, JobSummary> SumJobs(const Snapshot& slots) {
  std::map<JobId, JobSummary> jobs;
  for (const SlotHost::SlotSnapshot& slot : slots) {
    for (const SlotCore::JobView& view : slot.jobs) {
      JobSummary& job = jobs[view.job];
      job.started = job.started && view.started;
      job.min_clock = std::min(job.min_clock, view.min_clock);
      job.oldest_round = std::min(job.oldest_round, view.oldest_round);
      for (const SlotCore::SessionView& session : view.sessions) {
        const auto [known, is_new] = job.sessions.emplace(session.id, session);
        if (!is_new) known->second.clock = std::min(known->second.clock, session.clock);
      }
    }
  }
  return jobs;
}

size_t CountSessions(const Snapshot& slots) {
  std::set<SessionId> sessions;
  for (const auto& [id, job] : SumJobs(slots)) {
    for (const auto& [session, view] : job.sessions) sessions.insert(session);
  }
  return sessions.size();
}

uint64_t RowsOf(const SlotHost::SlotSnapshot& slot) {
  uint64_t rows = 0;
  for (const SlotCore::TableCounters& table : slot.tables) rows += table.rows;
  return rows;
}

void FillJob(const SlotCore::JobView& view, bool with_sessions, v1::SlotStatus::JobClock& job) {
  job.set_job(view.job.value());
  job.set_min_clock(view.min_clock.value());
  job.set_oldest_round(view.oldest_round.value());
  job.set_started(view.started);
  if (!with_sessions) return;
  for (const SlotCore::SessionView& session : view.sessions) {
    v1::SlotSession& out = *job.add_sessions();
    out.set_session_high(session.id.high);
    out.set_session_low(session.id.low);
    out.set_rank(session.rank.value());
    out.set_clock(session.clock.value());
    out.set_last_sequence(session.last.value());
  }
}

v1::ServerStatus StatusOf(const Snapshot& slots, const SlotHost& host, const ServerState& state) {
  v1::ServerStatus status;
  status.set_server(state.server().value());
  status.set_name(state.name());
  status.set_version(state.version());
  status.set_epoch(host.epoch().value());
  status.set_slots(static_cast<uint32_t>(slots.size()));
  status.set_executors(static_cast<uint32_t>(host.executors()));
  status.set_sessions(CountSessions(slots));
  status.set_parked_reads(host.parked_reads());
  uint64_t rows = 0;
  uint64_t memory = 0;
  for (const auto& [id, table] : SumTables(slots)) {
    rows += table.rows;
    memory += table.memory_bytes;
  }
  status.set_rows(rows);
  status.set_memory_bytes(memory);
  status.set_uptime_seconds(state.UptimeSeconds());
  const std::string reason = state.NotReadyReason();
  status.set_ready(reason.empty());
  status.set_not_ready_reason(reason);
  status.set_coordinator(state.hosts_coordinator());
  return status;
}

nlohmann::json JobsJson(const Snapshot& slots, const SlotHost& host) {
  std::map<JobId, std::string> names;
  for (const JobDeclaration& job : host.Jobs()) names[job.id] = job.name;
  nlohmann::json jobs = nlohmann::json::array();
  for (const auto& [id, job] : SumJobs(slots)) {
    nlohmann::json sessions = nlohmann::json::array();
    for (const auto& [session, view] : job.sessions) {
      sessions.push_back({{"session", session.ToString()},
                          {"rank", view.rank.value()},
                          {"clocked", view.clocked},
                          {"clock", view.clock.value()}});
    }
    jobs.push_back({{"job", id.value()},
                    {"name", names[id]},
                    {"started", job.started},
                    {"min_clock", job.min_clock.value()},
                    {"oldest_round", job.oldest_round.value()},
                    {"sessions", std::move(sessions)}});
  }
  return jobs;
}

nlohmann::json TablesJson(const Snapshot& slots, const SlotHost& host) {
  std::map<TableId, SlotCore::TableCounters> counters = SumTables(slots);
  nlohmann::json tables = nlohmann::json::array();
  for (const TableInfo& table : host.Tables()) {
    const SlotCore::TableCounters& sum = counters[table.id];
    tables.push_back({{"table", table.id.value()},
                      {"name", table.spec.name},
                      {"job", table.job.value()},
                      {"dim", table.spec.dim},
                      {"optimizer", table.spec.optimizer.name},
                      {"rows", sum.rows},
                      {"memory_bytes", sum.memory_bytes},
                      {"keys_pulled", sum.keys_pulled},
                      {"keys_pushed", sum.keys_pushed}});
  }
  return tables;
}

}  // namespace

v1::ServerStatus AdminQueries::Status() { return StatusOf(host_.Snapshot(), host_, state_); }

absl::StatusOr<v1::TableStatsReply> AdminQueries::TableStats(
    const v1::GetTableStatsRequest& request) {
  const TableId wanted(request.table());
  if (request.table() != 0 && !host_.FindTable(wanted).has_value()) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable,
                     "table {} is not known to this server", request.table());
  }
  v1::TableStatsReply reply;
  std::map<TableId, SlotCore::TableCounters> sums = SumTables(host_.Snapshot());
  for (const TableInfo& table : host_.Tables()) {
    if (request.table() != 0 && table.id != wanted) continue;
    const SlotCore::TableCounters& sum = sums[table.id];
    v1::TableStats& stats = *reply.add_tables();
    stats.set_table(table.id.value());
    stats.set_rows(sum.rows);
    stats.set_memory_bytes(sum.memory_bytes);
    stats.set_rows_created(sum.rows_created);
    stats.set_ids_zeroed(sum.ids_zeroed);
    stats.set_ids_rejected(sum.ids_rejected);
    stats.set_keys_pulled(sum.keys_pulled);
    stats.set_keys_pushed(sum.keys_pushed);
  }
  return reply;
}

absl::StatusOr<v1::Row> AdminQueries::GetRow(const v1::GetRowRequest& request) {
  const TableId id(request.table());
  const std::optional<TableInfo> table = host_.FindTable(id);
  if (!table.has_value()) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable,
                     "table {} is not known to this server", request.table());
  }
  const uint32_t slot_count = host_.slot_count();
  if (slot_count == 0) return absl::UnavailableError("this server has no cluster map yet; retry");
  const SlotId slot = SlotOf(id, request.key(), slot_count);
  std::optional<SlotCore::RowView> stored;
  const bool here =
      host_.VisitSlot(slot, [&](SlotCore& core) { stored = core.FindRow(id, request.key()); });
  if (!here) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kWrongOwner,
                     "key {} lives in slot {}, which is on another server", request.key(),
                     slot.value());
  }
  v1::Row row;
  row.set_slot(slot.value());
  row.set_stored(stored.has_value());
  if (!stored.has_value()) {
    stored.emplace();
    stored->weights.resize(table->spec.dim);
    Initializer(table->spec.initializer, id).Fill(request.key(), stored->weights);
  }
  row.mutable_weights()->Add(stored->weights.begin(), stored->weights.end());
  row.mutable_optimizer_state()->Add(stored->state.begin(), stored->state.end());
  return row;
}

v1::ListSlotsReply AdminQueries::ListSlots(const v1::ListSlotsRequest& request) {
  const std::set<uint32_t> wanted(request.slots().begin(), request.slots().end());
  v1::ListSlotsReply reply;
  for (const SlotHost::SlotSnapshot& slot : host_.Snapshot()) {
    if (!wanted.empty() && !wanted.contains(slot.slot.value())) continue;
    v1::SlotStatus& out = *reply.add_slots();
    out.set_slot(slot.slot.value());
    out.set_incarnation(slot.incarnation.value());
    out.set_executor(static_cast<uint32_t>(slot.executor));
    out.set_rows(RowsOf(slot));
    out.set_parked_reads(slot.parked_reads);
    for (const SlotCore::JobView& job : slot.jobs)
      FillJob(job, request.sessions(), *out.add_jobs());
  }
  return reply;
}

v1::StateHash AdminQueries::StateHash() {
  Mutex mutex;
  syncline::StateHash total;
  uint64_t rows = 0;
  const std::vector<TableInfo> tables = host_.Tables();
  host_.VisitSlots([&](SlotCore& core) {
    syncline::StateHash here;
    uint64_t here_rows = 0;
    std::vector<float> row;
    for (const TableInfo& table : tables) {
      core.ForEachRow(table.id,
                      [&](Key key, std::span<const float> weights, std::span<const float> state) {
                        row.assign(weights.begin(), weights.end());
                        row.insert(row.end(), state.begin(), state.end());
                        here.AddRow(table.id, key, row);
                        ++here_rows;
                      });
    }
    MutexLock lock(mutex);
    total.Merge(here);
    rows += here_rows;
  });
  v1::StateHash reply;
  reply.set_hash(total.value());
  reply.set_rows(rows);
  return reply;
}

std::string AdminQueries::StatusJson() {
  const Snapshot slots = host_.Snapshot();
  const v1::ServerStatus status = StatusOf(slots, host_, state_);
  nlohmann::json per_slot = nlohmann::json::array();
  for (const SlotHost::SlotSnapshot& slot : slots) {
    per_slot.push_back({{"slot", slot.slot.value()},
                        {"incarnation", slot.incarnation.value()},
                        {"executor", slot.executor},
                        {"rows", RowsOf(slot)},
                        {"parked_reads", slot.parked_reads}});
  }
  const nlohmann::json page = {{"server",
                                {{"id", status.server()},
                                 {"name", status.name()},
                                 {"version", status.version()},
                                 {"epoch", status.epoch()},
                                 {"executors", status.executors()},
                                 {"slots", status.slots()},
                                 {"sessions", status.sessions()},
                                 {"parked_reads", status.parked_reads()},
                                 {"rows", status.rows()},
                                 {"memory_bytes", status.memory_bytes()},
                                 {"uptime_seconds", status.uptime_seconds()},
                                 {"ready", status.ready()},
                                 {"not_ready_reason", status.not_ready_reason()},
                                 {"coordinator", status.coordinator()}}},
                               {"tables", TablesJson(slots, host_)},
                               {"jobs", JobsJson(slots, host_)},
                               {"slots", std::move(per_slot)}};
  // Names were validated as ASCII; whatever else is no UTF-8 is replaced, not thrown.
  return page.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace syncline
