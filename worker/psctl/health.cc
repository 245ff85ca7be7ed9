#include "worker/psctl/health.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/status/status.h"

namespace syncline::psctl {
namespace {

std::string ProblemOf(const ServerView& server) {
  const v1::ServerAddress& address = server.info.address();
  const std::string who =
      fmt::format("server {} ({}, {})", address.id(), address.name(), address.endpoint());
  if (!server.info.live()) {
    return fmt::format("{}: no heartbeat for {} ms", who, server.info.heartbeat_age_ms());
  }
  if (!server.status.has_value()) {
    return fmt::format("{}: {}", who, MessageOf(server.error));
  }
  if (!server.status->ready()) {
    return fmt::format("{}: not ready: {}", who, server.status->not_ready_reason());
  }
  return "";
}

}  // namespace

absl::StatusOr<ClusterView> LookAtCluster(AdminApi& api) {
  ClusterView view;
  ASSIGN_OR_RETURN(view.map, api.GetMap());
  ASSIGN_OR_RETURN(const v1::ListServersReply servers, api.ListServers());
  for (const v1::ServerInfo& info : servers.servers()) {
    ServerView& server = view.servers.emplace_back();
    server.info = info;
    auto status = api.GetServerStatus(info.address().endpoint());
    if (status.ok()) {
      server.status = *std::move(status);
    } else {
      server.error = status.status();
    }
  }
  std::sort(view.servers.begin(), view.servers.end(), [](const auto& a, const auto& b) {
    return a.info.address().id() < b.info.address().id();
  });
  return view;
}

std::vector<std::string> ProblemsOf(const ClusterView& view) {
  std::vector<std::string> problems;
  if (view.map.epoch() == 0) {
    problems.push_back(fmt::format("the map is not complete: {} of {} servers have registered",
                                   view.servers.size(), view.map.servers_expected()));
  }
  for (const ServerView& server : view.servers) {
    if (std::string problem = ProblemOf(server); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

}  // namespace syncline::psctl
