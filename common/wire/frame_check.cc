#include "common/wire/frame_check.h"

#include <string_view>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

absl::Status CheckWhole(SlotId slot, std::string_view field, size_t bytes, size_t unit) {
  if (bytes % unit == 0) return absl::OkStatus();
  return InvalidArgument("slot {}: {} has {} bytes, not a multiple of {}", slot.value(), field,
                         bytes, unit);
}

absl::Status CheckBagCount(uint32_t bag_count) {
  if (bag_count <= kMaxBagsPerFrame) return absl::OkStatus();
  return InvalidArgument("bag_count is {}, the limit is {}; split the request", bag_count,
                         kMaxBagsPerFrame);
}

// From 0, ascending, to the number of ids.
absl::Status CheckOffsets(SlotId slot, const ByteView& offsets, size_t ids) {
  uint32_t last = 0;
  bool first = true;
  const bool good = offsets.ForEachU32([&](uint32_t offset) {
    if (first ? offset != 0 : (offset < last || offset > ids)) return false;
    first = false;
    last = offset;
    return true;
  });
  if (good && last == ids) return absl::OkStatus();
  return InvalidArgument("slot {}: bag_offsets must ascend from 0 to the number of bag ids, {}",
                         slot.value(), ids);
}

absl::Status CheckIds(SlotId slot, const ByteView& ids, uint32_t bag_count) {
  uint32_t bad = 0;
  const bool good = ids.ForEachU32([&](uint32_t id) {
    bad = id;
    return id < bag_count;
  });
  if (good) return absl::OkStatus();
  return InvalidArgument("slot {}: bag id {} is not below bag_count, {}", slot.value(), bad,
                         bag_count);
}

template <typename Part>
absl::Status CheckBags(const Part& part, uint32_t bag_count) {
  if (bag_count == 0) {
    if (part.bag_offsets.empty() && part.bag_ids.empty()) return absl::OkStatus();
    return InvalidArgument("slot {}: bag fields in a request with bag_count 0", part.slot.value());
  }
  RETURN_IF_ERROR(CheckWhole(part.slot, "bag_ids", part.bag_ids.size(), sizeof(uint32_t)));
  const size_t keys = part.key_count();
  if (keys == 0 && part.bag_offsets.empty() && part.bag_ids.empty()) return absl::OkStatus();
  if (part.bag_offsets.size() != (keys + 1) * sizeof(uint32_t)) {
    return InvalidArgument("slot {}: {} keys need {} bytes of bag_offsets, not {}",
                           part.slot.value(), keys, (keys + 1) * sizeof(uint32_t),
                           part.bag_offsets.size());
  }
  RETURN_IF_ERROR(
      CheckOffsets(part.slot, part.bag_offsets, part.bag_ids.size() / sizeof(uint32_t)));
  return CheckIds(part.slot, part.bag_ids, bag_count);
}

absl::Status CheckPlaceholder(const PushPart& part) {
  if (!IsFinal(part.placeholder)) {
    return InvalidArgument("slot {}: placeholder {} is no final outcome", part.slot.value(),
                           static_cast<int>(part.placeholder));
  }
  if (part.keys.empty() && part.values.empty() && part.bag_offsets.empty() &&
      part.bag_ids.empty()) {
    return absl::OkStatus();
  }
  return InvalidArgument("slot {}: a placeholder carries no content", part.slot.value());
}

absl::Status CheckValues(const PushPart& part, uint32_t bag_count) {
  if (part.values.empty()) return absl::OkStatus();
  const size_t keys = part.key_count();
  if (bag_count > 0 || keys == 0) {
    return InvalidArgument("slot {}: values without keys, or in a request of bags",
                           part.slot.value());
  }
  return CheckWhole(part.slot, "values", part.values.size(), keys);
}

absl::Status CheckPart(const PushPart& part, uint32_t bag_count) {
  if (part.placeholder != Outcome::kUnspecified) return CheckPlaceholder(part);
  RETURN_IF_ERROR(CheckValues(part, bag_count));
  return CheckBags(part, bag_count);
}

absl::Status CheckPart(const PullPart& part, uint32_t bag_count) {
  return CheckBags(part, bag_count);
}

template <typename Frame>
absl::Status CheckParts(const Frame& frame) {
  RETURN_IF_ERROR(CheckBagCount(frame.bag_count));
  size_t keys = 0;
  for (const auto& part : frame.parts) {
    RETURN_IF_ERROR(CheckWhole(part.slot, "keys", part.keys.size(), sizeof(Key)));
    keys += part.key_count();
  }
  if (keys > kMaxKeysPerFrame) {
    return InvalidArgument("{} keys in one request, the limit is {}; split it", keys,
                           kMaxKeysPerFrame);
  }
  for (const auto& part : frame.parts) RETURN_IF_ERROR(CheckPart(part, frame.bag_count));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFrame(const PushFrame& push) {
  RETURN_IF_ERROR(CheckParts(push));
  if (push.bag_count == 0) {
    if (push.bag_values.empty()) return absl::OkStatus();
    return InvalidArgument("bag_values in a push with bag_count 0");
  }
  if (push.bag_values.size() % push.bag_count == 0) return absl::OkStatus();
  return InvalidArgument("bag_values has {} bytes, which {} bags do not divide",
                         push.bag_values.size(), push.bag_count);
}

absl::Status CheckFrame(const PullFrame& pull) { return CheckParts(pull); }

}  // namespace syncline
