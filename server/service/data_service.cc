#include "server/service/data_service.h"

#include <utility>

#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "common/wire/outcome_proto.h"
#include "server/service/exchange_reactor.h"
#include "server/service/grpc_bytes.h"

namespace syncline {
namespace {

// A unary pull: may be parked, so the client's going away must reach it.
class PullReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit PullReactor(grpc::ByteBuffer* reply) : reply_(reply) {}

  void Start(OperationService& operations, const Principal& principal,
             const MessageBytes& request) {
    std::shared_ptr<PullHandle> pull = operations.Pull(
        principal, request, [this](absl::StatusOr<OutgoingBytes> answer) { Answer(answer); });
    {
      MutexLock lock(mutex_);
      pull_ = pull;
      if (!cancelled_) pull = nullptr;
    }
    if (pull != nullptr) pull->Cancel();
    Release();
  }

  void OnCancel() override {
    std::shared_ptr<PullHandle> pull;
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
      pull = pull_;
    }
    if (pull != nullptr) pull->Cancel();
  }
  void OnDone() override { Release(); }

 private:
  void Answer(absl::StatusOr<OutgoingBytes>& answer) {
    if (answer.ok()) *reply_ = ToByteBuffer(*std::move(answer));
    Finish(ToGrpc(answer.status()));
  }
  // The answer, and so OnDone, may come before Start has returned.
  void Release() {
    if (holders_.fetch_sub(1) == 1) delete this;
  }

  grpc::ByteBuffer* const reply_;
  std::atomic<int> holders_{2};
  Mutex mutex_;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<PullHandle> pull_ GUARDED_BY(mutex_);
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DataService::Exchange(
    grpc::CallbackServerContext* context) {
  const auto reactor = std::make_shared<ExchangeReactor>(timers_, probe_, streams_);
  if (streams_.fetch_add(1) >= kMaxStreamsPerServer) {
    reactor->Reject(MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                              "{} streams are open on this server; retry later",
                              kMaxStreamsPerServer));
  } else {
    reactor->Start(operations_, PrincipalOf(*context));
  }
  return reactor.get();  // it holds itself until OnDone
}

grpc::ServerUnaryReactor* DataService::Pull(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* reply) {
  auto* reactor = new PullReactor(reply);
  reactor->Start(operations_, PrincipalOf(*context), FromByteBuffer(*request));
  return reactor;
}

grpc::ServerUnaryReactor* DataService::Push(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  operations_.Push(PrincipalOf(*context), FromByteBuffer(*request),
                   [reactor, reply](absl::StatusOr<OutgoingBytes> answer) {
                     if (answer.ok()) *reply = ToByteBuffer(*std::move(answer));
                     reactor->Finish(ToGrpc(answer.status()));
                   });
  return reactor;
}

grpc::ServerUnaryReactor* DataService::Tick(grpc::CallbackServerContext* context,
                                            const v1::TickRequest* request, v1::TickReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  operations_.Tick(PrincipalOf(*context), *request, [reactor, reply](v1::TickReply answer) {
    *reply = std::move(answer);
    reactor->Finish(ToGrpc(FromProto(reply->error())));
  });
  return reactor;
}

grpc::ServerUnaryReactor* DataService::Leave(grpc::CallbackServerContext* context,
                                             const v1::LeaveRequest* request,
                                             v1::LeaveReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  operations_.Leave(PrincipalOf(*context), *request, [reactor, reply](v1::LeaveReply answer) {
    *reply = std::move(answer);
    reactor->Finish(ToGrpc(FromProto(reply->error())));
  });
  return reactor;
}

}  // namespace syncline
