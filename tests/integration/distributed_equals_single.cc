// Runner: BSP training with 1, 2 and 4 workers ends at the parameters of a float64 single process,
// and two runs of the same case end in the same bits.
//   distributed_equals_single [--quick] [--check] [--seed=N]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/status/status.h"
#include "tests/integration/equality_case.h"

namespace syncline {
namespace {

constexpr double kBound = 1e-5;

struct Totals {
  int cases = 0;
  int failed = 0;
  int bits_differ = 0;
  double largest = 0;
};

void RunCase(const EqualityCase& test, bool repeat, Totals& totals) {
  ++totals.cases;
  const absl::StatusOr<Trained> trained = TrainDistributed(test);
  if (!trained.ok()) {
    ++totals.failed;
    std::printf("%s seed %llu workers %u: %s\n", test.adagrad ? "adagrad" : "sgd",
                static_cast<unsigned long long>(test.seed), test.workers,
                trained.status().ToString().c_str());
    return;
  }
  const double difference = LargestDifference(test, *trained);
  totals.largest = std::max(totals.largest, difference);
  bool same = true;
  if (repeat) {
    const absl::StatusOr<Trained> again = TrainDistributed(test);
    same = again.ok() && again->final == trained->final;
    if (!same) ++totals.bits_differ;
  }
  std::printf("%s seed %llu workers %u: largest difference %.2e%s\n",
              test.adagrad ? "adagrad" : "sgd", static_cast<unsigned long long>(test.seed),
              test.workers, difference,
              !repeat ? ""
              : same  ? ", same bits again"
                      : ", BITS DIFFER");
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  bool quick = false;
  bool check = false;
  uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--check") {
      check = true;
    } else if (argument.starts_with("--seed=")) {
      seed = std::strtoull(argv[i] + 7, nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: %s [--quick] [--check] [--seed=N]\n", argv[0]);
      return 2;
    }
  }
  Totals totals;
  for (uint64_t s = seed; s < seed + (quick ? 1 : 5); ++s) {
    for (const bool adagrad : {false, true}) {
      for (const uint32_t workers : {1u, 2u, 4u}) {
        RunCase({.adagrad = adagrad, .seed = s, .workers = workers}, workers == 4 || !quick,
                totals);
      }
    }
  }
  const bool good = totals.failed == 0 && totals.bits_differ == 0 && totals.largest <= kBound;
  std::printf(
      "RESULT cases=%d failed=%d largest_difference=%.3e bound=%.0e bits_differ=%d seed=%llu\n",
      totals.cases, totals.failed, totals.largest, kBound, totals.bits_differ,
      static_cast<unsigned long long>(seed));
  return check && !good ? 1 : 0;
}

}  // namespace
}  // namespace syncline

int main(int argc, char** argv) { return syncline::Main(argc, argv); }
