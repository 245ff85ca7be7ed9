// psctl cluster {status,health}
#include <algorithm>
#include <cstdint>

#include "worker/psctl/health.h"
#include "worker/psctl/nouns.h"

namespace syncline::psctl {
namespace {

struct Totals {
  uint64_t ready = 0;
  uint64_t parked_reads = 0;
  uint64_t rows = 0;
  uint64_t memory_bytes = 0;
};

Totals TotalsOf(const ClusterView& view) {
  Totals totals;
  for (const ServerView& server : view.servers) {
    if (!server.status.has_value()) continue;
    totals.ready += server.info.live() && server.status->ready() ? 1 : 0;
    totals.parked_reads += server.status->parked_reads();
    totals.rows += server.status->rows();
    totals.memory_bytes += server.status->memory_bytes();
  }
  return totals;
}

uint64_t LiveSessions(const v1::ListSessionsReply& reply, bool clocked) {
  return static_cast<uint64_t>(std::count_if(
      reply.sessions().begin(), reply.sessions().end(),
      [clocked](const auto& s) { return s.clocked() == clocked && s.state() == "live"; }));
}

absl::StatusOr<Report> Status(Context& context) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const ClusterView view, LookAtCluster(*api));
  ASSIGN_OR_RETURN(const v1::ListJobsReply jobs, api->ListJobs());
  ASSIGN_OR_RETURN(const v1::ListTablesReply tables, api->ListTables());
  ASSIGN_OR_RETURN(const v1::ListSessionsReply sessions, api->ListSessions(false));
  const Totals totals = TotalsOf(view);
  const std::vector<std::string> problems = ProblemsOf(view);
  return SingleReport(
      "ClusterStatus",
      {
          {{"cluster", "Cluster"}, view.map.cluster()},
          {{"healthy", "Healthy"}, problems.empty()},
          {{"problems", "Problems"}, problems},
          {{"epoch", "Map epoch"}, uint64_t{view.map.epoch()}},
          {{"slots", "Slots"}, uint64_t{view.map.slot_count()}},
          {{"servers_expected", "Servers expected"}, uint64_t{view.map.servers_expected()}},
          {{"servers_ready", "Servers ready"}, totals.ready},
          {{"jobs", "Jobs"}, static_cast<uint64_t>(jobs.jobs_size())},
          {{"workers", "Workers"}, LiveSessions(sessions, true)},
          {{"clockless_sessions", "Clockless sessions"}, LiveSessions(sessions, false)},
          {{"parked_reads", "Parked reads"}, totals.parked_reads},
          {{"tables", "Tables"}, static_cast<uint64_t>(tables.tables_size())},
          {{"rows", "Rows"}, totals.rows},
          {{"memory_bytes", "Memory", Unit::kBytes}, totals.memory_bytes},
      });
}

absl::StatusOr<Report> Health(Context& context) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const ClusterView view, LookAtCluster(*api));
  const std::vector<std::string> problems = ProblemsOf(view);
  Report report = SingleReport("ClusterHealth", {{{"healthy", "Healthy"}, problems.empty()},
                                                 {{"problems", "Problems"}, problems}});
  report.exit = problems.empty() ? ExitCode::kOk : ExitCode::kUnhealthy;
  return report;
}

}  // namespace

void AddCluster(CLI::App& app, Command& chosen) {
  CLI::App* noun = AddNoun(app, "cluster", "the cluster as a whole");
  AddVerb(noun, "status", "what the cluster holds and who uses it", chosen, Status);
  AddVerb(noun, "health", "whether it can serve; ends with 5 when it cannot", chosen, Health);
}

}  // namespace syncline::psctl
