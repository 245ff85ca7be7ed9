// Makes a server known to the coordinator, and keeps it so.
#ifndef SYNCLINE_SERVER_COORDINATOR_REGISTRATION_H_
#define SYNCLINE_SERVER_COORDINATOR_REGISTRATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

#include "common/net/channel_factory.h"
#include "common/thread/mutex.h"
#include "common/thread/thread.h"
#include "proto/coordinator.grpc.pb.h"
#include "server/coordinator/coordinator_types.h"

namespace syncline::coordinator {

struct RegistrationOptions {
  std::string coordinator;  // host:port
  RegisterRequest server;   // what it is known by
  ConnectionOptions connections;
};

struct RegistrationCallbacks {
  // The number of the last command that this server applied.
  std::function<uint64_t()> last_command;
  // After every registration, also repeated ones. May be null.
  std::function<void(const RegisterResult&)> registered;
  // Why the coordinator cannot be reached or refuses; OK when it answers again. Called when that
  // changes. May be null.
  std::function<void(const absl::Status&)> problem;
};

// Registers, with a growing pause between attempts, then sends a heartbeat as often as the
// coordinator asked, and registers again when told to. A refusal is tried again too: the operator
// may end the process that holds the name. Callbacks run on a thread of its own.
class Registration {
 public:
  // Errors: MakeChannel's.
  static absl::StatusOr<std::unique_ptr<Registration>> Start(RegistrationOptions options,
                                                             RegistrationCallbacks callbacks);
  ~Registration() { Stop(); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // Ends the call under way and the thread. Idempotent. Not from a callback.
  void Stop();

 private:
  Registration(RegistrationOptions options, RegistrationCallbacks callbacks)
      : options_(std::move(options)), callbacks_(std::move(callbacks)) {}

  void Loop();
  bool Register();
  // False: register again.
  bool Beat();
  void Tell(const absl::Status& status);
  // False: stopped.
  bool Sleep(std::chrono::milliseconds d);
  template <typename Request, typename Reply>
  absl::Status Call(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Reply*),
                    const Request& request, Reply* reply, std::string_view name);

  const RegistrationOptions options_;
  const RegistrationCallbacks callbacks_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  grpc::ClientContext* calling_ GUARDED_BY(mutex_) = nullptr;
  // Below: the thread alone.
  RegisterResult result_;
  absl::Status told_;
  Thread thread_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_REGISTRATION_H_
