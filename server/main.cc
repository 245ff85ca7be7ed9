// ps-server: serves shards of parameters; one of a cluster also hosts the coordinator.
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include <signal.h>

#include "common/config/loader.h"
#include "common/metrics/log.h"
#include "common/net/malloc_tuning.h"
#include "common/random.h"
#include "common/status/status.h"
#include "common/time_source.h"
#include "common/version.h"
#include "server/ps_server.h"
#include "server/server_config.h"

namespace syncline {
namespace {

// The signals that end the process are taken by sigwait here and blocked in every thread made
// later.
sigset_t BlockEndSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// Written whole under another name first: a script never reads half of it.
absl::Status WritePortFile(const std::string& path, const PsServer& server) {
  const std::string unfinished = path + ".tmp";
  {
    std::ofstream out(unfinished, std::ios::trunc);
    out << "listen=" << server.endpoint() << "\n";
    if (!server.admin_endpoint().empty()) out << "admin=" << server.admin_endpoint() << "\n";
    out.close();
    if (!out) return absl::UnavailableError(fmt::format("cannot write {}", unfinished));
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return absl::UnavailableError(fmt::format("cannot write {}", path));
  }
  return absl::OkStatus();
}

int Run(const ServerConfig& config) {
  const sigset_t end_signals = BlockEndSignals();
  InitLogging({.level = config.log_level, .format = config.log_format});
  const Logger log("ps-server");
  const SystemTimeSource time;
  SystemRandom random;
  absl::StatusOr<std::unique_ptr<PsServer>> server = PsServer::Start(config, time, random);
  absl::Status status = server.status();
  if (status.ok() && !config.port_file.empty()) status = WritePortFile(config.port_file, **server);
  if (!status.ok()) {
    log.Error("cannot start: {}", MessageOf(status));
    return 1;
  }
  fmt::print("listening on {}\n", (*server)->endpoint());
  if (!(*server)->admin_endpoint().empty()) {
    fmt::print("admin port on {}\n", (*server)->admin_endpoint());
  }
  std::fflush(stdout);
  int number = 0;
  sigwait(&end_signals, &number);
  log.Info("signal {}: stopping", number);
  (*server)->Shutdown();
  log.Info("stopped");
  return 0;
}

}  // namespace
}  // namespace syncline

int main(int argc, char** argv) {
  syncline::TuneMalloc();
  syncline::ServerConfig config;
  syncline::Loader loader("ps-server", syncline::kVersion, "Serves shards of parameters.");
  syncline::AddServerFlags(loader, config);
  if (const std::optional<int> code = loader.ParseOrExitCode(argc, argv)) return *code;
  return syncline::Run(config);
}
