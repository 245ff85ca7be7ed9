// Keys of a call brought into the order in which servers want them.
#ifndef SYNCLINE_WORKER_CLIENT_KEY_PLAN_H_
#define SYNCLINE_WORKER_CLIENT_KEY_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/types.h"

namespace syncline {

// Distinct keys, grouped by slot (ascending), ascending within a slot (S5), and where each came
// from: keys[u] was given at the positions order[starts[u]] .. order[starts[u + 1] - 1], ascending.
//
// Example: keys {9, 4, 9}, both in slot 2: keys {4, 9}, order {1, 0, 2}, starts {0, 1, 3},
// slots {{2, 0, 2}}.
struct KeyPlan {
  struct Range {
    SlotId slot;
    size_t begin = 0;  // into keys
    size_t end = 0;
  };
  std::vector<Key> keys;
  std::vector<uint32_t> order;
  std::vector<uint32_t> starts;
  std::vector<Range> slots;
};

// REQUIRES: slot_count is a power of two; keys.size() < 2^32.
KeyPlan PlanKeys(TableId table, std::span<const Key> keys, uint32_t slot_count);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_KEY_PLAN_H_
