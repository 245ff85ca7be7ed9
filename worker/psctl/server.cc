// psctl server list
#include <cstdint>

#include "worker/psctl/health.h"
#include "worker/psctl/nouns.h"

namespace syncline::psctl {
namespace {

std::string StateOf(const ServerView& server) {
  if (!server.info.live()) return "lost";
  if (!server.status.has_value()) return "unreachable";
  return server.status->ready() ? "ready" : "not ready";
}

std::vector<Value> RowOf(const ServerView& server) {
  const v1::ServerAddress& address = server.info.address();
  std::vector<Value> row = {
      uint64_t{address.id()},
      address.name(),
      address.endpoint(),
      StateOf(server),
      server.info.coordinator(),
      uint64_t{server.info.slots()},
      static_cast<double>(server.info.heartbeat_age_ms()) / 1e3,
      server.info.version(),
  };
  // What only the server itself knows.
  if (server.status.has_value()) {
    row.insert(row.end(),
               {uint64_t{server.status->executors()}, uint64_t{server.status->sessions()},
                uint64_t{server.status->rows()}, uint64_t{server.status->memory_bytes()},
                server.status->uptime_seconds()});
  } else {
    row.resize(row.size() + 5);
  }
  return row;
}

absl::StatusOr<Report> List(Context& context) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const ClusterView view, LookAtCluster(*api));
  Report report{.kind = "ServerList",
                .columns = {{"id", "id"},
                            {"name", "name"},
                            {"endpoint", "endpoint"},
                            {"state", "state"},
                            {"coordinator", "coordinator"},
                            {"slots", "slots"},
                            {"heartbeat_age_seconds", "heartbeat", Unit::kSeconds},
                            {"version", "version"},
                            {"executors", "executors"},
                            {"sessions", "sessions"},
                            {"rows", "rows"},
                            {"memory_bytes", "memory", Unit::kBytes},
                            {"uptime_seconds", "uptime", Unit::kSeconds}},
                .rows = {}};
  for (const ServerView& server : view.servers) report.rows.push_back(RowOf(server));
  return report;
}

}  // namespace

void AddServer(CLI::App& app, Command& chosen) {
  CLI::App* noun = AddNoun(app, "server", "the ps-server processes");
  AddVerb(noun, "list", "every server, its state and what it holds", chosen, List);
}

}  // namespace syncline::psctl
