// Pushes (PROTOCOL.md S3, S5, R1 to R3, B1).
#include <algorithm>
#include <utility>

#include "common/hash.h"
#include "common/status/status.h"
#include "server/executor/slot_core_impl.h"

namespace syncline {
namespace {

Verdict Invalid(absl::Status reason) { return {Outcome::kInvalid, std::move(reason)}; }

// A placeholder has no content: it uses up the number with the outcome that it states (S3, J5).
Verdict DecidePlaceholder(Outcome stated) {
  if (!IsFinal(stated)) {
    return Invalid(
        InvalidArgument("a placeholder states a final outcome, not {}", static_cast<int>(stated)));
  }
  if (stated == Outcome::kOk) return {};
  return {stated, MakeError(absl::StatusCode::kCancelled, Detail::kNone,
                            "the client sent a placeholder in place of this operation")};
}

}  // namespace

SlotCore::Impl::Table* SlotCore::Impl::FindTable(JobId job, TableId id) {
  const auto entry = tables.find(id);
  if (entry == tables.end() || entry->second.shard->info().job != job) return nullptr;
  return &entry->second;
}

Verdict SlotCore::Impl::DecidePush(const Asked& asked, const PushOperation& push) {
  if (push.placeholder != Outcome::kUnspecified) return DecidePlaceholder(push.placeholder);
  Table* table = FindTable(asked.session->declaration.job, push.table);
  if (table == nullptr) {
    return Invalid(MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable,
                             "the job has no table {}; create it first", push.table.value()));
  }
  if (absl::Status error = CheckPush(push, *table); !error.ok()) {
    return Invalid(Annotate(error, "table " + table->spec().name));
  }
  Verdict verdict = Place(asked, push, *table);
  if (verdict.outcome == Outcome::kOk) table->keys_pushed += push.keys.size();
  return verdict;
}

absl::Status SlotCore::Impl::CheckPush(const PushOperation& push, Table& table) {
  TableShard& shard = *table.shard;
  RETURN_IF_ERROR(shard.CanApply());  // NO_OPTIMIZER: until there is one the push is invalid
  RETURN_IF_ERROR(shard.CheckKeys(push.keys));  // S5
  RETURN_IF_ERROR(CheckOwnKeys(push.table, push.keys));
  if (!table.by_rounds() && table.spec().reduce == Reduce::kMean && push.samples == 0) {
    return InvalidArgument("reduce mean divides by the push's samples, which are 0; state them");
  }
  RETURN_IF_ERROR(decoder.Decode(push, shard.dim(), gradients));
  return shard.CheckGradients(push.keys, gradients);
}

absl::Status SlotCore::Impl::CheckOwnKeys(TableId table, std::span<const Key> keys) const {
  for (Key key : keys) {
    if (SlotOf(table, key, slot_count) == slot) continue;
    return InvalidArgument(
        "key {} of table {} lives in slot {}, not in slot {}; hash it as "
        "documented",
        key, table.value(), SlotOf(table, key, slot_count).value(), slot.value());
  }
  return absl::OkStatus();
}

Verdict SlotCore::Impl::Place(const Asked& asked, const PushOperation& push, Table& table) {
  // Rows that open rounds may still make count as if they were there.
  const size_t row_bytes = sizeof(Key) + table.shard->dim() * sizeof(float);
  const size_t waiting = table.by_rounds() ? round_memory.used / row_bytes : 0;
  if (absl::Status full = table.shard->CanApply(push.keys.size() + waiting); !full.ok()) {
    return {Outcome::kRetryResourceExhausted, std::move(full)};
  }
  if (table.by_rounds()) return PlaceInRound(asked, push, table);
  const bool mean = table.spec().reduce == Reduce::kMean;  // R1
  table.shard->Apply(push.keys, gradients,
                     {push.clock, mean ? static_cast<double>(push.samples) : 1.0});
  return {};
}

Verdict SlotCore::Impl::PlaceInRound(const Asked& asked, const PushOperation& push, Table& table) {
  const Session& session = *asked.session;
  Job& job = *asked.job;
  if (!session.declaration.clocked) {
    return Invalid(
        InvalidArgument("table {} applies by rounds, which a clockless session never "
                        "ends; open the session with a rank",
                        table.spec().name));
  }
  const Round round(push.clock.value());
  const int64_t oldest = job.rounds.oldest().value();
  switch (job.rounds.PlaceOf(round)) {
    case RoundTable::Place::kClosed:  // R2
      return {Outcome::kDropped,
              MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                        "round {} is closed; the oldest open one is {}", round.value(), oldest)};
    case RoundTable::Place::kBeyondWindow:  // R3
      return {Outcome::kRetryNotReady,
              MakeError(absl::StatusCode::kUnavailable, Detail::kNotReady,
                        "round {} is too far beyond {}, the oldest open one; retry later",
                        round.value(), oldest)};
    case RoundTable::Place::kOpen:
      break;
  }
  if (const auto clock = job.clocks.ClockOf(session.declaration.id); push.clock < *clock) {
    return Invalid(InvalidArgument("the session has ended round {} and is in clock {}",
                                   round.value(), clock->value()));
  }
  if (!job.rounds.HasRoomFor(push.keys.size(), table.shard->dim())) {
    return {Outcome::kRetryResourceExhausted,
            MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                      "open rounds of slot {} hold {} of {} bytes; retry later", slot.value(),
                      round_memory.used, round_memory.cap)};
  }
  job.rounds.Add(ContributorOf(session), round, push.table, table.shard->dim(), push.keys,
                 gradients);
  return {};
}

}  // namespace syncline
