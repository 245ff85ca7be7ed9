// The seam `Transport`: streams of frames between one client and its servers.
#ifndef SYNCLINE_WORKER_CLIENT_TRANSPORT_H_
#define SYNCLINE_WORKER_CLIENT_TRANSPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "common/types.h"
#include "common/wire/frames.h"
#include "worker/client/messages.h"

namespace syncline {

// What the transport tells. Called from threads of the transport, one call at a time per
// connection, never from inside a call of Transport. `connection` is the number that Connect was
// given: events of a connection that was replaced can be told from those of the present one.
class TransportListener {
 public:
  virtual ~TransportListener() = default;
  // The server answered Hello.
  virtual void OnConnected(ServerId server, uint64_t connection) = 0;
  // The connection could not be made, its Hello was refused (the status then carries the server's
  // detail), or it broke. Last event of that connection.
  virtual void OnDisconnected(ServerId server, uint64_t connection, absl::Status why) = 0;
  virtual void OnFrame(ServerId server, uint64_t connection, const InFrame& frame) = 0;
};

// Thread-safe. No call waits for the network.
class Transport {
 public:
  virtual ~Transport() = default;

  // Before anything else. The listener outlives the transport, or Shutdown is called first.
  virtual void Start(TransportListener* listener) = 0;
  // Makes a connection and says Hello; replaces the server's present one, if any.
  virtual void Connect(ServerId server, const std::string& endpoint, uint64_t connection,
                       const OperationHeader& hello) = 0;
  virtual void Disconnect(ServerId server) = 0;
  // Encodes and queues a frame, in order. Dropped when there is no connection (the client asks
  // again). Keeps the frame's owner until its bytes are sent.
  virtual void Send(ServerId server, const OutFrame& frame) = 0;
  // Ends every connection and waits until no event is running or will come. Not from an event.
  virtual void Shutdown() = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_TRANSPORT_H_
