// From the arguments of a push to what goes into frames: validation, sums of duplicates, encoding.
#ifndef SYNCLINE_WORKER_CLIENT_PUSH_PLAN_H_
#define SYNCLINE_WORKER_CLIENT_PUSH_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/codec/codec.h"
#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "worker/client/client_options.h"
#include "worker/client/rows.h"

namespace syncline {

// One slot's operation: ranges of the content that holds it.
struct PushPartPlan {
  SlotId slot;
  size_t key_begin = 0;
  size_t key_end = 0;
  size_t offset_begin = 0;  // bags: first of key count + 1 offsets, which start at 0
  size_t id_begin = 0;      // bags
  size_t id_end = 0;
};

// Parts that may share a frame. Rows: `values` has one encoded row per key. Bags (bag_count > 0):
// `bag_values` has bag_count encoded vectors, and the parts' lists name them by number.
struct PushContent {
  std::vector<Key> keys;
  std::vector<uint8_t> values;
  uint32_t bag_count = 0;
  std::vector<uint8_t> bag_values;
  std::vector<uint32_t> bag_offsets;
  std::vector<uint32_t> bag_ids;
  std::vector<PushPartPlan> parts;
};

struct PushArguments {
  const TableInfo* table = nullptr;
  std::span<const Key> keys;
  RowsIn gradients;
  uint64_t samples = 0;
  CodecId codec = CodecId::kFp32;
};

struct BagArguments {
  std::span<const uint32_t> offsets;
  Pooling pooling = Pooling::kSum;
};

// Checks the whole push (S5) and encodes it. Duplicate keys are added in the order given.
// Errors: INVALID_ARGUMENT with detail NON_FINITE, ID_REJECTED or none, naming the key;
// UNIMPLEMENTED (UNSUPPORTED) for a codec that this build does not have.
absl::StatusOr<std::vector<PushContent>> PlanPush(const PushArguments& push, const SlotMap& map);

// The same for elements [first, first + gradients.size()) of a dense table. Also INVALID_ARGUMENT
// when the range cuts a block.
absl::StatusOr<std::vector<PushContent>> PlanDensePush(const TableInfo& table, uint64_t first,
                                                       std::span<const float> gradients,
                                                       uint64_t samples, CodecId codec,
                                                       const SlotMap& map);

// The same for bags (B1): pre-scales each bag's vector, then takes for each server the shape (bags
// or rows) that is smaller. A slot whose bag vectors do not fit a frame goes as rows.
absl::StatusOr<std::vector<PushContent>> PlanBagPush(const PushArguments& push,
                                                     const BagArguments& bags, const SlotMap& map);

// --- Checks that pulls share.
// Errors: INVALID_ARGUMENT: too many keys, a key that the table refuses, no memory given, a stride
// below dim.
absl::Status CheckKeys(const TableInfo& table, std::span<const Key> keys);
absl::Status CheckStride(const TableInfo& table, const void* data, size_t stride, size_t rows);
absl::Status CheckBags(const TableInfo& table, std::span<const Key> keys,
                       std::span<const uint32_t> offsets);
absl::StatusOr<const Codec*> NeedCodec(CodecId id);
// What a pooled sum of `count` rows is divided by; 1 for an empty bag.
float PoolingDivisor(Pooling pooling, size_t count);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_PUSH_PLAN_H_
