// A cluster of real ps-server processes on loopback, for tests that need what only processes have:
// memory of their own, kill, pause.
#ifndef SYNCLINE_TESTS_SUPPORT_PROCESS_CLUSTER_H_
#define SYNCLINE_TESTS_SUPPORT_PROCESS_CLUSTER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace syncline {

struct ProcessClusterOptions {
  std::string program;  // path of ps-server
  uint32_t servers = 1;
  uint32_t slots = 64;
  // Where clients are told that server i is (a relay); missing or empty: where it listens.
  std::vector<std::string> advertise = {};
  std::vector<std::string> arguments = {};  // for every server
};

// Not thread-safe; as ChildProcess, start it from the main thread.
class ProcessCluster {
 public:
  // Returns when every server listens; the map may need the relays' targets first: see WaitReady.
  // Errors: DEADLINE_EXCEEDED or UNAVAILABLE with the end of the server's log.
  static absl::StatusOr<std::unique_ptr<ProcessCluster>> Start(
      const ProcessClusterOptions& options);

  // Waits for the coordinator's complete map.
  absl::Status WaitReady(std::chrono::milliseconds time = std::chrono::seconds(20));

  // Server 0 hosts the coordinator.
  const std::string& coordinator() const { return endpoints_.at(0); }
  // Where server i really listens.
  const std::string& endpoint(size_t i) const { return endpoints_.at(i); }
  ChildProcess& server(size_t i) { return *servers_.at(i); }
  const std::string& folder() const { return folder_.path(); }

 private:
  explicit ProcessCluster(const ProcessClusterOptions& options) : options_(options) {}
  absl::Status StartServer(uint32_t index);

  const ProcessClusterOptions options_;
  TempDir folder_;
  std::vector<std::string> endpoints_;
  std::vector<std::unique_ptr<ChildProcess>> servers_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_PROCESS_CLUSTER_H_
