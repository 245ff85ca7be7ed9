// The cases that ssp_bound runs.
#ifndef SYNCLINE_TESTS_INTEGRATION_SSP_CASES_H_
#define SYNCLINE_TESTS_INTEGRATION_SSP_CASES_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "common/types.h"
#include "tests/integration/witness.h"

namespace syncline {

struct SspRun {
  std::string coordinator;
  std::string job;  // a new one for each case
  uint64_t seed = 1;
  Staleness staleness{1};
  int64_t clocks = 300;
};

// Four workers, threads of this process, the last one three times slower. After they have left, the
// table must hold all that was issued.
absl::StatusOr<WitnessReport> RunBound(const SspRun& run);

struct LeaseResult {
  WitnessReport report;
  // The longest time between two clocks of the workers that were left alone, from the fault on.
  std::chrono::milliseconds longest_wait{0};
  // Pause only.
  int64_t applied_after_fence = 0;
  std::chrono::milliseconds rejoined_after{-1};  // -1: never
};

// Four workers, processes of this program (see WorkerMain), lease two seconds.
// The last one is killed.
absl::StatusOr<LeaseResult> RunKill(const SspRun& run, const std::string& folder);
// The last one is stopped past its lease, then goes on.
absl::StatusOr<LeaseResult> RunPause(const SspRun& run, const std::string& folder);

inline constexpr char kWorkerFlag[] = "--worker";
// What a worker process does: argv as the cases make it. Returns the exit status.
int WorkerMain(int argc, char** argv);

}  // namespace syncline

#endif  // SYNCLINE_TESTS_INTEGRATION_SSP_CASES_H_
