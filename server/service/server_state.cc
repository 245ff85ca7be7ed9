#include "server/service/server_state.h"

#include <utility>

namespace syncline {

ServerId ServerState::server() const {
  MutexLock lock(mutex_);
  return server_;
}

void ServerState::SetServer(ServerId server) {
  MutexLock lock(mutex_);
  server_ = server;
}

std::shared_ptr<const SlotMap> ServerState::map() const {
  MutexLock lock(mutex_);
  return map_;
}

void ServerState::SetMap(std::shared_ptr<const SlotMap> map) {
  MutexLock lock(mutex_);
  map_ = std::move(map);
}

void ServerState::SetCoordinatorProblem(std::string problem) {
  MutexLock lock(mutex_);
  coordinator_problem_ = std::move(problem);
}

void ServerState::BeginStop() {
  MutexLock lock(mutex_);
  stopping_ = true;
}

bool ServerState::stopping() const {
  MutexLock lock(mutex_);
  return stopping_;
}

std::string ServerState::NotReadyReason() const {
  MutexLock lock(mutex_);
  if (stopping_) return "the server is stopping";
  if (map_ != nullptr) return "";
  if (!coordinator_problem_.empty()) return coordinator_problem_;
  return "no cluster map yet: fewer servers have registered than --servers says";
}

}  // namespace syncline
