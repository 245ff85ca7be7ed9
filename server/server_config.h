// What ps-server is told by flags and file.
#ifndef SYNCLINE_SERVER_SERVER_CONFIG_H_
#define SYNCLINE_SERVER_SERVER_CONFIG_H_

#include <cstdint>
#include <string>

#include "common/config/loader.h"
#include "common/limits.h"
#include "common/metrics/log.h"

namespace syncline {

struct ServerConfig {
  std::string listen = "127.0.0.1:7070";  // port 0: chosen by the system
  std::string advertise;                  // empty: as `listen`, with the port bound
  std::string name = "server-0";          // stable over restarts, unique in the cluster
  std::string coordinator;                // empty or "self": this server hosts the coordinator
  uint32_t servers = 1;                   // that the hosted coordinator waits for
  uint32_t slots = kDefaultSlotCount;
  std::string data_dir;      // of the hosted coordinator; empty: "syncline-<name>"
  uint32_t executors = 0;    // 0: one per core
  std::string admin_listen;  // empty: no admin port
  std::string port_file;     // written when listening: "listen=host:port", "admin=host:port"
  bool allow_plaintext = false;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kAuto;

  bool HostsCoordinator() const { return coordinator.empty() || coordinator == "self"; }
};

// Declares the flags. `config` must outlive the loader.
void AddServerFlags(Loader& loader, ServerConfig& config);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVER_CONFIG_H_
