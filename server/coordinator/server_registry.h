// The servers of the cluster and the map of slots to them.
#ifndef SYNCLINE_SERVER_COORDINATOR_SERVER_REGISTRY_H_
#define SYNCLINE_SERVER_COORDINATOR_SERVER_REGISTRY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "common/slot_map/slot_map.h"
#include "common/time_source.h"
#include "common/types.h"
#include "server/coordinator/coordinator_types.h"

namespace syncline::coordinator {

// A server's name keeps its id for ever. The map is complete, and epoch 1 begins, when as many
// servers as the cluster expects have registered. The epoch is raised when an endpoint changes; a
// new boot raises the incarnations of the server's slots alone, because without a journal their
// state went back (J4).
//
// Pure and single-threaded.
class ServerRegistry {
 public:
  struct Server {
    ServerEntry entry;
    bool registered = false;  // since this coordinator started
    MonotonicTime heard;
    std::string version;
  };

  struct Registration {
    ServerId id;
    bool first = false;     // since this coordinator started, or with this boot
    bool new_boot = false;  // another process than the one known under the name
    bool new_endpoint = false;
    bool map_completed = false;
    bool map_changed = false;  // completed, or another epoch, incarnation or boot
  };

  ServerRegistry(std::string cluster, uint32_t slot_count, uint32_t servers_expected)
      : cluster_(std::move(cluster)), slot_count_(slot_count), expected_(servers_expected) {}

  // From the records of an earlier coordinator: known, not registered yet.
  void RestoreServer(ServerEntry entry);
  void RestoreMap(SlotMap map) { map_ = std::make_shared<const SlotMap>(std::move(map)); }

  // Repeating one changes nothing.
  // Errors: INVALID_ARGUMENT (no name, endpoint or boot), ALREADY_EXISTS (another live process has
  // the name), FAILED_PRECONDITION (the cluster has all its servers).
  absl::StatusOr<Registration> Register(const RegisterRequest& request, MonotonicTime now);
  // False: not registered with this boot; the server must register again.
  bool Heartbeat(ServerId id, uint64_t boot, MonotonicTime now);

  // Complete, and every server of it has registered since this coordinator started.
  // Errors: UNAVAILABLE names who is missing.
  absl::Status CheckAllPresent() const;

  const Server* Find(ServerId id) const;
  const std::map<ServerId, Server>& servers() const { return servers_; }
  const std::shared_ptr<const SlotMap>& map() const { return map_; }
  MapView View() const;
  std::vector<ServerInfo> List(MonotonicTime now) const;

 private:
  Server* FindByName(const std::string& name);
  absl::StatusOr<Server*> FindOrAdd(const RegisterRequest& request);
  void UpdateMap(const Server& server, Registration& registration);
  std::vector<ServerEntry> Entries() const;

  const std::string cluster_;
  const uint32_t slot_count_;
  const uint32_t expected_;
  std::map<ServerId, Server> servers_;
  std::shared_ptr<const SlotMap> map_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_SERVER_REGISTRY_H_
