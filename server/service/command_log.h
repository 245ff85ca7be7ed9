// The coordinator's numbered commands to this server (S1), without a transport.
#ifndef SYNCLINE_SERVER_SERVICE_COMMAND_LOG_H_
#define SYNCLINE_SERVER_SERVICE_COMMAND_LOG_H_

#include <cstdint>
#include <deque>

#include "absl/status/statusor.h"

#include "common/thread/mutex.h"
#include "proto/coordinator.pb.h"
#include "server/executor/slot_host.h"
#include "server/service/server_state.h"

namespace syncline {

// Answers kept for repeated commands. The coordinator sends one at a time, so only the last can be
// asked for again; the rest is slack.
inline constexpr size_t kKeptCommandReplies = 64;

// Applies each command once, in order of its number, to every slot. Thread-safe; commands are
// applied one at a time, and Execute returns when every slot has applied it.
class CommandLog {
 public:
  // REQUIRES: both outlive this object.
  CommandLog(SlotHost& host, ServerState& state) : host_(host), state_(state) {}

  // A command that the slots refuse is applied all the same: the error is in the reply.
  // Errors, nothing changed:
  //   FAILED_PRECONDITION  for another start of this server, or from an older term
  //   OUT_OF_RANGE         not the next number; the message names the last
  absl::StatusOr<v1::CommandReply> Execute(const v1::Command& command);
  uint64_t last() const;

 private:
  absl::Status Apply(const v1::Command& command, v1::CommandReply& reply);
  absl::Status ApplyMap(const v1::ClusterMap& map);

  SlotHost& host_;
  ServerState& state_;
  mutable Mutex mutex_;
  uint64_t term_ GUARDED_BY(mutex_) = 0;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::deque<v1::CommandReply> replies_ GUARDED_BY(mutex_);  // the newest at the back
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_COMMAND_LOG_H_
