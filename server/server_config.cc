#include "server/server_config.h"

#include "common/config/log_level_choices.h"
#include "common/limits.h"
#include "common/net/channel_factory.h"
#include "server/coordinator/catalog.h"

namespace syncline {
namespace {

// Also "host:0", for any free port; a unix socket has no port to announce.
bool IsHostPort(const std::string& text) {
  return IsEndpoint(text) && text.find("unix:") == std::string::npos;
}

void Validate(const ServerConfig& config, Problems& problems) {
  if (!IsHostPort(config.listen)) problems.Add("--listen is '{}': write host:port", config.listen);
  if (!config.admin_listen.empty() && !IsHostPort(config.admin_listen)) {
    problems.Add("--admin-listen is '{}': write host:port", config.admin_listen);
  }
  if (!config.HostsCoordinator() && !IsHostPort(config.coordinator)) {
    problems.Add("--coordinator is '{}': write host:port, or leave it out to host it here",
                 config.coordinator);
  }
  if (!config.advertise.empty() && !IsHostPort(config.advertise)) {
    problems.Add("--advertise is '{}': write host:port", config.advertise);
  }
  if (!coordinator::IsName(config.name)) {
    problems.Add("--name is '{}': 1 to {} letters, digits, '_', '-' and '.' are allowed",
                 config.name, kMaxNameBytes);
  }
  if (config.servers == 0 || config.servers > kMaxServers) {
    problems.Add("--servers is {}: 1 to {} are allowed", config.servers, kMaxServers);
  }
  if (config.slots == 0 || (config.slots & (config.slots - 1)) != 0 ||
      config.slots > kMaxSlotCount) {
    problems.Add("--slots is {}: a power of two up to {} is needed", config.slots, kMaxSlotCount);
  }
  if (config.executors > kMaxExecutorsPerServer) {
    problems.Add("--executors is {}: at most {} are allowed", config.executors,
                 kMaxExecutorsPerServer);
  }
}

}  // namespace

void AddServerFlags(Loader& loader, ServerConfig& config) {
  loader.Add("--listen", config.listen, "address to serve on, host:port; port 0: any free one");
  loader.Add("--advertise", config.advertise, "address that others reach this server at");
  loader.Add("--name", config.name, "name of this server: stable over restarts, unique");
  loader.Add("--coordinator", config.coordinator,
             "the coordinator's address; empty or self: this server hosts it");
  loader.Add("--servers", config.servers, "servers of the cluster (with the hosted coordinator)");
  loader.Add("--slots", config.slots, "slots of a new cluster (with the hosted coordinator)");
  loader.Add("--data-dir", config.data_dir, "where the hosted coordinator keeps its records");
  loader.Add("--executors", config.executors, "executors of this server; 0: one per core");
  loader.Add("--admin-listen", config.admin_listen,
             "address of the admin port (metrics, health, status); empty: none");
  loader.Add("--port-file", config.port_file, "file to write the addresses bound to");
  loader.Add("--allow-plaintext", config.allow_plaintext,
             "serve and connect beyond this machine without encryption");
  loader.AddChoice("--log-level", config.log_level, LogLevelChoices(),
                   "least severe lines to write");
  loader.AddChoice(
      "--log-format", config.log_format,
      {{"auto", LogFormat::kAuto}, {"json", LogFormat::kJson}, {"human", LogFormat::kHuman}},
      "form of the lines; auto: human on a terminal");
  loader.AddValidator([&config](Problems& problems) { Validate(config, problems); });
}

}  // namespace syncline
