// Runner: reads under ssp(s) are never staler than they may be, and leases bound what a dead or
// paused worker costs. Real ps-server processes. `ssp_bound --help`.
#include <cstdio>
#include <map>
#include <string>

#include "CLI/CLI.hpp"

#include "common/status/status.h"
#include "common/time_source.h"
#include "tests/integration/ssp_cases.h"
#include "tests/support/child_process.h"
#include "tests/support/process_cluster.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestKillWait{3'500};  // lease 2 s + 1.5 s
constexpr milliseconds kLongestRejoin{2'000};

struct Arguments {
  bool check = false;
  bool quick = false;
  uint64_t seed = 1;
  std::string server;
  std::string mutant;
};

struct Outcome {
  WitnessReport all;
  std::map<int64_t, int64_t> stalest;  // by s
  uint64_t mutant_violations = 0;
  LeaseResult kill;
  LeaseResult pause;
};

void PrintExamples(const std::string& name, const WitnessReport& report) {
  fmt::print("{}: {} reads, {} violations, stalest {}\n", name, report.reads, report.violations,
             report.stalest);
  for (const std::string& example : report.examples) fmt::print("  {}\n", example);
  std::fflush(stdout);
}

absl::Status RunBounds(const Arguments& arguments, const std::string& coordinator,
                       Outcome& outcome) {
  for (const int64_t s : {0, 1, 4}) {
    const SspRun run{.coordinator = coordinator,
                     .job = fmt::format("ssp-{}", s),
                     .seed = arguments.seed + static_cast<uint64_t>(s),
                     .staleness = Staleness(s),
                     .clocks = arguments.quick ? 60 : 300};
    ASSIGN_OR_RETURN(const WitnessReport report, RunBound(run));
    PrintExamples(run.job, report);
    outcome.all.Add(report);
    outcome.stalest[s] = report.stalest;
  }
  return absl::OkStatus();
}

absl::Status RunLeases(const Arguments& arguments, ProcessCluster& cluster, Outcome& outcome) {
  SspRun run{.coordinator = cluster.coordinator(),
             .job = "kill",
             .seed = arguments.seed,
             .clocks = arguments.quick ? 120 : 300};
  ASSIGN_OR_RETURN(outcome.kill, RunKill(run, cluster.folder()));
  PrintExamples(run.job, outcome.kill.report);
  run.job = "pause";
  run.clocks = 350;
  ASSIGN_OR_RETURN(outcome.pause, RunPause(run, cluster.folder()));
  PrintExamples(run.job, outcome.pause.report);
  outcome.all.Add(outcome.kill.report);
  outcome.all.Add(outcome.pause.report);
  return absl::OkStatus();
}

// The same check against servers that serve one clock too early: it must fail.
absl::Status RunMutant(const Arguments& arguments, Outcome& outcome) {
  ASSIGN_OR_RETURN(const auto cluster,
                   ProcessCluster::Start({.program = arguments.mutant, .servers = 2}));
  RETURN_IF_ERROR(cluster->WaitReady());
  ASSIGN_OR_RETURN(const WitnessReport report, RunBound({.coordinator = cluster->coordinator(),
                                                         .job = "mutant",
                                                         .seed = arguments.seed,
                                                         .clocks = arguments.quick ? 40 : 100}));
  PrintExamples("mutant (violations are right)", report);
  outcome.mutant_violations = report.violations;
  return absl::OkStatus();
}

absl::Status RunAll(const Arguments& arguments, Outcome& outcome) {
  ASSIGN_OR_RETURN(const auto cluster,
                   ProcessCluster::Start({.program = arguments.server, .servers = 2}));
  RETURN_IF_ERROR(cluster->WaitReady());
  RETURN_IF_ERROR(RunBounds(arguments, cluster->coordinator(), outcome));
  RETURN_IF_ERROR(RunLeases(arguments, *cluster, outcome));
  return RunMutant(arguments, outcome);
}

bool Holds(const Outcome& outcome) {
  for (const auto& [s, stalest] : outcome.stalest) {
    if (stalest != s) return false;
  }
  return outcome.all.violations == 0 && outcome.mutant_violations > 0 &&
         outcome.kill.longest_wait <= kLongestKillWait &&
         outcome.pause.longest_wait <= kLongestKillWait && outcome.pause.applied_after_fence == 0 &&
         outcome.pause.rejoined_after.count() >= 0 &&
         outcome.pause.rejoined_after <= kLongestRejoin;
}

int Run(const Arguments& arguments) {
  const SystemTimeSource clock;
  const MonotonicTime start = clock.Now();
  Outcome outcome;
  const absl::Status status = RunAll(arguments, outcome);
  if (!status.ok()) {
    fmt::print("failed (seed {}): {}\n", arguments.seed, status.ToString());
    return 1;
  }
  const double seconds = std::chrono::duration<double>(clock.Now() - start).count();
  const bool holds = Holds(outcome);
  if (!holds) fmt::print("a bound does not hold; rerun with --seed {}\n", arguments.seed);
  fmt::print(
      "RESULT reads={} violations={} stalest_0={} stalest_1={} stalest_4={} mutant_violations={} "
      "kill_wait_ms={} pause_wait_ms={} fenced_applied={} rejoin_ms={} seconds={:.1f}\n",
      outcome.all.reads, outcome.all.violations, outcome.stalest[0], outcome.stalest[1],
      outcome.stalest[4], outcome.mutant_violations, outcome.kill.longest_wait.count(),
      outcome.pause.longest_wait.count(), outcome.pause.applied_after_fence,
      outcome.pause.rejoined_after.count(), seconds);
  return arguments.check && !holds ? 1 : 0;
}

}  // namespace
}  // namespace syncline

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == syncline::kWorkerFlag) {
    return syncline::WorkerMain(argc, argv);
  }
  syncline::Arguments arguments;
  const std::string folder = syncline::ProgramFolder();
  arguments.server = folder + "/../../server/ps-server";
  arguments.mutant = folder + "/ps-server-mutant";
  CLI::App app{
      "Checks staleness bounds under ssp(0), ssp(1), ssp(4) with one slow worker, and leases under "
      "kill and pause. Last line: RESULT with counts."};
  app.add_flag("--check", arguments.check, "exit with 1 unless every bound holds");
  app.add_flag("--quick", arguments.quick, "fewer clocks");
  app.add_option("--seed", arguments.seed, "who pushes which rows when");
  app.add_option("--server", arguments.server, "path of ps-server");
  app.add_option("--mutant", arguments.mutant, "path of a ps-server that serves too early");
  CLI11_PARSE(app, argc, argv);
  return syncline::Run(arguments);
}
