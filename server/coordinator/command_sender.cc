#include "server/coordinator/command_sender.h"

#include <chrono>
#include <utility>

#include "common/limits.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "server/coordinator/coordinator_proto.h"

namespace syncline::coordinator {
namespace {

// Whatever went wrong with the call, the command may be sent again: servers apply a number once.
CommandReply NotDelivered(const absl::Status& why) {
  CommandReply reply;
  reply.status = MakeStatus(absl::StatusCode::kUnavailable, Detail::kNone, MessageOf(why));
  return reply;
}

}  // namespace

struct CommandSender::Call {
  Dispatch dispatch;
  std::shared_ptr<Stub> stub;
  grpc::ClientContext context;
  v1::Command request;
  v1::CommandReply reply;
};

absl::StatusOr<std::shared_ptr<CommandSender::Stub>> CommandSender::StubFor(
    const std::string& endpoint) {
  std::shared_ptr<Stub>& stub = stubs_[endpoint];
  if (stub == nullptr) {
    ASSIGN_OR_RETURN(const auto channel, MakeChannel(endpoint, connections_));
    stub = v1::ServerControl::NewStub(channel);
  }
  return stub;
}

void CommandSender::Send(const Dispatch& dispatch) {
  auto call = std::make_shared<Call>();
  call->dispatch = dispatch;
  call->request = ToProto(dispatch.command);
  // Destroyed at the end. A call holds a channel, and a thread of gRPC's callbacks that drops the
  // process's last channel joins itself (gRPC 1.51), so that calls never end on those threads.
  std::vector<std::shared_ptr<Call>> finished;
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    finished.swap(finished_);
    auto stub = StubFor(dispatch.endpoint);
    if (!stub.ok()) {
      lock.Unlock();
      return done_(dispatch, NotDelivered(stub.status()));
    }
    call->stub = *std::move(stub);
    calls_.emplace(call.get(), call);
  }
  gpr_timespec deadline = gpr_time_from_millis(kControlCallDeadline.count(), GPR_TIMESPAN);
  call->context.set_deadline(deadline);
  Call& c = *call;
  c.stub->async()->Execute(&c.context, &c.request, &c.reply,
                           [this, &c](const grpc::Status& status) { OnDone(c, status); });
}

void CommandSender::OnDone(Call& call, const grpc::Status& status) {
  const absl::Status delivered = FromGrpc(status, call.dispatch.endpoint + " Execute");
  done_(call.dispatch, delivered.ok() ? FromProto(call.reply) : NotDelivered(delivered));
  MutexLock lock(mutex_);
  const auto found = calls_.find(&call);
  finished_.push_back(std::move(found->second));
  calls_.erase(found);
  if (calls_.empty()) idle_.NotifyAll();
}

void CommandSender::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  const auto calls = calls_;
  lock.Unlock();
  for (const auto& [call, owner] : calls) call->context.TryCancel();  // may run OnDone here
  std::vector<std::shared_ptr<Call>> finished;
  lock.Lock();
  while (!calls_.empty()) idle_.Wait(mutex_);
  finished.swap(finished_);
}

}  // namespace syncline::coordinator
