#include "worker/client/grpc_transport.h"

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

#include "common/net/byte_buffer.h"
#include "common/net/channel_factory.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "worker/client/frame_io.h"

namespace syncline {
namespace {

constexpr char kExchange[] = "/syncline.v1.ParameterServer/Exchange";

}  // namespace

// One stream. Owned by the transport's map and, until OnDone, by itself.
class GrpcTransport::Stream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public std::enable_shared_from_this<Stream> {
 public:
  Stream(ServerId server, uint64_t connection, std::string endpoint, TransportListener& listener,
         std::function<void(std::shared_ptr<Stream>)> on_gone)
      : server_(server),
        connection_(connection),
        endpoint_(std::move(endpoint)),
        listener_(listener),
        on_gone_(std::move(on_gone)) {}

  void Start(std::shared_ptr<grpc::Channel> channel, grpc::ByteBuffer hello) {
    stub_ = std::make_unique<grpc::GenericStub>(std::move(channel));
    self_ = shared_from_this();
    stub_->PrepareBidiStreamingCall(&context_, kExchange, grpc::StubOptions(), this);
    AddHold();  // writes start outside of reactions
    Write(std::move(hello));
    StartRead(&incoming_);
    StartCall();
  }

  void Write(grpc::ByteBuffer bytes) {
    MutexLock lock(mutex_);
    if (closed_) return;
    outbox_.push_back(std::move(bytes));
    WriteNext();
  }

  void Close() {
    if (!MarkClosed()) return;
    context_.TryCancel();
    RemoveHold();
  }

  void OnReadDone(bool ok) override {
    if (ok && Handle()) return StartRead(&incoming_);
    if (ok) return Close();
    // The server's status is on its way: a cancellation could hide it.
    if (MarkClosed()) RemoveHold();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    writing_ = false;
    if (ok && !closed_) WriteNext();
  }

  void OnDone(const grpc::Status& status) override {
    absl::Status why = refusal_;
    if (why.ok()) why = FromGrpc(status, endpoint_);
    if (why.ok()) why = absl::UnavailableError("the server ended the stream");
    listener_.OnDisconnected(server_, connection_, why);
    const auto on_gone = on_gone_;  // the stream may be destroyed before the call returns
    on_gone(std::move(self_));
  }

 private:
  void WriteNext() REQUIRES(mutex_) {
    if (writing_ || outbox_.empty()) return;
    writing_ = true;
    outgoing_ = std::move(outbox_.front());
    outbox_.pop_front();
    StartWrite(&outgoing_);
  }

  bool MarkClosed() {
    MutexLock lock(mutex_);
    return !std::exchange(closed_, true);
  }

  // False: the stream is of no use any more; refusal_ says why.
  bool Handle() {
    const ReceivedBytes bytes(incoming_);
    absl::StatusOr<Received> received = DecodeIn(bytes.pieces());
    if (!received.ok()) {
      refusal_ = Annotate(received.status(), "reply from " + endpoint_);
      return false;
    }
    if (const auto* hello = std::get_if<HelloAnswer>(&*received)) {
      refusal_ = Annotate(hello->status, "Hello to " + endpoint_);
      if (refusal_.ok()) listener_.OnConnected(server_, connection_);
      return refusal_.ok();
    }
    if (const auto* frame = std::get_if<InFrame>(&*received)) {
      listener_.OnFrame(server_, connection_, *frame);
    }
    return true;
  }

  const ServerId server_;
  const uint64_t connection_;
  const std::string endpoint_;
  TransportListener& listener_;
  const std::function<void(std::shared_ptr<Stream>)> on_gone_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::ClientContext context_;
  std::shared_ptr<Stream> self_;
  grpc::ByteBuffer incoming_;
  absl::Status refusal_;

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> outbox_ GUARDED_BY(mutex_);  // bounded by the core's frames
  grpc::ByteBuffer outgoing_ GUARDED_BY(mutex_);            // gRPC's while writing_
  bool writing_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
};

void GrpcTransport::Start(TransportListener* listener) { listener_ = listener; }

std::shared_ptr<GrpcTransport::Stream> GrpcTransport::Take(ServerId server) {
  MutexLock lock(mutex_);
  const auto found = streams_.find(server);
  if (found == streams_.end()) return nullptr;
  std::shared_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  return stream;
}

// The stream is kept until one of our own threads comes by: it holds a channel, and a thread of
// gRPC's callbacks that drops the process's last channel joins itself (gRPC 1.51 then frees its
// queue twice).
void GrpcTransport::OnStreamGone(std::shared_ptr<Stream> stream) {
  MutexLock lock(mutex_);
  gone_.push_back(std::move(stream));
  --alive_;
  changed_.NotifyAll();
}

void GrpcTransport::Connect(ServerId server, const std::string& endpoint, uint64_t connection,
                            const OperationHeader& hello) {
  Disconnect(server);
  ConnectionOptions options;
  options.allow_plaintext = options_.allow_plaintext;
  options.own_connection = true;
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(endpoint, options);
  // An endpoint that may not be used: a channel to nowhere fails the call with its reason.
  if (!channel.ok()) {
    channel = grpc::CreateChannel("invalid:" + endpoint, grpc::InsecureChannelCredentials());
  }
  // Destroyed at the end, when the new channel is in use.
  std::vector<std::shared_ptr<Stream>> gone;
  auto stream = std::make_shared<Stream>(
      server, connection, endpoint, *listener_,
      [this](std::shared_ptr<Stream> ended) { OnStreamGone(std::move(ended)); });
  {
    MutexLock lock(mutex_);
    if (shut_down_) return;
    ++alive_;
    streams_[server] = stream;
    gone.swap(gone_);
  }
  stream->Start(*std::move(channel), EncodeHello(hello, options_.client));
}

void GrpcTransport::Disconnect(ServerId server) {
  const std::shared_ptr<Stream> stream = Take(server);
  if (stream != nullptr) stream->Close();
}

void GrpcTransport::Send(ServerId server, const OutFrame& frame) {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(mutex_);
    const auto found = streams_.find(server);
    if (found != streams_.end()) stream = found->second;
  }
  if (stream != nullptr) stream->Write(EncodeOut(frame));
}

void GrpcTransport::Shutdown() {
  std::map<ServerId, std::shared_ptr<Stream>> streams;
  {
    MutexLock lock(mutex_);
    shut_down_ = true;
    streams.swap(streams_);
  }
  for (auto& [server, stream] : streams) stream->Close();
  streams.clear();
  std::vector<std::shared_ptr<Stream>> gone;
  MutexLock lock(mutex_);
  while (alive_ > 0) changed_.Wait(mutex_);
  gone.swap(gone_);
}

}  // namespace syncline
