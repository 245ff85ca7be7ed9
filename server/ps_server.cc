#include "server/ps_server.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "common/metrics/log.h"
#include "common/metrics/metrics.h"
#include "common/net/channel_factory.h"
#include "common/status/status.h"
#include "common/version.h"
#include "server/admin_http/admin_http.h"
#include "server/coordinator/coordinator_host.h"
#include "server/coordinator/registration.h"
#include "server/executor/slot_host.h"
#include "server/executor/timer_queue.h"
#include "server/service/admin_queries.h"
#include "server/service/admin_services.h"
#include "server/service/command_log.h"
#include "server/service/data_service.h"
#include "server/service/grpc_listener.h"
#include "server/service/operation_service.h"
#include "server/service/probe.h"

namespace syncline {
namespace {

size_t ExecutorsOf(const ServerConfig& config) {
  if (config.executors > 0) return config.executors;
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMaxExecutorsPerServer);
}

// host:port of the admin port as bound.
std::string WithPort(const std::string& listen, uint16_t port) {
  return fmt::format("{}:{}", listen.substr(0, listen.rfind(':')), port);
}

}  // namespace

// In the order in which things need each other; destroyed in the reverse.
struct PsServer::Impl {
  Impl(const ServerConfig& its_config, const TimeSource& time, Random& random)
      : config(its_config),
        state(config.name, kVersion, random.Next(), config.HostsCoordinator(), time),
        metrics("ps_server"),
        probe(metrics, time),
        timers(time),
        host({.executors = ExecutorsOf(config)}, timers),
        operations(host, state, probe),
        commands(host, state),
        queries(host, state),
        data_service(operations, timers, probe),
        control_service(commands),
        admin_service(queries) {
    AddHostMetrics(metrics, host);
  }

  absl::Status Start(const TimeSource& time, Random& random);
  absl::Status StartAdmin();
  absl::Status StartRegistration(const ConnectionOptions& connections);
  void Shutdown();

  const ServerConfig config;
  const Logger log{"ps-server"};
  ServerState state;
  Metrics metrics;
  ServiceProbe probe;
  TimerQueue timers;
  SlotHost host;
  OperationService operations;
  CommandLog commands;
  AdminQueries queries;
  DataService data_service;
  ControlService control_service;
  AdminService admin_service;
  std::unique_ptr<coordinator::CoordinatorHost> coordinator;  // null: another server hosts it
  std::unique_ptr<GrpcListener> listener;
  std::unique_ptr<AdminHttp> admin;
  std::unique_ptr<coordinator::Registration> registration;
  std::string admin_endpoint;
  bool down = false;
};

absl::Status PsServer::Impl::Start(const TimeSource& time, Random& random) {
  ConnectionOptions connections;
  connections.allow_plaintext = config.allow_plaintext;
  std::vector<grpc::Service*> services = {&data_service, &control_service, &admin_service};
  if (config.HostsCoordinator()) {
    coordinator::HostOptions options;
    options.directory = config.data_dir.empty() ? "syncline-" + config.name : config.data_dir;
    options.server = config.name;
    options.core.slot_count = config.slots;
    options.core.servers_expected = config.servers;
    options.connections = connections;
    ASSIGN_OR_RETURN(coordinator, coordinator::CoordinatorHost::Start(options, time, random));
    services.push_back(coordinator->service());
  }
  ASSIGN_OR_RETURN(listener, GrpcListener::Start(config.listen, config.allow_plaintext, services));
  RETURN_IF_ERROR(StartAdmin());
  return StartRegistration(connections);
}

absl::Status PsServer::Impl::StartAdmin() {
  if (config.admin_listen.empty()) return absl::OkStatus();
  admin = std::make_unique<AdminHttp>(
      AdminPages{.metrics = [this] { return metrics.Text(); },
                 .not_ready_reason = [this] { return state.NotReadyReason(); },
                 .status_json = [this] { return queries.StatusJson(); }});
  ASSIGN_OR_RETURN(const uint16_t port, admin->Start(config.admin_listen));
  admin_endpoint = WithPort(config.admin_listen, port);
  return absl::OkStatus();
}

absl::Status PsServer::Impl::StartRegistration(const ConnectionOptions& connections) {
  coordinator::RegistrationOptions options;
  options.coordinator = config.HostsCoordinator() ? listener->endpoint() : config.coordinator;
  options.server.name = config.name;
  options.server.endpoint = config.advertise.empty() ? listener->endpoint() : config.advertise;
  options.server.boot = state.boot();
  options.server.version = state.version();
  options.connections = connections;
  coordinator::RegistrationCallbacks callbacks;
  callbacks.last_command = [this] { return commands.last(); };
  callbacks.registered = [this](const coordinator::RegisterResult& result) {
    state.SetServer(result.server);
    log.Info("registered as server {} of cluster {}", result.server.value(), result.cluster);
  };
  callbacks.problem = [this](const absl::Status& problem) {
    state.SetCoordinatorProblem(std::string(MessageOf(problem)));
    if (problem.ok()) return log.Info("the coordinator answers");
    log.Warning("the coordinator does not answer: {}", MessageOf(problem));
  };
  ASSIGN_OR_RETURN(registration,
                   coordinator::Registration::Start(std::move(options), std::move(callbacks)));
  return absl::OkStatus();
}

void PsServer::Impl::Shutdown() {
  if (std::exchange(down, true)) return;
  state.BeginStop();
  if (registration != nullptr) registration->Stop();
  if (coordinator != nullptr) coordinator->Stop();
  if (listener != nullptr) listener->Shutdown(kDrainTimeout);
  if (admin != nullptr) admin->Stop();
  // What the cancelled streams left on the executors still uses the services.
  host.VisitSlots([](SlotCore&) {});
}

PsServer::PsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PsServer::~PsServer() { Shutdown(); }

absl::StatusOr<std::unique_ptr<PsServer>> PsServer::Start(const ServerConfig& config,
                                                          const TimeSource& time, Random& random) {
  auto impl = std::make_unique<Impl>(config, time, random);
  std::unique_ptr<PsServer> server(new PsServer(std::move(impl)));
  RETURN_IF_ERROR(server->impl_->Start(time, random));  // what was started is shut down
  return server;
}

void PsServer::Shutdown() { impl_->Shutdown(); }
const std::string& PsServer::endpoint() const { return impl_->listener->endpoint(); }
const std::string& PsServer::admin_endpoint() const { return impl_->admin_endpoint; }
const ServerState& PsServer::state() const { return impl_->state; }

}  // namespace syncline
