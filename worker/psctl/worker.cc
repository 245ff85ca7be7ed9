// psctl worker list
#include <memory>

#include "worker/psctl/lag.h"
#include "worker/psctl/nouns.h"

namespace syncline::psctl {
namespace {

struct ListOptions {
  bool all = false;
};

std::vector<Value> RowOf(const WorkerLag& worker) {
  const v1::SessionInfo& s = worker.session;
  const v1::WorkerReport& report = s.report();
  const auto clocked = [&s](auto value) { return s.clocked() ? Value(value) : Value(); };
  const auto counted = [&worker](auto value) { return worker.counts ? Value(value) : Value(); };
  return {s.job_name(),
          clocked(int64_t{s.rank()}),
          s.state(),
          clocked(int64_t{report.clock()}),
          counted(worker.lag),
          counted(worker.holds_back),
          clocked(report.step_seconds()),
          clocked(report.wait_ratio()),
          clocked(report.samples_per_second()),
          uint64_t{report.bytes_sent()},
          uint64_t{report.bytes_received()},
          static_cast<double>(s.lease_left_ms()) / 1e3,
          s.client()};
}

absl::StatusOr<Report> List(Context& context, const ListOptions& options) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListSessionsReply sessions, api->ListSessions(options.all));
  Report report{.kind = "WorkerList",
                .columns = {{"job", "job"},
                            {"rank", "rank"},
                            {"state", "state"},
                            {"clock", "clock"},
                            {"lag", "lag"},
                            {"holds_back", "holds back"},
                            {"step_seconds", "step", Unit::kSeconds},
                            {"wait_ratio", "wait", Unit::kRatio},
                            {"samples_per_second", "samples", Unit::kPerSecond},
                            {"sent_bytes", "sent", Unit::kBytes},
                            {"received_bytes", "received", Unit::kBytes},
                            {"lease_left_seconds", "lease", Unit::kSeconds},
                            {"client", "client"}},
                .rows = {}};
  for (const WorkerLag& worker : LagsOf(sessions)) {
    if (!context.job.empty() && worker.session.job_name() != context.job) continue;
    if (worker.session.clocked() || options.all) report.rows.push_back(RowOf(worker));
  }
  return report;
}

}  // namespace

void AddWorker(CLI::App& app, Command& chosen) {
  CLI::App* noun = AddNoun(app, "worker", "the sessions that train");
  const auto options = std::make_shared<ListOptions>();
  CLI::App* list =
      AddVerb(noun, "list", "every rank: its clock, its lag, and who holds the clock back", chosen,
              [options](Context& context) { return List(context, *options); });
  list->add_flag("--all", options->all, "also clockless and ended sessions");
}

}  // namespace syncline::psctl
