#include "server/coordinator/server_registry.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/limits.h"
#include "common/status/status.h"
#include "server/coordinator/catalog.h"

namespace syncline::coordinator {
namespace {

std::chrono::milliseconds Age(MonotonicTime then, MonotonicTime now) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - then);
}

bool IsLive(const ServerRegistry::Server& server, MonotonicTime now) {
  return server.registered && now - server.heard < kServerSilentAfter;
}

}  // namespace

void ServerRegistry::RestoreServer(ServerEntry entry) {
  const ServerId id = entry.id;
  servers_[id].entry = std::move(entry);
}

ServerRegistry::Server* ServerRegistry::FindByName(const std::string& name) {
  for (auto& [id, server] : servers_) {
    if (server.entry.name == name) return &server;
  }
  return nullptr;
}

const ServerRegistry::Server* ServerRegistry::Find(ServerId id) const {
  const auto it = servers_.find(id);
  return it == servers_.end() ? nullptr : &it->second;
}

absl::StatusOr<ServerRegistry::Server*> ServerRegistry::FindOrAdd(const RegisterRequest& request) {
  if (Server* known = FindByName(request.name)) return known;
  if (servers_.size() >= expected_) {
    std::string names;
    for (const auto& [id, server] : servers_) names += " " + server.entry.name;
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "server {}: the cluster has its {} servers ({} ); start it under one of these "
                     "names",
                     request.name, expected_, names);
  }
  const ServerId id(static_cast<uint32_t>(servers_.size()));
  Server& added = servers_[id];
  added.entry.id = id;
  added.entry.name = request.name;
  return &added;
}

absl::StatusOr<ServerRegistry::Registration> ServerRegistry::Register(
    const RegisterRequest& request, MonotonicTime now) {
  if (!IsName(request.name) || request.endpoint.empty() ||
      request.endpoint.size() > kMaxClientTextBytes || request.boot == 0) {
    return InvalidArgument(
        "a server registers with a name (1 to {} letters, digits, '_', '-' and '.'), an endpoint "
        "and a boot number",
        kMaxNameBytes);
  }
  ASSIGN_OR_RETURN(Server* const server, FindOrAdd(request));
  ServerEntry& entry = server->entry;
  Registration result;
  result.id = entry.id;
  result.new_boot = entry.boot != request.boot;
  result.new_endpoint = entry.endpoint != request.endpoint;
  if (result.new_boot && result.new_endpoint && IsLive(*server, now)) {
    return MakeError(absl::StatusCode::kAlreadyExists, Detail::kNone,
                     "server name {} is in use by {}, heard of {} ms ago; give each server a name "
                     "of its own, or wait until that one is gone",
                     request.name, entry.endpoint, Age(server->heard, now).count());
  }
  result.first = result.new_boot || !server->registered;
  entry.boot = request.boot;
  entry.endpoint = request.endpoint;
  server->version = request.version;
  server->registered = true;
  server->heard = now;
  UpdateMap(*server, result);
  return result;
}

std::vector<ServerEntry> ServerRegistry::Entries() const {
  std::vector<ServerEntry> entries;
  for (const auto& [id, server] : servers_) entries.push_back(server.entry);
  return entries;
}

void ServerRegistry::UpdateMap(const Server& server, Registration& registration) {
  if (map_ == nullptr && servers_.size() < expected_) return;
  if (map_ != nullptr && !registration.new_boot && !registration.new_endpoint) return;
  registration.map_completed = map_ == nullptr;
  registration.map_changed = true;
  absl::StatusOr<SlotMap> made;
  if (map_ == nullptr) {
    made = SlotMap::Initial(cluster_, slot_count_, Entries());
  } else {
    std::vector<SlotEntry> slots(map_->slots().begin(), map_->slots().end());
    for (SlotEntry& slot : slots) {
      if (registration.new_boot && slot.server == server.entry.id) ++slot.incarnation;
    }
    const Epoch epoch = registration.new_endpoint ? map_->epoch().Next() : map_->epoch();
    made = SlotMap::Make(cluster_, epoch, Entries(), std::move(slots));
  }
  SYNCLINE_CHECK(made.ok(), made.status().ToString());
  RestoreMap(std::move(made).value());
}

bool ServerRegistry::Heartbeat(ServerId id, uint64_t boot, MonotonicTime now) {
  const auto it = servers_.find(id);
  if (it == servers_.end()) return false;
  Server& server = it->second;
  if (!server.registered || server.entry.boot != boot) return false;
  server.heard = now;
  return true;
}

absl::Status ServerRegistry::CheckAllPresent() const {
  std::string missing;
  size_t present = 0;
  for (const auto& [id, server] : servers_) {
    if (server.registered) {
      ++present;
    } else {
      missing += fmt::format(" {} ({})", server.entry.name, server.entry.endpoint);
    }
  }
  if (present >= expected_ && map_ != nullptr) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnavailable, Detail::kNone,
                   "{} of {} servers have registered{}{}; start the others and retry", present,
                   expected_, missing.empty() ? "" : ", missing:", missing);
}

MapView ServerRegistry::View() const { return {cluster_, slot_count_, expected_, Entries(), map_}; }

std::vector<ServerInfo> ServerRegistry::List(MonotonicTime now) const {
  std::vector<ServerInfo> list;
  for (const auto& [id, server] : servers_) {
    ServerInfo info{server.entry, 0, std::chrono::milliseconds(0), IsLive(server, now),
                    server.version};
    if (map_ != nullptr) info.slots = static_cast<uint32_t>(map_->SlotsOf(id).size());
    if (server.registered) info.heartbeat_age = Age(server.heard, now);
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace syncline::coordinator
