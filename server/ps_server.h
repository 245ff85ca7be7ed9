// One ps-server: everything that runs in its process, put together.
#ifndef SYNCLINE_SERVER_PS_SERVER_H_
#define SYNCLINE_SERVER_PS_SERVER_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/random.h"
#include "common/time_source.h"
#include "server/server_config.h"
#include "server/service/server_state.h"

namespace syncline {

// How long Shutdown lets operations under way end by themselves.
inline constexpr std::chrono::seconds kDrainTimeout{1};

// Serves from Start until Shutdown. Several may live in one process (tests).
class PsServer {
 public:
  // Opens the coordinator's records when it is hosted here, binds the ports, serves, registers.
  // Returns when clients can connect; the map comes when enough servers have registered.
  // REQUIRES: `time` and `random` outlive it; `time` is the system's. Names of the config are valid
  // (AddServerFlags).
  // Errors: UNAVAILABLE (a port cannot be bound, the data folder is in use), FAILED_PRECONDITION
  // (plaintext beyond loopback, a data folder of another cluster), DATA_LOSS (damaged records).
  static absl::StatusOr<std::unique_ptr<PsServer>> Start(const ServerConfig& config,
                                                         const TimeSource& time, Random& random);
  // Shuts down.
  ~PsServer();
  PsServer(const PsServer&) = delete;
  PsServer& operator=(const PsServer&) = delete;

  // Takes no more operations (they get UNAVAILABLE), answers 503 on /readyz, lets what is under way
  // end for kDrainTimeout, then closes. Idempotent.
  void Shutdown();

  const std::string& endpoint() const;        // host:port, as bound
  const std::string& admin_endpoint() const;  // empty: no admin port
  const ServerState& state() const;

 private:
  struct Impl;
  explicit PsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_PS_SERVER_H_
