// A slot at its place in a server. Internal to server/executor.
#ifndef SYNCLINE_SERVER_EXECUTOR_HOSTED_SLOT_H_
#define SYNCLINE_SERVER_EXECUTOR_HOSTED_SLOT_H_

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "server/executor/executor.h"
#include "server/executor/slot_core.h"
#include "server/executor/slot_host.h"

namespace syncline {

// Everything but the constants is touched only while the executor is held.
struct HostedSlot {
  HostedSlot(SlotId slot, Incarnation incarnation, uint32_t slot_count, Executor& its_executor,
             size_t index)
      : core(slot, incarnation, slot_count), executor(its_executor), executor_index(index) {}

  SlotCore core;
  Executor& executor;
  const size_t executor_index;
  bool dropped = false;  // no longer ours: nothing parks here any more
  std::unordered_map<ReadId, std::shared_ptr<PullOperation>> parked;
};

// Which slots are here, by one map. Immutable; operations keep the one that they began with.
struct SlotHost::SlotTable {
  Epoch epoch;
  std::vector<std::shared_ptr<HostedSlot>> by_slot;  // null: not here
  std::vector<HostedSlot*> owned;                    // ascending by slot

  HostedSlot* Find(SlotId slot) const {
    return slot.value() < by_slot.size() ? by_slot[slot.value()].get() : nullptr;
  }
};

// Why an operation on `slot` cannot run on this server.
absl::Status NotHereError(const std::shared_ptr<const SlotHost::SlotTable>& table, SlotId slot);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_EXECUTOR_HOSTED_SLOT_H_
