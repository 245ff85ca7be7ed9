#include "server/executor/slot_host.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/codec/codec.h"
#include "common/status/status.h"
#include "server/executor/hosted_slot.h"
#include "server/executor/pull_operation.h"

namespace syncline {
namespace {

PartOutcome Refused(const SlotPart& part, Outcome outcome, absl::Status why) {
  PartOutcome refused;
  refused.slot = part.slot;
  refused.incarnation = part.incarnation;
  refused.sequence = part.sequence;
  refused.outcome = outcome;
  refused.error = std::move(why);
  return refused;
}

// Scratch memory of a thread, kept: pushes are too frequent to allocate.
struct PushScratch {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> bag_offsets;
  std::vector<uint32_t> bag_ids;
};

PartOutcome ApplyPush(const Caller& caller, const PushFrame& frame, const Codec* codec,
                      const PushPart& part, SlotCore& core, Effects& effects) {
  thread_local PushScratch scratch;
  PushOperation push;
  push.incarnation = part.incarnation;
  push.sequence = part.sequence;
  push.clock = frame.header.clock;
  push.table = frame.table;
  push.samples = frame.samples;
  push.codec = codec;
  push.placeholder = part.placeholder;
  push.keys = part.keys.AsU64(scratch.keys);
  push.values = part.values;
  if (frame.bag_count > 0) {
    push.bag_offsets = part.bag_offsets.AsU32(scratch.bag_offsets);
    push.bag_ids = part.bag_ids.AsU32(scratch.bag_ids);
    push.bag_vectors = frame.bag_values;
    push.bag_count = frame.bag_count;
  }
  return core.Push(caller, push, effects);
}

}  // namespace

absl::Status NotHereError(const std::shared_ptr<const SlotHost::SlotTable>& table, SlotId slot) {
  if (table == nullptr) {
    return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                     "this server has no cluster map yet; retry");
  }
  return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kWrongOwner,
                   "slot {} is not on this server in epoch {}; ask the coordinator for the map",
                   slot.value(), table->epoch.value());
}

SlotHost::SlotHost(const Options& options, TimerQueue& timers)
    : options_(options), timers_(timers) {
  for (size_t i = 0; i < std::max<size_t>(1, options.executors); ++i) {
    executors_.push_back(
        std::make_unique<Executor>(fmt::format("executor-{}", i), options.executor_queue));
  }
}

SlotHost::~SlotHost() {
  ForEachSlot([](HostedSlot& slot) {
    slot.dropped = true;
    for (auto& [read, pull] : std::exchange(slot.parked, {})) {
      slot.core.CancelRead(read);
      pull->Continue(slot, absl::UnavailableError("the server stops; retry"));
    }
  });
  // Ends the worker threads while the slots still exist.
  executors_.clear();
}

// --- The map.

absl::Status SlotHost::Assign(const SlotMap& map, ServerId self) {
  MutexLock commands(command_mutex_);
  std::shared_ptr<const SlotTable> old = CurrentTable();
  if (old != nullptr && old->by_slot.size() != map.slot_count()) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "the map has {} slots, this server was started with {}", map.slot_count(),
                     old->by_slot.size());
  }
  if (old != nullptr && map.epoch() < old->epoch) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "the map's epoch {} is older than {}", map.epoch().value(),
                     old->epoch.value());
  }
  auto table = std::make_shared<SlotTable>();
  table->epoch = map.epoch();
  table->by_slot.resize(map.slot_count());
  const std::vector<SlotId> mine = map.SlotsOf(self);
  {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < mine.size(); ++i) {
      const SlotId id = mine[i];
      const Incarnation incarnation = map.At(id).incarnation;
      std::shared_ptr<HostedSlot>& place = table->by_slot[id.value()];
      if (old != nullptr) place = old->by_slot[id.value()];
      if (place == nullptr || place->core.incarnation() != incarnation) {
        const size_t index = i * executors_.size() / mine.size();
        place = std::make_shared<HostedSlot>(id, incarnation, map.slot_count(), *executors_[index],
                                             index);
        Declare(place->core);  // nobody else sees the slot yet
      }
      table->owned.push_back(place.get());
    }
    table_ = table;
  }
  if (old == nullptr) return absl::OkStatus();
  for (const std::shared_ptr<HostedSlot>& slot : old->by_slot) {
    if (slot == nullptr || table->by_slot[slot->core.slot().value()] == slot) continue;
    slot->executor.Post([slot, old] {
      slot->dropped = true;
      for (auto& [read, pull] : std::exchange(slot->parked, {})) {
        slot->core.CancelRead(read);
        pull->Continue(*slot, NotHereError(old, slot->core.slot()));
      }
    });
  }
  return absl::OkStatus();
}

