#include "common/slot_map/slot_map.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

const ServerEntry* Find(std::span<const ServerEntry> servers, ServerId id) {
  const auto it = std::lower_bound(servers.begin(), servers.end(), id,
                                   [](const ServerEntry& e, ServerId i) { return e.id < i; });
  return it == servers.end() || it->id != id ? nullptr : &*it;
}

absl::Status CheckServers(std::span<const ServerEntry> sorted) {
  if (sorted.size() > kMaxServers) {
    return InvalidArgument("{} servers, the limit is {}", sorted.size(), kMaxServers);
  }
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].id == sorted[i - 1].id) {
      return InvalidArgument("server {} is listed twice: as {} and as {}", sorted[i].id.value(),
                             sorted[i - 1].name, sorted[i].name);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSlots(std::span<const SlotEntry> slots, std::span<const ServerEntry> servers) {
  if (!std::has_single_bit(slots.size()) || slots.size() > kMaxSlotCount) {
    return InvalidArgument("slot count {} is no power of two from 1 to {}", slots.size(),
                           kMaxSlotCount);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (Find(servers, slots[i].server) == nullptr) {
      return InvalidArgument("slot {} belongs to server {}, which is not listed", i,
                             slots[i].server.value());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SlotMap> SlotMap::Make(std::string cluster, Epoch epoch,
                                      std::vector<ServerEntry> servers,
                                      std::vector<SlotEntry> slots) {
  std::sort(servers.begin(), servers.end(),
            [](const ServerEntry& a, const ServerEntry& b) { return a.id < b.id; });
  RETURN_IF_ERROR(CheckServers(servers));
  RETURN_IF_ERROR(CheckSlots(slots, servers));
  SlotMap map;
  map.cluster_ = std::move(cluster);
  map.epoch_ = epoch;
  map.servers_ = std::move(servers);
  map.slots_ = std::move(slots);
  return map;
}

absl::StatusOr<SlotMap> SlotMap::Initial(std::string cluster, uint32_t slot_count,
                                         std::vector<ServerEntry> servers) {
  if (servers.empty()) return InvalidArgument("a cluster needs at least one server");
  if (slot_count > kMaxSlotCount) {
    return InvalidArgument("slot count {} is above {}", slot_count, kMaxSlotCount);
  }
  std::vector<SlotEntry> slots(slot_count);
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i] = {servers[i % servers.size()].id, Incarnation(1)};
  }
  return Make(std::move(cluster), Epoch(1), std::move(servers), std::move(slots));
}

const ServerEntry* SlotMap::FindServer(ServerId id) const { return Find(servers_, id); }

std::vector<SlotId> SlotMap::SlotsOf(ServerId id) const {
  std::vector<SlotId> owned;
  for (uint32_t i = 0; i < slot_count(); ++i) {
    if (slots_[i].server == id) owned.emplace_back(i);
  }
  return owned;
}

}  // namespace syncline
