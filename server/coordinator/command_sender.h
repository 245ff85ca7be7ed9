// Carries commands to servers over gRPC.
#ifndef SYNCLINE_SERVER_COORDINATOR_COMMAND_SENDER_H_
#define SYNCLINE_SERVER_COORDINATOR_COMMAND_SENDER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/net/channel_factory.h"
#include "common/thread/mutex.h"
#include "proto/coordinator.grpc.pb.h"
#include "server/coordinator/coordinator_types.h"

namespace syncline::coordinator {

// One attempt per Send, with kControlCallDeadline; whoever sends repeats. Thread-safe.
class CommandSender {
 public:
  // On a gRPC thread, or inside Send. Failed attempts come as UNAVAILABLE.
  using Done = std::function<void(const Dispatch& dispatch, const CommandReply& reply)>;

  CommandSender(const ConnectionOptions& connections, Done done)
      : connections_(connections), done_(std::move(done)) {}
  ~CommandSender() { Stop(); }
  CommandSender(const CommandSender&) = delete;
  CommandSender& operator=(const CommandSender&) = delete;

  void Send(const Dispatch& dispatch);
  // Cancels what is under way and waits for it; later Sends are dropped. Idempotent.
  void Stop();

 private:
  struct Call;
  using Stub = v1::ServerControl::Stub;

  absl::StatusOr<std::shared_ptr<Stub>> StubFor(const std::string& endpoint) REQUIRES(mutex_);
  void OnDone(Call& call, const grpc::Status& status);

  const ConnectionOptions connections_;
  const Done done_;
  Mutex mutex_;
  CondVar idle_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Stub>> stubs_ GUARDED_BY(mutex_);  // by endpoint
  std::map<Call*, std::shared_ptr<Call>> calls_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Call>> finished_ GUARDED_BY(mutex_);  // ended, not destroyed yet
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_COMMAND_SENDER_H_
