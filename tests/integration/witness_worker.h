// A training rank whose gradients are witnesses: reads every row, checks, works, pushes, ticks.
#ifndef SYNCLINE_TESTS_INTEGRATION_WITNESS_WORKER_H_
#define SYNCLINE_TESTS_INTEGRATION_WITNESS_WORKER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/time_source.h"
#include "tests/integration/witness.h"
#include "worker/client/ps_client.h"

namespace syncline {

struct WitnessWorkerOptions {
  std::string coordinator;
  std::string job;
  uint32_t ranks = 4;
  uint32_t rank = 0;
  WitnessConfig witness;
  // Columns that I1 is checked for; the others' owners die or pause.
  std::vector<uint32_t> checked;
  // What an iteration takes, by sleeping.
  std::chrono::microseconds step{3'000};
  std::chrono::milliseconds lease{10'000};
  std::chrono::milliseconds reply_timeout{500};
  // The column of its second life; unset (== witness.columns): fenced is an error.
  uint32_t second_column = UINT32_MAX;
};

// What a worker tells while it runs. The time is CLOCK_MONOTONIC, the same for all processes here.
struct WitnessEvent {
  std::string_view what;  // clock (about to start it), fenced, rejoined
  int64_t clock = 0;
  std::chrono::milliseconds at{0};
  int64_t issued = 0;  // fenced: pushes of rows, by this life
};

// Connects a client for the options' rank.
absl::StatusOr<std::unique_ptr<PsClient>> ConnectWitness(const WitnessWorkerOptions& options);

// Runs all clocks, then leaves. Errors are those of the client; violations are in the report.
absl::StatusOr<WitnessReport> RunWitnessWorker(
    const WitnessWorkerOptions& options, const std::function<void(const WitnessEvent&)>& tell);

// Reads the table through a session without a clock. Blocking; made once, used often.
class WitnessObserver {
 public:
  // Errors: as PsClient::Connect.
  static absl::StatusOr<std::unique_ptr<WitnessObserver>> Connect(const std::string& coordinator,
                                                                  const std::string& job,
                                                                  const WitnessPlan& plan);
  absl::Status Look();
  const WitnessChecker& seen() const { return checker_; }

 private:
  WitnessObserver(const WitnessPlan& plan, std::unique_ptr<PsClient> client, TableInfo table);

  const WitnessPlan& plan_;
  std::unique_ptr<PsClient> client_;
  TableInfo table_;
  WitnessChecker checker_;
};

std::chrono::milliseconds MillisecondsNow();

}  // namespace syncline

#endif  // SYNCLINE_TESTS_INTEGRATION_WITNESS_WORKER_H_
