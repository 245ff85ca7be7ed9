// Reads: asking, parking, gathering (PROTOCOL.md C3, C4, S6).
#include <algorithm>
#include <numeric>
#include <utility>

#include "common/status/status.h"
#include "server/executor/slot_core_impl.h"

namespace syncline {
namespace {

absl::Status UnknownTable(TableId table) {
  return MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable,
                   "the job has no table {}; create it first", table.value());
}

bool StrictlyAscend(std::span<const Key> keys) {
  return std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) == keys.end();
}

}  // namespace

absl::StatusOr<bool> SlotCore::Impl::AskRead(const Caller& caller, const ReadRequest& read) {
  SessionTable::Lookup found = sessions.Find(caller, read.incarnation);
  if (found.session == nullptr) return std::move(found.error);
  if (read.incarnation != incarnation) return IncarnationError(read.incarnation);
  const SessionDeclaration& who = found.session->declaration;
  Job& job = JobOf(who.job);
  if (job.failure) {
    return MakeError(absl::StatusCode::kAborted, Detail::kJobFailed, "job {} failed: {}",
                     job.declaration.name, *job.failure);
  }
  const Table* table = FindTable(who.job, read.table);
  if (table == nullptr) return UnknownTable(read.table);
  return job.reads.Ask(read.id, who.id, found.session->log.last(),
                       NeedOf(table->spec().consistency, who.clocked, read.clock, read.sequence));
}

absl::StatusOr<ReadPosition> SlotCore::Impl::Gather(SessionId session, TableId table,
                                                    std::span<const Key> keys, bool read_only,
                                                    std::span<float> out, size_t stride) {
  const Session* reader = sessions.Find(session);
  if (reader == nullptr) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kSessionUnknown,
                     "session {} is not known here; open a new session", session.ToString());
  }
  const JobId job = reader->declaration.job;
  Table* found = FindTable(job, table);
  if (found == nullptr) return UnknownTable(table);
  TableShard& shard = *found->shard;
  const ReadMode mode = read_only ? ReadMode::kReadOnly : ReadMode::kTraining;
  RETURN_IF_ERROR(CheckOwnKeys(table, keys));
  if (StrictlyAscend(keys)) {
    RETURN_IF_ERROR(shard.CheckKeys(keys));
    shard.Read(keys, mode, out.data(), stride);
  } else {
    RETURN_IF_ERROR(GatherInAnyOrder(shard, keys, mode, out, stride));
  }
  found->keys_pulled += keys.size();
  return ReadPosition{reader->log.last(), JobOf(job).clocks.min_clock()};
}

// The shard reads ascending keys; a pull names them as it likes, and the reply follows it.
absl::Status SlotCore::Impl::GatherInAnyOrder(TableShard& shard, std::span<const Key> keys,
                                              ReadMode mode, std::span<float> out, size_t stride) {
  std::vector<Key> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  RETURN_IF_ERROR(shard.CheckKeys(sorted));
  const size_t dim = shard.dim();
  std::vector<float> rows(sorted.size() * dim);
  shard.Read(sorted, mode, rows.data(), dim);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), keys[i]) - sorted.begin();
    std::copy_n(rows.data() + static_cast<size_t>(at) * dim, dim, out.data() + i * stride);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> SlotCore::AskRead(const Caller& caller, const ReadRequest& read) {
  return impl_->AskRead(caller, read);
}

void SlotCore::CancelRead(ReadId id) {
  for (auto& [job_id, job] : impl_->jobs) job.reads.Cancel(id);
}

absl::StatusOr<ReadPosition> SlotCore::Gather(SessionId session, TableId table,
                                              std::span<const Key> keys, bool read_only,
                                              std::span<float> out, size_t stride) {
  return impl_->Gather(session, table, keys, read_only, out, stride);
}

}  // namespace syncline
