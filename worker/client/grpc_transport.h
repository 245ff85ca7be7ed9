// The transport over gRPC: one Exchange stream of raw frames per server.
#ifndef SYNCLINE_WORKER_CLIENT_GRPC_TRANSPORT_H_
#define SYNCLINE_WORKER_CLIENT_GRPC_TRANSPORT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/thread/mutex.h"
#include "worker/client/transport.h"

namespace syncline {

// Makes no channel before the first Connect, so the object may be made before fork().
class GrpcTransport final : public Transport {
 public:
  struct Options {
    bool allow_plaintext = false;
    std::string client;  // for the server's logs
  };
  explicit GrpcTransport(Options options) : options_(std::move(options)) {}
  ~GrpcTransport() override { Shutdown(); }

  void Start(TransportListener* listener) override;
  void Connect(ServerId server, const std::string& endpoint, uint64_t connection,
               const OperationHeader& hello) override;
  void Disconnect(ServerId server) override;
  void Send(ServerId server, const OutFrame& frame) override;
  void Shutdown() override;

 private:
  class Stream;
  std::shared_ptr<Stream> Take(ServerId server);
  void OnStreamGone(std::shared_ptr<Stream> stream);

  const Options options_;
  TransportListener* listener_ = nullptr;
  Mutex mutex_;
  CondVar changed_;
  std::map<ServerId, std::shared_ptr<Stream>> streams_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Stream>> gone_ GUARDED_BY(mutex_);  // ended, not destroyed yet
  size_t alive_ GUARDED_BY(mutex_) = 0;  // streams that still may tell events
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_GRPC_TRANSPORT_H_
