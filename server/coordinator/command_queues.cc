#include "server/coordinator/command_queues.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"

namespace syncline::coordinator {

void CommandQueues::Start(ServerId server, uint64_t boot, std::string endpoint) {
  Queue queue;
  queue.boot = boot;
  queue.endpoint = std::move(endpoint);
  queues_[server] = std::move(queue);
}

void CommandQueues::SetEndpoint(ServerId server, std::string endpoint) {
  queues_.at(server).endpoint = std::move(endpoint);
}

uint64_t CommandQueues::Add(ServerId server, CommandBody body, MonotonicTime now,
                            std::vector<Dispatch>& out) {
  Queue& queue = queues_.at(server);
  ++queue.last;
  queue.unacknowledged.push_back({term_, queue.boot, queue.last, std::move(body)});
  if (queue.unacknowledged.size() == 1) SendOldest(server, queue, now, out);
  return queue.last;
}

void CommandQueues::SendOldest(ServerId server, Queue& queue, MonotonicTime now,
                               std::vector<Dispatch>& out) {
  queue.resend_at = MonotonicTime::Max();
  if (queue.unacknowledged.empty()) return;
  queue.resend_at = now + kCommandResend;
  out.push_back({server, queue.endpoint, queue.unacknowledged.front()});
}

bool CommandQueues::OnReply(ServerId server, const Command& command, const CommandReply& reply,
                            MonotonicTime now, std::vector<Dispatch>& out) {
  const auto it = queues_.find(server);
  if (it == queues_.end()) return false;
  Queue& queue = it->second;
  if (command.term != term_ || command.boot != queue.boot || queue.unacknowledged.empty() ||
      command.number != queue.unacknowledged.front().number) {
    return false;
  }
  if (reply.last < command.number) {
    queue.resend_at = std::min(queue.resend_at, now + kCommandRetry);
    return false;
  }
  queue.unacknowledged.pop_front();
  SendOldest(server, queue, now, out);
  return true;
}

void CommandQueues::OnTimer(MonotonicTime now, std::vector<Dispatch>& out) {
  for (auto& [server, queue] : queues_) {
    if (queue.resend_at <= now) SendOldest(server, queue, now, out);
  }
}

uint64_t CommandQueues::last(ServerId server) const {
  const auto it = queues_.find(server);
  return it == queues_.end() ? 0 : it->second.last;
}

size_t CommandQueues::depth() const {
  size_t deepest = 0;
  for (const auto& [server, queue] : queues_) {
    deepest = std::max(deepest, queue.unacknowledged.size());
  }
  return deepest;
}

}  // namespace syncline::coordinator
