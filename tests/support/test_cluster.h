// A whole cluster in the test's process: real servers, real gRPC, ports chosen by the system.
#ifndef SYNCLINE_TESTS_SUPPORT_TEST_CLUSTER_H_
#define SYNCLINE_TESTS_SUPPORT_TEST_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/random.h"
#include "common/status/status.h"
#include "common/time_source.h"
#include "server/ps_server.h"
#include "tests/support/temp_dir.h"

namespace syncline {

struct TestClusterOptions {
  uint32_t servers = 1;
  uint32_t slots = 16;
  uint32_t executors = 2;  // of each server
  bool admin_ports = false;
};

// Server 0 hosts the coordinator. Ready (every server has the map) when the constructor returns;
// a failure to start ends the test program with the reason.
class TestCluster {
 public:
  explicit TestCluster(const TestClusterOptions& options = {}) : options_(options) {
    servers_.resize(options_.servers);
    for (uint32_t i = 0; i < options_.servers; ++i) Start(i);
    for (uint32_t i = 0; i < options_.servers; ++i) WaitReady(i);
  }
  // Clients must be gone, or their calls fail.
  ~TestCluster() {
    while (!servers_.empty()) servers_.pop_back();
  }

  // The coordinator's address, for clients.
  const std::string& coordinator() const { return endpoints_[0]; }
  const std::string& endpoint(uint32_t i) const { return endpoints_[i]; }
  PsServer& server(uint32_t i) { return *servers_[i]; }
  uint32_t size() const { return options_.servers; }

  // As a kill: nothing of the server's memory survives. Not for server 0 (its coordinator).
  void Stop(uint32_t i) { servers_[i].reset(); }
  // Starts server i again at its old address.
  void Restart(uint32_t i) {
    Start(i);
    WaitReady(i);
  }

 private:
  void Start(uint32_t i) {
    ServerConfig config;
    config.listen = i < endpoints_.size() ? endpoints_[i] : "127.0.0.1:0";
    config.name = fmt::format("server-{}", i);
    if (i > 0) config.coordinator = endpoints_[0];
    config.servers = options_.servers;
    config.slots = options_.slots;
    config.executors = options_.executors;
    config.data_dir = dir_.Sub("coordinator");
    if (options_.admin_ports) config.admin_listen = "127.0.0.1:0";
    absl::StatusOr<std::unique_ptr<PsServer>> server = PsServer::Start(config, time_, random_);
    SYNCLINE_CHECK(server.ok(), server.status().ToString());
    servers_[i] = *std::move(server);
    if (i == endpoints_.size()) endpoints_.push_back(servers_[i]->endpoint());
  }

  void WaitReady(uint32_t i) {
    const MonotonicTime deadline = time_.Now() + std::chrono::seconds(20);
    while (!servers_[i]->state().NotReadyReason().empty()) {
      SYNCLINE_CHECK(time_.Now() < deadline, servers_[i]->state().NotReadyReason());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const TestClusterOptions options_;
  const TempDir dir_;
  const SystemTimeSource time_;
  SystemRandom random_;
  std::vector<std::string> endpoints_;
  std::vector<std::unique_ptr<PsServer>> servers_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_TEST_CLUSTER_H_
