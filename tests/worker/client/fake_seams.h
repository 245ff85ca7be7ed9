// The seams of PsClient over a ModelCluster: a transport that delivers on a thread of its own, and
// a coordinator that answers from memory.
#ifndef SYNCLINE_TESTS_WORKER_CLIENT_FAKE_SEAMS_H_
#define SYNCLINE_TESTS_WORKER_CLIENT_FAKE_SEAMS_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/status/status.h"
#include "common/thread/bounded_queue.h"
#include "common/thread/mutex.h"
#include "common/thread/thread.h"
#include "tests/worker/client/model_cluster.h"
#include "worker/client/coordinator_api.h"
#include "worker/client/transport.h"

namespace syncline {

// What a test keeps hold of while the client owns the seams. Thread-safe through With.
class FakeCluster {
 public:
  FakeCluster() : model_(2, 8, 1), thread_("fake-cluster", [this] { Loop(); }) {}
  ~FakeCluster() { queue_.Close(); }

  // Runs `f(model)` while no server works.
  template <typename F>
  auto With(F f) {
    MutexLock lock(mutex_);
    return f(model_);
  }
  // Frames to every server vanish while it is set.
  std::atomic<bool> silent{false};
  std::atomic<int> heartbeats{0};
  std::atomic<int> sessions{0};
  // What Heartbeat answers from now on.
  void SetHeartbeatStatus(absl::Status status) {
    MutexLock lock(mutex_);
    heartbeat_status_ = std::move(status);
  }
  absl::Status heartbeat_status() {
    MutexLock lock(mutex_);
    return heartbeat_status_;
  }
  bool Post(std::function<void()> action) { return queue_.Push(std::move(action)); }
  // Makes every slot forget what it knew and accept the next session.
  void Forget() {
    With([](ModelCluster& model) {
      for (uint32_t i = 0; i < 8; ++i) model.slot(i) = ModelSlot();
    });
  }

 private:
  void Loop() {
    while (auto action = queue_.Pop()) (*action)();
  }

  Mutex mutex_;
  ModelCluster model_;
  absl::Status heartbeat_status_ GUARDED_BY(mutex_);
  BoundedQueue<std::function<void()>> queue_{1 << 16};
  Thread thread_;
};

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(FakeCluster& cluster) : cluster_(cluster) {}
  ~FakeTransport() override { Shutdown(); }

  void Start(TransportListener* listener) override { listener_ = listener; }
  void Connect(ServerId server, const std::string&, uint64_t connection,
               const OperationHeader&) override {
    {
      MutexLock lock(mutex_);
      connections_[server] = connection;
    }
    Post([this, server, connection] { listener_->OnConnected(server, connection); });
  }
  void Disconnect(ServerId server) override {
    MutexLock lock(mutex_);
    connections_.erase(server);
  }
  void Send(ServerId server, const OutFrame& frame) override {
    uint64_t connection = 0;
    {
      MutexLock lock(mutex_);
      if (!connections_.contains(server)) return;
      connection = connections_[server];
    }
    Post([this, server, connection, wire = ModelCluster::ToWire(frame)] {
      if (cluster_.silent) return;
      const auto reply =
          cluster_.With([&](ModelCluster& model) { return model.Answer(server, wire); });
      ModelCluster::Receive(reply,
                            [&](const InFrame& in) { listener_->OnFrame(server, connection, in); });
    });
  }
  void Shutdown() override {
    {
      MutexLock lock(mutex_);
      shut_down_ = true;
    }
    std::atomic<bool> drained{false};
    cluster_.Post([&] { drained = true; });
    while (!drained) std::this_thread::yield();
  }

 private:
  void Post(std::function<void()> action) {
    cluster_.Post([this, action = std::move(action)] {
      {
        MutexLock lock(mutex_);
        if (shut_down_) return;
      }
      action();
    });
  }

  FakeCluster& cluster_;
  TransportListener* listener_ = nullptr;
  Mutex mutex_;
  std::map<ServerId, uint64_t> connections_ GUARDED_BY(mutex_);
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

class FakeCoordinator final : public CoordinatorApi {
 public:
  explicit FakeCoordinator(FakeCluster& cluster) : cluster_(cluster) {}

  const std::string& endpoint() const override { return endpoint_; }
  absl::Status CreateJob(const JobOptions&, Millis) override { return absl::OkStatus(); }
  absl::StatusOr<SessionGrant> OpenSession(const OpenSessionCall& call, Millis) override {
    ++cluster_.sessions;
    SessionGrant grant;
    grant.session = {1, static_cast<uint64_t>(cluster_.sessions)};
    grant.rank = call.rank == kNoRank ? Rank(0) : call.rank;
    grant.lease = Millis(300);
    grant.map = cluster_.With([](ModelCluster& model) { return model.map(); });
    return grant;
  }
  absl::StatusOr<HeartbeatAnswer> Heartbeat(SessionId, Token, const SessionReport&,
                                            Millis) override {
    ++cluster_.heartbeats;
    const absl::Status status = cluster_.heartbeat_status();
    if (!status.ok()) return status;
    return HeartbeatAnswer();
  }
  absl::Status CloseSession(SessionId, Token, Millis) override { return absl::OkStatus(); }
  absl::StatusOr<SlotMap> GetMap(Millis) override {
    return cluster_.With([](ModelCluster& model) { return model.map(); });
  }
  absl::StatusOr<TableInfo> CreateTable(const std::string&, const TableSpec& spec,
                                        Millis) override {
    TableInfo table;
    table.id = TableId(spec.dim);  // as ModelCluster wants it
    table.spec = spec;
    return table;
  }
  absl::StatusOr<TableInfo> DescribeTable(const std::string&, const std::string& name,
                                          Millis) override {
    return MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable, "no table {}", name);
  }
  absl::StatusOr<std::vector<TableInfo>> ListTables(Millis) override {
    return std::vector<TableInfo>();
  }
  absl::StatusOr<TableInfo> SetOptimizer(const std::string&, const std::string&,
                                         const OptimizerSpec&, Millis) override {
    return absl::UnimplementedError("not in the fake");
  }
  absl::Status ChangeLearningRate(const std::string&, const std::string&, Clock, double,
                                  Millis) override {
    return absl::OkStatus();
  }
  absl::Status OpenPass(const std::string&, uint64_t, uint64_t, Millis) override {
    return absl::OkStatus();
  }
  absl::StatusOr<Piece> LeasePiece(const std::string&, uint64_t, SessionId, Millis) override {
    return Piece{.pass_closed = true, .piece = {}};
  }
  absl::Status ReportPiece(const std::string&, uint64_t, uint64_t, SessionId, Millis) override {
    return absl::OkStatus();
  }

 private:
  FakeCluster& cluster_;
  const std::string endpoint_ = "fake:1";
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_WORKER_CLIENT_FAKE_SEAMS_H_
