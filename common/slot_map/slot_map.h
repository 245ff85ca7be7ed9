// The cluster map: which server owns which slot, under an epoch.
#ifndef SYNCLINE_COMMON_SLOT_MAP_SLOT_MAP_H_
#define SYNCLINE_COMMON_SLOT_MAP_SLOT_MAP_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "common/hash.h"
#include "common/types.h"

namespace syncline {

struct ServerEntry {
  ServerId id;
  std::string name;
  std::string endpoint;  // host:port, or unix:path
  uint64_t boot = 0;     // changes with every start of the process
  bool operator==(const ServerEntry&) const = default;
};

struct SlotEntry {
  ServerId server;
  Incarnation incarnation;
  bool operator==(const SlotEntry&) const = default;
};

// Immutable value; share it by shared_ptr<const SlotMap>.
class SlotMap {
 public:
  SlotMap() = default;

  // Errors: INVALID_ARGUMENT when slots.size() is no power of two up to kMaxSlotCount, a server id
  // is listed twice, or a slot names a server that is not listed.
  static absl::StatusOr<SlotMap> Make(std::string cluster, Epoch epoch,
                                      std::vector<ServerEntry> servers,
                                      std::vector<SlotEntry> slots);
  // The first map of a new cluster: slot i goes to servers[i mod n], incarnation 1 everywhere.
  static absl::StatusOr<SlotMap> Initial(std::string cluster, uint32_t slot_count,
                                         std::vector<ServerEntry> servers);

  const std::string& cluster() const { return cluster_; }
  Epoch epoch() const { return epoch_; }
  uint32_t slot_count() const { return static_cast<uint32_t>(slots_.size()); }
  std::span<const ServerEntry> servers() const { return servers_; }
  std::span<const SlotEntry> slots() const { return slots_; }

  SlotId SlotOfRow(TableId table, Key key) const { return SlotOf(table, key, slot_count()); }
  const SlotEntry& At(SlotId slot) const { return slots_[slot.value()]; }
  // Null when the id is not in the map.
  const ServerEntry* FindServer(ServerId id) const;
  // Ascending.
  std::vector<SlotId> SlotsOf(ServerId id) const;

 private:
  std::string cluster_;
  Epoch epoch_;
  std::vector<ServerEntry> servers_;  // ascending by id
  std::vector<SlotEntry> slots_;      // by slot
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_SLOT_MAP_SLOT_MAP_H_