void SlotHost::Declare(SlotCore& core) {
  Effects none;
  for (const auto& [id, job] : jobs_) core.DeclareJob(job);
  for (const auto& [id, reason] : failed_jobs_) core.FailJob(id, reason, none);
  for (const auto& [id, table] : tables_) {
    const absl::Status created = core.CreateTable(table);
    SYNCLINE_CHECK(created.ok(), "a table that other slots took was refused");
  }
}

std::shared_ptr<const SlotHost::SlotTable> SlotHost::CurrentTable() const {
  MutexLock lock(mutex_);
  return table_;
}

Epoch SlotHost::epoch() const {
  const auto table = CurrentTable();
  return table == nullptr ? Epoch() : table->epoch;
}

uint32_t SlotHost::slot_count() const {
  const auto table = CurrentTable();
  return table == nullptr ? 0 : static_cast<uint32_t>(table->by_slot.size());
}

// --- Operations in many slots.

struct SlotHost::PartsOperation {
  std::shared_ptr<const SlotTable> table;
  std::vector<SlotPart> parts;
  std::vector<PartOutcome> outcomes;
  ApplyPart apply;
  OutcomesDone done;
  // Groups that have not answered, and one for the caller while it still hands them out.
  std::atomic<size_t> left{1};
};

namespace {

template <typename Operation>
void FinishGroup(const std::shared_ptr<Operation>& operation) {
  if (operation->left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Executor::AfterRelease([operation] {
    operation->apply = nullptr;
    std::exchange(operation->done, nullptr)(std::move(operation->outcomes));
  });
}

}  // namespace

void SlotHost::RunParts(std::vector<SlotPart> parts, ApplyPart apply, OutcomesDone done) {
  auto operation = std::make_shared<PartsOperation>();
  operation->table = CurrentTable();
  operation->parts = std::move(parts);
  operation->outcomes.resize(operation->parts.size());
  operation->apply = std::move(apply);
  operation->done = std::move(done);

  std::vector<std::vector<uint32_t>> groups(executors_.size());
  for (uint32_t i = 0; i < operation->parts.size(); ++i) {
    const SlotPart& part = operation->parts[i];
    HostedSlot* slot = operation->table == nullptr ? nullptr : operation->table->Find(part.slot);
    if (slot != nullptr) {
      groups[slot->executor_index].push_back(i);
      continue;
    }
    const Outcome outcome =
        operation->table == nullptr ? Outcome::kRetryUnavailable : Outcome::kRetryWrongOwner;
    operation->outcomes[i] = Refused(part, outcome, NotHereError(operation->table, part.slot));
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].empty()) RunGroup(operation, *executors_[i], std::move(groups[i]));
  }
  FinishGroup(operation);
}

