#include "tests/integration/ssp_cases.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <vector>

#include <signal.h>

#include "common/status/status.h"
#include "tests/integration/witness_worker.h"
#include "tests/support/child_process.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kWorkers = 4;
constexpr uint32_t kLast = kWorkers - 1;
constexpr milliseconds kLease{2'000};
constexpr std::chrono::microseconds kStep{3'000};
constexpr int kSlowFactor = 3;
constexpr std::chrono::microseconds kLeaseStep{12'000};
constexpr milliseconds kPoll{5};
constexpr std::chrono::seconds kCaseTime{60};

WitnessConfig ConfigOf(const SspRun& run, uint32_t columns) {
  return {.seed = run.seed, .columns = columns, .clocks = run.clocks, .staleness = run.staleness};
}

WitnessWorkerOptions WorkerOf(const SspRun& run, uint32_t rank) {
  WitnessWorkerOptions options;
  options.coordinator = run.coordinator;
  options.job = run.job;
  options.ranks = kWorkers;
  options.rank = rank;
  options.witness = ConfigOf(run, kWorkers);
  options.checked = {0, 1, 2, 3};
  options.step = kStep * (rank == kLast ? kSlowFactor : 1);
  return options;
}

// The first error, or the end of all.
absl::Status RunThreads(const SspRun& run, std::vector<WitnessReport>& reports) {
  std::vector<absl::Status> statuses(kWorkers);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kWorkers; ++rank) {
    threads.emplace_back([&, rank] {
      auto report = RunWitnessWorker(WorkerOf(run, rank), [](const WitnessEvent&) {});
      statuses[rank] = report.status();
      if (report.ok()) reports[rank] = *std::move(report);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

// --- Worker processes -------------------------------------------------------------------------

struct Line {
  std::string what;
  int64_t clock = 0;
  milliseconds at{0};
  int64_t issued = 0;
};

// What a worker has told so far; a torn last line is left out.
std::vector<Line> LinesOf(const ChildProcess& worker) {
  std::vector<Line> lines;
  const std::string text = ReadFile(worker.output());
  std::istringstream whole(text.substr(0, text.rfind('\n') + 1));
  for (std::string row; std::getline(whole, row);) {
    std::istringstream words(row);
    Line line;
    int64_t at = 0;
    words >> line.what >> line.clock >> at >> line.issued;
    line.at = milliseconds(at);
    lines.push_back(line);
  }
  return lines;
}

const Line* FindLine(const std::vector<Line>& lines, const std::string& what) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.what == what; });
  return found == lines.end() ? nullptr : &*found;
}

// The longest time without a new clock, from `from` on.
milliseconds LongestWait(const ChildProcess& worker, milliseconds from) {
  milliseconds last = from;
  milliseconds longest{0};
  for (const Line& line : LinesOf(worker)) {
    if (line.at < from) continue;
    longest = std::max(longest, line.at - last);
    last = line.at;
  }
  return longest;
}

class Crew {
 public:
  static absl::StatusOr<std::unique_ptr<Crew>> Start(const SspRun& run, const std::string& folder) {
    auto crew = std::make_unique<Crew>();
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
      const std::string file = fmt::format("{}/{}-{}", folder, run.job, rank);
      ASSIGN_OR_RETURN(
          auto worker,
          ChildProcess::Start({"/proc/self/exe", kWorkerFlag, run.coordinator, run.job,
                               std::to_string(rank), std::to_string(run.seed),
                               std::to_string(run.staleness.value()), std::to_string(run.clocks)},
                              file + ".out", file + ".log"));
      crew->workers_.push_back(std::move(worker));
    }
    return crew;
  }

  ChildProcess& worker(uint32_t rank) { return *workers_[rank]; }
  int64_t ClockOf(uint32_t rank) {
    const std::vector<Line> lines = LinesOf(*workers_[rank]);
    return lines.empty() ? -1 : lines.back().clock;
  }
  // Until rank 0 is in that clock.
  absl::Status WaitForClock(int64_t clock) {
    const milliseconds end = MillisecondsNow() + kCaseTime;
    while (ClockOf(0) < clock) {
      if (MillisecondsNow() > end || !workers_[0]->running()) {
        return Failure(0, fmt::format("clock {} was not reached", clock));
      }
      std::this_thread::sleep_for(kPoll);
    }
    return absl::OkStatus();
  }
  // Waits for the workers below `count` to end well; adds up what they report.
  absl::Status Finish(uint32_t count, LeaseResult& result, milliseconds fault) {
    for (uint32_t rank = 0; rank < count; ++rank) {
      const std::optional<int> status = workers_[rank]->Wait(kCaseTime);
      if (!status || *status != 0) return Failure(rank, "did not end well");
      const std::vector<Line> lines = LinesOf(*workers_[rank]);
      const Line* done = FindLine(lines, "done");
      if (done == nullptr) return Failure(rank, "did not say done");
      WitnessReport report;
      report.reads = static_cast<uint64_t>(done->clock);
      report.violations = static_cast<uint64_t>(done->issued);
      if (report.violations > 0) report.examples = {ReadFile(workers_[rank]->errors())};
      result.report.Add(report);
      if (rank == kLast) continue;
      result.longest_wait = std::max(result.longest_wait, LongestWait(*workers_[rank], fault));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Failure(uint32_t rank, const std::string& what) {
    return absl::UnavailableError(
        fmt::format("worker {}: {}: {}", rank, what, ReadFile(workers_[rank]->errors())));
  }

  std::vector<std::unique_ptr<ChildProcess>> workers_;
};

}  // namespace

absl::StatusOr<WitnessReport> RunBound(const SspRun& run) {
  const WitnessPlan plan(ConfigOf(run, kWorkers));
  std::vector<WitnessReport> reports(kWorkers);
  RETURN_IF_ERROR(RunThreads(run, reports));
  WitnessReport all;
  for (const WitnessReport& report : reports) all.Add(report);
  ASSIGN_OR_RETURN(const auto observer, WitnessObserver::Connect(run.coordinator, run.job, plan));
  RETURN_IF_ERROR(observer->Look());
  all.Add(observer->seen().report());
  for (uint32_t q = 0; q < kWorkers; ++q) {
    for (uint32_t r = 0; r < plan.config().rows; ++r) {
      if (observer->seen().Applied(q, r) == plan.Pushed(q, r, run.clocks)) continue;
      ++all.violations;
      all.examples.push_back(fmt::format("I6: at the end row {} has {} of {} pushes of {}", r,
                                         observer->seen().Applied(q, r),
                                         plan.Pushed(q, r, run.clocks), q));
    }
  }
  return all;
}

absl::StatusOr<LeaseResult> RunKill(const SspRun& run, const std::string& folder) {
  LeaseResult result;
  ASSIGN_OR_RETURN(const auto crew, Crew::Start(run, folder));
  RETURN_IF_ERROR(crew->WaitForClock(run.clocks / 4));
  const milliseconds fault = MillisecondsNow();
  crew->worker(kLast).Signal(SIGKILL);
  RETURN_IF_ERROR(crew->Finish(kLast, result, fault));
  return result;
}

absl::StatusOr<LeaseResult> RunPause(const SspRun& run, const std::string& folder) {
  LeaseResult result;
  const WitnessPlan plan(ConfigOf(run, kWorkers + 1));
  ASSIGN_OR_RETURN(const auto crew, Crew::Start(run, folder));
  RETURN_IF_ERROR(crew->WaitForClock(run.clocks / 4));
  ASSIGN_OR_RETURN(const auto observer, WitnessObserver::Connect(run.coordinator, run.job, plan));

  const milliseconds fault = MillisecondsNow();
  crew->worker(kLast).Signal(SIGSTOP);
  // Far beyond what its clock allows: it has been fenced.
  const int64_t fenced_beyond = crew->ClockOf(kLast) + run.staleness.value() + 20;
  RETURN_IF_ERROR(crew->WaitForClock(fenced_beyond));
  RETURN_IF_ERROR(observer->Look());
  const int64_t applied = observer->seen().Applied(kLast);
  const milliseconds go_on = MillisecondsNow();
  crew->worker(kLast).Signal(SIGCONT);

  RETURN_IF_ERROR(crew->Finish(kWorkers, result, fault));
  RETURN_IF_ERROR(observer->Look());
  result.applied_after_fence = observer->seen().Applied(kLast) - applied;
  result.report.Add(observer->seen().report());
  const std::vector<Line> lines = LinesOf(crew->worker(kLast));
  if (const Line* rejoined = FindLine(lines, "rejoined")) {
    result.rejoined_after = rejoined->at - go_on;
  }
  return result;
}

int WorkerMain(int argc, char** argv) {
  if (argc != 8) return 2;
  SspRun run{.coordinator = argv[2], .job = argv[3], .seed = std::strtoull(argv[5], nullptr, 10)};
  run.staleness = Staleness(std::atoll(argv[6]));
  run.clocks = std::atoll(argv[7]);
  WitnessWorkerOptions options = WorkerOf(run, static_cast<uint32_t>(std::atoi(argv[4])));
  options.witness.columns = kWorkers + 1;
  options.checked = {0, 1, 2};  // the last one dies or pauses
  options.second_column = options.rank == kLast ? kWorkers : UINT32_MAX;
  options.step = kLeaseStep;
  options.lease = kLease;
  const auto report = RunWitnessWorker(options, [](const WitnessEvent& event) {
    fmt::print("{} {} {} {}\n", event.what, event.clock, event.at.count(), event.issued);
    std::fflush(stdout);
  });
  if (!report.ok()) {
    fmt::print(stderr, "{}\n", report.status().ToString());
    return 1;
  }
  for (const std::string& example : report->examples) fmt::print(stderr, "{}\n", example);
  fmt::print("done {} {} {}\n", report->reads, MillisecondsNow().count(), report->violations);
  return 0;
}

}  // namespace syncline
