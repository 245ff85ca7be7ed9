// The data plane over gRPC: Exchange streams of raw frames, and unary calls for simple clients.
#ifndef SYNCLINE_SERVER_SERVICE_DATA_SERVICE_H_
#define SYNCLINE_SERVER_SERVICE_DATA_SERVICE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "grpcpp/grpcpp.h"

#include "common/limits.h"
#include "proto/parameter_server.grpc.pb.h"
#include "server/executor/timer_queue.h"
#include "server/service/operation_service.h"
#include "server/service/probe.h"

namespace syncline {

// A stream without Hello ends after this long.
inline constexpr std::chrono::seconds kHandshakeTimeout{10};

using RawParameterServer = v1::ParameterServer::WithRawCallbackMethod_Exchange<
    v1::ParameterServer::WithRawCallbackMethod_Pull<v1::ParameterServer::WithRawCallbackMethod_Push<
        v1::ParameterServer::WithCallbackMethod_Tick<
            v1::ParameterServer::WithCallbackMethod_Leave<v1::ParameterServer::Service>>>>>;

// A stream reads on while its frames are being worked on, and stops reading when
// kMaxFramesInFlightPerStream of them have no reply yet (parked pulls not counted): gRPC's flow
// control then holds the client back. Beyond kMaxStreamsPerServer streams a new one ends with
// RESOURCE_EXHAUSTED.
//
// Unary calls end with the status of a refused request, its detail in the status details
// (ErrorInfo).
class DataService final : public RawParameterServer {
 public:
  // REQUIRES: all outlive the gRPC server that this is registered at.
  DataService(OperationService& operations, TimerQueue& timers, ServiceProbe& probe)
      : operations_(operations), timers_(timers), probe_(probe) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Exchange(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Tick(grpc::CallbackServerContext* context,
                                 const v1::TickRequest* request, v1::TickReply* reply) override;
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context,
                                  const v1::LeaveRequest* request, v1::LeaveReply* reply) override;

 private:
  OperationService& operations_;
  TimerQueue& timers_;
  ServiceProbe& probe_;
  std::atomic<size_t> streams_{0};
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_DATA_SERVICE_H_
