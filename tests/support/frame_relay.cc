#include "tests/support/frame_relay.h"

#include <string_view>
#include <utility>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

#include "common/net/channel_factory.h"
#include "common/random.h"
#include "common/status/status.h"
#include "tests/support/hold_queue.h"
#include "tests/support/relay_stream.h"

namespace syncline {
namespace {

constexpr std::string_view kExchange = "/syncline.v1.ParameterServer/Exchange";

// Answers with a status alone.
class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

// Passes one unary call on.
class UnaryCall final : public grpc::ServerGenericBidiReactor {
 public:
  UnaryCall(std::shared_ptr<RelayStub> stub, std::string method)
      : stub_(std::move(stub)), method_(std::move(method)) {
    StartRead(&request_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "no request came"));
      return;
    }
    stub_->UnaryCall(&context_, method_, {}, &request_, &reply_, [this](grpc::Status status) {
      if (status.ok()) {
        StartWriteAndFinish(&reply_, {}, status);
      } else {
        Finish(status);
      }
    });
  }
  void OnCancel() override { context_.TryCancel(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<RelayStub> stub_;
  const std::string method_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
};

}  // namespace

class FrameRelay::Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(uint64_t seed) : judge_(seed), random_(seed) {
    int port = 0;
    grpc::ServerBuilder builder;
    ApplyServerDefaults(builder);
    SYNCLINE_CHECK(AddListener(builder, "127.0.0.1:0", {}, &port).ok(), "loopback is refused");
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    SYNCLINE_CHECK(server_ != nullptr && port > 0, "cannot listen on loopback");
    endpoint_ = "127.0.0.1:" + std::to_string(port);
  }

  ~Service() override {
    CutAll();
    server_->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME));
    server_->Wait();
    holds_.Stop();
    MutexLock lock(mutex_);
    while (live_ > 0) changed_.Wait(mutex_);
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    std::shared_ptr<RelayStub> stub;
    std::shared_ptr<RelayStream> stream;
    {
      MutexLock lock(mutex_);
      stub = stub_;
      if (stub != nullptr && context->method() == kExchange) stream = NewStream();
    }
    if (stub == nullptr) {
      return new Refusal(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the relay has no target"));
    }
    if (stream != nullptr) return stream->Start(*stub, context->method());
    judge_.CountUnary();
    return new UnaryCall(stub, context->method());
  }

  void SetTarget(const std::string& endpoint) {
    auto channel = MakeChannel(endpoint, {.own_connection = true});
    SYNCLINE_CHECK(channel.ok(), "a relay's target must be on loopback");
    MutexLock lock(mutex_);
    stub_ = std::make_shared<RelayStub>(*channel);
  }

  bool CutOne() {
    std::vector<std::shared_ptr<RelayStream>> live = Streams();
    while (!live.empty()) {
      const size_t i = Draw(live.size());
      if (CutStream(*live[i])) return true;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return false;
  }

  size_t CutAll() {
    size_t cut = 0;
    for (const auto& stream : Streams()) cut += CutStream(*stream) ? 1 : 0;
    return cut;
  }

  size_t live() const {
    MutexLock lock(mutex_);
    return live_;
  }
  const std::string& endpoint() const { return endpoint_; }
  FrameJudge& judge() { return judge_; }

 private:
  std::shared_ptr<RelayStream> NewStream() REQUIRES(mutex_) {
    judge_.CountStream();
    ++live_;
    auto stream = std::make_shared<RelayStream>(streams_made_++, judge_, holds_, [this] {
      MutexLock lock(mutex_);
      --live_;
      changed_.NotifyAll();
    });
    std::erase_if(streams_, [](const auto& s) { return s.expired(); });
    streams_.push_back(stream);
    return stream;
  }
  bool CutStream(RelayStream& stream) {
    const bool cut = stream.Cut();
    if (cut) judge_.CountCut();
    return cut;
  }
  uint64_t Draw(uint64_t n) {
    MutexLock lock(mutex_);
    return random_.Below(n);
  }
  std::vector<std::shared_ptr<RelayStream>> Streams() const {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<RelayStream>> live;
    for (const auto& weak : streams_) {
      if (auto stream = weak.lock()) live.push_back(std::move(stream));
    }
    return live;
  }

  FrameJudge judge_;
  HoldQueue holds_;
  std::string endpoint_;

  mutable Mutex mutex_;
  CondVar changed_;
  SplitMix64 random_ GUARDED_BY(mutex_);
  std::shared_ptr<RelayStub> stub_ GUARDED_BY(mutex_);
  uint64_t streams_made_ GUARDED_BY(mutex_) = 0;
  size_t live_ GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<RelayStream>> streams_ GUARDED_BY(mutex_);

  std::unique_ptr<grpc::Server> server_;
};

FrameRelay::FrameRelay(uint64_t seed) : service_(std::make_unique<Service>(seed)) {}
FrameRelay::~FrameRelay() = default;
const std::string& FrameRelay::endpoint() const { return service_->endpoint(); }
void FrameRelay::SetTarget(const std::string& endpoint) { service_->SetTarget(endpoint); }
void FrameRelay::SetPlan(const RelayPlan& plan) { service_->judge().SetPlan(plan); }
bool FrameRelay::CutOne() { return service_->CutOne(); }
size_t FrameRelay::CutAll() { return service_->CutAll(); }
size_t FrameRelay::live() const { return service_->live(); }
RelayCounts FrameRelay::counts() const { return service_->judge().counts(); }

}  // namespace syncline
