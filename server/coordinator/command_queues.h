// Numbers commands to servers and repeats them until they are acknowledged (PROTOCOL.md S1).
#ifndef SYNCLINE_SERVER_COORDINATOR_COMMAND_QUEUES_H_
#define SYNCLINE_SERVER_COORDINATOR_COMMAND_QUEUES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "common/time_source.h"
#include "common/types.h"
#include "server/coordinator/coordinator_types.h"

namespace syncline::coordinator {

// One queue per server: numbers 1, 2, 3, ... without gaps for each (term, boot). Only the oldest
// unacknowledged command of a queue is on its way at a time, so order on the wire does not matter;
// it is sent again until its acknowledgement comes. The server applies each number once.
//
// Pure and single-threaded.
class CommandQueues {
 public:
  explicit CommandQueues(uint64_t term) : term_(term) {}

  // Starts a queue at number 1. What was queued for another boot of the server is dropped: that
  // process is gone.
  void Start(ServerId server, uint64_t boot, std::string endpoint);
  void SetEndpoint(ServerId server, std::string endpoint);

  // Queues, and sends when nothing is on its way. Returns the command's number.
  // REQUIRES: the queue was started.
  uint64_t Add(ServerId server, CommandBody body, MonotonicTime now, std::vector<Dispatch>& out);

  // True when `reply` acknowledges the command on its way; the next one is sent then. False:
  // ignored (a repeated or late reply, another boot or term), or the command is sent again later.
  bool OnReply(ServerId server, const Command& command, const CommandReply& reply,
               MonotonicTime now, std::vector<Dispatch>& out);

  // Sends again what was not acknowledged for too long.
  void OnTimer(MonotonicTime now, std::vector<Dispatch>& out);

  bool started(ServerId server) const { return queues_.contains(server); }
  // Number of the newest queued command; 0: none yet.
  uint64_t last(ServerId server) const;
  // The longest queue.
  size_t depth() const;

 private:
  struct Queue {
    uint64_t boot = 0;
    std::string endpoint;
    uint64_t last = 0;
    std::deque<Command> unacknowledged;
    MonotonicTime resend_at = MonotonicTime::Max();
  };

  void SendOldest(ServerId server, Queue& queue, MonotonicTime now, std::vector<Dispatch>& out);

  const uint64_t term_;
  std::map<ServerId, Queue> queues_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COMMAND_QUEUES_H_