void SlotHost::RunGroup(const std::shared_ptr<PartsOperation>& operation, Executor& executor,
                        std::vector<uint32_t> group) {
  operation->left.fetch_add(1, std::memory_order_relaxed);
  const auto shared = std::make_shared<const std::vector<uint32_t>>(std::move(group));
  const absl::Status accepted = executor.Submit([this, operation, shared] {
    for (const uint32_t i : *shared) {
      HostedSlot& slot = *operation->table->Find(operation->parts[i].slot);
      if (slot.dropped) {  // moved away since the operation came
        operation->outcomes[i] = Refused(operation->parts[i], Outcome::kRetryWrongOwner,
                                         NotHereError(operation->table, operation->parts[i].slot));
        continue;
      }
      Effects effects;
      operation->outcomes[i] = operation->apply(i, slot.core, effects);
      HandleEffects(slot, std::move(effects));
    }
    FinishGroup(operation);
  });
  if (accepted.ok()) return;
  for (const uint32_t i : *shared) {
    operation->outcomes[i] =
        Refused(operation->parts[i], Outcome::kRetryResourceExhausted, accepted);
  }
  FinishGroup(operation);
}

void SlotHost::HandleEffects(HostedSlot& slot, Effects effects) {
  for (ReleasedRead& released : effects.released) {
    const auto found = slot.parked.find(released.id);
    if (found == slot.parked.end()) continue;
    std::shared_ptr<PullOperation> pull = std::move(found->second);
    slot.parked.erase(found);
    // As a task of its own: the operation that released many reads is answered first. The worker
    // gathers while this thread goes on.
    slot.executor.Post([pull = std::move(pull), &slot, status = std::move(released.status)] {
      pull->Continue(slot, status);
    });
  }
}

void SlotHost::Push(Caller caller, std::shared_ptr<const PushFrame> frame, OutcomesDone done) {
  std::vector<SlotPart> parts;
  parts.reserve(frame->parts.size());
  for (const PushPart& part : frame->parts) {
    parts.push_back({part.slot, part.incarnation, part.sequence, part.placeholder});
  }
  const Codec* codec = FindCodec(frame->codec);
  RunParts(
      std::move(parts),
      [caller = std::move(caller), frame = std::move(frame), codec](size_t i, SlotCore& core,
                                                                    Effects& effects) {
        return ApplyPush(caller, *frame, codec, frame->parts[i], core, effects);
      },
      std::move(done));
}

void SlotHost::Tick(Caller caller, TickOperation common, std::vector<SlotPart> parts,
                    OutcomesDone done) {
  auto own = std::make_shared<const std::vector<SlotPart>>(parts);
  RunParts(
      std::move(parts),
      [caller = std::move(caller), common, own](size_t i, SlotCore& core, Effects& effects) {
        TickOperation tick = common;
        tick.incarnation = (*own)[i].incarnation;
        tick.sequence = (*own)[i].sequence;
        tick.told = (*own)[i].told;
        return core.Tick(caller, tick, effects);
      },
      std::move(done));
}

void SlotHost::Leave(Caller caller, std::vector<SlotPart> parts, OutcomesDone done) {
  auto own = std::make_shared<const std::vector<SlotPart>>(parts);
  RunParts(
      std::move(parts),
      [caller = std::move(caller), own](size_t i, SlotCore& core, Effects& effects) {
        return core.Leave(caller, (*own)[i].incarnation, (*own)[i].sequence, effects);
      },
      std::move(done));
}

void SlotHost::Resume(Caller caller, std::vector<SlotPart> parts, OutcomesDone done) {
  auto own = std::make_shared<const std::vector<SlotPart>>(parts);
  RunParts(
      std::move(parts),
      [caller = std::move(caller), own](size_t i, SlotCore& core, Effects&) {
        return core.Resume(caller, (*own)[i].incarnation);
      },
      std::move(done));
}

std::shared_ptr<PullHandle> SlotHost::Pull(Caller caller, std::shared_ptr<const PullFrame> frame,
                                           PullDone done, ParkObserver observer) {
  auto pull = std::make_shared<PullOperation>(*this, std::move(caller), std::move(frame),
                                              std::move(done), std::move(observer));
  pull->Start();
  return pull;
}

}  // namespace syncline
