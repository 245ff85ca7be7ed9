// What a server is and knows about its cluster.
#ifndef SYNCLINE_SERVER_SERVICE_SERVER_STATE_H_
#define SYNCLINE_SERVER_SERVICE_SERVER_STATE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "common/slot_map/slot_map.h"
#include "common/thread/mutex.h"
#include "common/time_source.h"
#include "common/types.h"

namespace syncline {

// Shared by the services of one server. Thread-safe.
class ServerState {
 public:
  // `boot` is drawn anew at every start. REQUIRES: `time` outlives this object.
  ServerState(std::string name, std::string version, uint64_t boot, bool hosts_coordinator,
              const TimeSource& time)
      : name_(std::move(name)),
        version_(std::move(version)),
        boot_(boot),
        hosts_coordinator_(hosts_coordinator),
        time_(time),
        started_(time.Now()) {}

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  uint64_t boot() const { return boot_; }
  bool hosts_coordinator() const { return hosts_coordinator_; }
  double UptimeSeconds() const {
    return std::chrono::duration<double>(time_.Now() - started_).count();
  }

  // The number that the coordinator gave; 0 before registration.
  ServerId server() const;
  void SetServer(ServerId server);

  std::shared_ptr<const SlotMap> map() const;  // null before the first
  void SetMap(std::shared_ptr<const SlotMap> map);

  // Registration and heartbeats say whether the coordinator answers; empty: it does.
  void SetCoordinatorProblem(std::string problem);
  void BeginStop();
  bool stopping() const;
  // Why this server is not ready for clients, with what to do about it; empty: it is. Training goes
  // on without the coordinator, so its absence matters only before the first map.
  std::string NotReadyReason() const;

 private:
  const std::string name_;
  const std::string version_;
  const uint64_t boot_;
  const bool hosts_coordinator_;
  const TimeSource& time_;
  const MonotonicTime started_;
  mutable Mutex mutex_;
  ServerId server_ GUARDED_BY(mutex_);
  std::shared_ptr<const SlotMap> map_ GUARDED_BY(mutex_);
  std::string coordinator_problem_ GUARDED_BY(mutex_) = "not registered at the coordinator yet";
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_SERVER_STATE_H_
