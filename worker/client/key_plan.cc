#include "worker/client/key_plan.h"

#include <algorithm>
#include <tuple>

#include "common/hash.h"

namespace syncline {
namespace {

struct Entry {
  uint32_t slot;
  uint32_t position;
  Key key;
};

}  // namespace

KeyPlan PlanKeys(TableId table, std::span<const Key> keys, uint32_t slot_count) {
  std::vector<Entry> entries(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    entries[i] = {SlotOf(table, keys[i], slot_count).value(), static_cast<uint32_t>(i), keys[i]};
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.slot, a.key, a.position) < std::tie(b.slot, b.key, b.position);
  });
  KeyPlan plan;
  plan.order.reserve(keys.size());
  plan.keys.reserve(keys.size());
  plan.starts.reserve(keys.size() + 1);
  for (const Entry& entry : entries) {
    const SlotId slot(entry.slot);
    const bool new_slot = plan.slots.empty() || plan.slots.back().slot != slot;
    if (new_slot || plan.keys.back() != entry.key) {
      plan.starts.push_back(static_cast<uint32_t>(plan.order.size()));
      plan.keys.push_back(entry.key);
    }
    if (new_slot) plan.slots.push_back({slot, plan.keys.size() - 1, 0});
    plan.slots.back().end = plan.keys.size();
    plan.order.push_back(entry.position);
  }
  plan.starts.push_back(static_cast<uint32_t>(plan.order.size()));
  return plan;
}

}  // namespace syncline
