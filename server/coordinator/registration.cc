#include "server/coordinator/registration.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/limits.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"

namespace syncline::coordinator {

absl::StatusOr<std::unique_ptr<Registration>> Registration::Start(RegistrationOptions options,
                                                                  RegistrationCallbacks callbacks) {
  ASSIGN_OR_RETURN(const auto channel, MakeChannel(options.coordinator, options.connections));
  std::unique_ptr<Registration> registration(
      new Registration(std::move(options), std::move(callbacks)));
  registration->stub_ = v1::Coordinator::NewStub(channel);
  registration->thread_ = Thread("registration", [r = registration.get()] { r->Loop(); });
  return registration;
}

void Registration::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    if (calling_ != nullptr) calling_->TryCancel();
    changed_.NotifyAll();
  }
  thread_.Join();
}

bool Registration::Sleep(std::chrono::milliseconds d) {
  const SystemTimeSource time;
  const MonotonicTime deadline = time.Now() + d;
  MutexLock lock(mutex_);
  while (!stopped_) {
    if (!changed_.WaitUntil(mutex_, time, deadline)) return true;
  }
  return false;
}

template <typename Request, typename Reply>
absl::Status Registration::Call(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*,
                                                                              const Request&,
                                                                              Reply*),
                                const Request& request, Reply* reply, std::string_view name) {
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_millis(kControlCallDeadline.count(), GPR_TIMESPAN));
  {
    MutexLock lock(mutex_);
    if (stopped_) return absl::CancelledError();
    calling_ = &context;
  }
  const grpc::Status status = (stub_.get()->*method)(&context, request, reply);
  MutexLock lock(mutex_);
  calling_ = nullptr;
  return FromGrpc(status, fmt::format("coordinator {} {}", options_.coordinator, name));
}

void Registration::Tell(const absl::Status& status) {
  if (status == told_) return;
  told_ = status;
  if (callbacks_.problem) callbacks_.problem(status);
}

bool Registration::Register() {
  v1::RegisterServerRequest request;
  request.set_name(options_.server.name);
  request.set_endpoint(options_.server.endpoint);
  request.set_boot(options_.server.boot);
  request.set_version(options_.server.version);
  v1::RegisterServerReply reply;
  const absl::Status status =
      Call(&v1::Coordinator::Stub::RegisterServer, request, &reply, "RegisterServer");
  Tell(status);
  if (!status.ok()) return false;
  result_ = {ServerId(reply.server()), reply.cluster(), reply.term(),
             std::chrono::milliseconds(
                 static_cast<int64_t>(std::clamp<uint64_t>(reply.heartbeat_ms(), 10, 60'000)))};
  if (callbacks_.registered) callbacks_.registered(result_);
  return true;
}

bool Registration::Beat() {
  v1::ServerHeartbeatRequest request;
  request.set_server(result_.server.value());
  request.set_boot(options_.server.boot);
  request.set_last_command(callbacks_.last_command ? callbacks_.last_command() : 0);
  v1::ServerHeartbeatReply reply;
  const absl::Status status =
      Call(&v1::Coordinator::Stub::ServerHeartbeat, request, &reply, "ServerHeartbeat");
  Tell(status);
  return !status.ok() || !reply.register_again();
}

void Registration::Loop() {
  std::chrono::milliseconds pause = kReconnectBackoffMin;
  for (;;) {
    if (!Register()) {
      if (!Sleep(pause)) return;
      pause = std::min(pause * 2, kReconnectBackoffMax);
      continue;
    }
    pause = kReconnectBackoffMin;
    do {
      if (!Sleep(result_.heartbeat)) return;
    } while (Beat());
  }
}

}  // namespace syncline::coordinator
