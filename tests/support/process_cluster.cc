#include "tests/support/process_cluster.h"

#include <thread>

#include "grpcpp/client_context.h"

#include "common/net/channel_factory.h"
#include "common/net/status_grpc.h"
#include "common/status/status.h"
#include "common/time_source.h"
#include "proto/coordinator.grpc.pb.h"

namespace syncline {
namespace {

constexpr std::chrono::seconds kListenTime{20};
constexpr std::chrono::milliseconds kPollInterval{5};
constexpr size_t kLogTailBytes = 2'000;

std::string LogTail(const ChildProcess& process) {
  const std::string log = ReadFile(process.errors());
  return log.size() > kLogTailBytes ? log.substr(log.size() - kLogTailBytes) : log;
}

// The value of "name=value", when the file has been written whole.
std::string ValueIn(const std::string& path, const std::string& name) {
  const std::string text = "\n" + ReadFile(path);
  const size_t at = text.find("\n" + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessCluster>> ProcessCluster::Start(
    const ProcessClusterOptions& options) {
  std::unique_ptr<ProcessCluster> cluster(new ProcessCluster(options));
  for (uint32_t i = 0; i < options.servers; ++i) RETURN_IF_ERROR(cluster->StartServer(i));
  return cluster;
}

absl::Status ProcessCluster::StartServer(uint32_t index) {
  const std::string name = fmt::format("server-{}", index);
  const std::string ports = folder_.Sub(name + ".ports");
  std::vector<std::string> arguments = {options_.program, "--name=" + name, "--listen=127.0.0.1:0",
                                        "--port-file=" + ports};
  if (index == 0) {
    arguments.push_back(fmt::format("--servers={}", options_.servers));
    arguments.push_back(fmt::format("--slots={}", options_.slots));
    arguments.push_back("--data-dir=" + folder_.Sub("coordinator"));
  } else {
    arguments.push_back("--coordinator=" + coordinator());
  }
  if (index < options_.advertise.size() && !options_.advertise[index].empty()) {
    arguments.push_back("--advertise=" + options_.advertise[index]);
  }
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  ASSIGN_OR_RETURN(auto process, ChildProcess::Start(arguments, folder_.Sub(name + ".out"),
                                                     folder_.Sub(name + ".log")));
  const SystemTimeSource clock;
  const MonotonicTime end = clock.Now() + kListenTime;
  std::string endpoint;
  while ((endpoint = ValueIn(ports, "listen")).empty()) {
    if (!process->running() || clock.Now() > end) {
      return absl::UnavailableError(
          fmt::format("{} does not listen; its log ends: {}", name, LogTail(*process)));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  endpoints_.push_back(endpoint);
  servers_.push_back(std::move(process));
  return absl::OkStatus();
}

absl::Status ProcessCluster::WaitReady(std::chrono::milliseconds time) {
  ASSIGN_OR_RETURN(auto channel, MakeChannel(coordinator()));
  auto stub = v1::Coordinator::NewStub(channel);
  const SystemTimeSource clock;
  const MonotonicTime end = clock.Now() + time;
  grpc::Status status;
  v1::ClusterMap map;
  while (clock.Now() < end) {
    grpc::ClientContext context;
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(2, GPR_TIMESPAN)));
    status = stub->GetMap(&context, {}, &map);
    if (status.ok() && map.epoch() > 0) return absl::OkStatus();
    std::this_thread::sleep_for(kPollInterval);
  }
  return absl::DeadlineExceededError(fmt::format(
      "no complete map: {} of {} servers, {}; the coordinator's log ends: {}", map.servers_size(),
      options_.servers, FromGrpc(status).ToString(), LogTail(*servers_.at(0))));
}

}  // namespace syncline
