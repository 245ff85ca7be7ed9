#include "tests/integration/witness.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "fmt/format.h"

#include "common/hash.h"
#include "common/random.h"

namespace syncline {
namespace {

constexpr size_t kExamples = 5;

double SumOfSquares(double n) { return n * (n + 1) * (2 * n + 1) / 6; }

}  // namespace

TableSpec WitnessTable(const std::string& name, const WitnessConfig& config) {
  TableSpec spec;
  spec.name = name;
  spec.dim = config.dim();
  spec.optimizer = {"sgd", {{"lr", 1.0}}};
  spec.consistency = {ConsistencyMode::kSsp, config.staleness, ApplyMode::kImmediate};
  spec.reduce = Reduce::kSum;
  return spec;
}

// --- WitnessPlan ------------------------------------------------------------------------------

WitnessPlan::WitnessPlan(const WitnessConfig& config) : config_(config) {
  SplitMix64 random(config.seed);
  for (uint32_t r = 0; r < config.rows; ++r) keys_.push_back(random());
  std::sort(keys_.begin(), keys_.end());
  for (uint32_t q = 0; q < config.columns; ++q) {
    for (uint32_t r = 0; r < config.rows; ++r) {
      int64_t count = 0;
      for (int64_t c = 0; c < config.clocks; ++c) {
        count += IsPushed(q, r, c) ? 1 : 0;
        counts_.push_back(count);
      }
    }
  }
}

// A block of rows_per_push rows from a drawn place, around the end.
bool WitnessPlan::IsPushed(uint32_t column, uint32_t row, int64_t clock) const {
  const uint64_t draw =
      Mix64(Mix64(config_.seed + column) + static_cast<uint64_t>(clock)) % config_.rows;
  return (row + config_.rows - draw) % config_.rows < config_.rows_per_push;
}

std::vector<uint32_t> WitnessPlan::Rows(uint32_t column, int64_t clock) const {
  std::vector<uint32_t> rows;
  for (uint32_t r = 0; r < config_.rows; ++r) {
    if (IsPushed(column, r, clock)) rows.push_back(r);
  }
  return rows;
}

int64_t WitnessPlan::Pushed(uint32_t column, uint32_t row, int64_t x) const {
  if (x < 0) return 0;
  const int64_t clock = std::min(x, config_.clocks - 1);
  return counts_[(size_t{column} * config_.rows + row) * static_cast<size_t>(config_.clocks) +
                 static_cast<size_t>(clock)];
}

// --- WitnessWriter ----------------------------------------------------------------------------

WitnessWriter::WitnessWriter(const WitnessPlan& plan, uint32_t column)
    : plan_(plan), column_(column), issued_(plan.config().rows) {}

WitnessWriter::Push WitnessWriter::Next(int64_t clock) {
  Push push;
  const size_t dim = plan_.config().dim();
  const size_t columns = plan_.config().columns;
  for (const uint32_t row : plan_.Rows(column_, clock)) {
    const auto k = static_cast<float>(++issued_[row]);
    push.keys.push_back(plan_.keys()[row]);
    push.gradients.resize(push.gradients.size() + dim);
    float* gradient = push.gradients.data() + push.gradients.size() - dim;
    gradient[column_] = -1;
    gradient[columns + column_] = -k;
    gradient[2 * columns + column_] = -k * k;
  }
  return push;
}

int64_t WitnessWriter::total() const {
  return std::accumulate(issued_.begin(), issued_.end(), int64_t{0});
}

// --- WitnessChecker ---------------------------------------------------------------------------

void WitnessReport::Add(const WitnessReport& other) {
  reads += other.reads;
  violations += other.violations;
  stalest = std::max(stalest, other.stalest);
  for (const std::string& example : other.examples) {
    if (examples.size() < kExamples) examples.push_back(example);
  }
}

WitnessChecker::WitnessChecker(const WitnessPlan& plan, std::vector<uint32_t> checked)
    : plan_(plan),
      checked_(std::move(checked)),
      last_(size_t{plan.config().rows} * plan.config().columns) {}

void WitnessChecker::Check(int64_t clock, std::span<const float> values, const WitnessWriter* own) {
  CheckPrefixes(values);
  for (const uint32_t column : checked_) CheckBound(clock, column);
  if (own == nullptr) return;
  for (uint32_t r = 0; r < plan_.config().rows; ++r) {
    if (Applied(own->column(), r) == own->issued(r)) continue;
    Violation(fmt::format("I3: clock {} row {}: {} of {} own pushes", clock, r,
                          Applied(own->column(), r), own->issued(r)));
  }
}

void WitnessChecker::CheckPrefixes(std::span<const float> values) {
  ++report_.reads;
  const uint32_t columns = plan_.config().columns;
  for (uint32_t r = 0; r < plan_.config().rows; ++r) {
    const float* row = values.data() + size_t{r} * plan_.config().dim();
    for (uint32_t q = 0; q < columns; ++q) {
      const double n = row[q];
      if (n != std::floor(n) || row[columns + q] != n * (n + 1) / 2 ||
          row[2 * columns + q] != SumOfSquares(n)) {
        Violation(fmt::format("I2: row {} column {}: count {} sum {} squares {}", r, q, n,
                              row[columns + q], row[2 * columns + q]));
      }
      int64_t& last = last_[size_t{r} * columns + q];
      const auto count = static_cast<int64_t>(n);
      if (count < last) {
        Violation(fmt::format("I4: row {} column {}: {} after {}", r, q, count, last));
      }
      last = count;
    }
  }
}

void WitnessChecker::CheckBound(int64_t clock, uint32_t column) {
  const int64_t s = plan_.config().staleness.value();
  // The newest clock whose pushes are all there.
  int64_t seen = plan_.config().clocks;
  for (uint32_t r = 0; r < plan_.config().rows; ++r) {
    const int64_t count = Applied(column, r);
    if (count < plan_.Pushed(column, r, clock - s - 1)) {
      Violation(fmt::format("I1: clock {} row {} column {}: {} pushes, needs {}", clock, r, column,
                            count, plan_.Pushed(column, r, clock - s - 1)));
    }
    if (count > plan_.Pushed(column, r, clock + s)) {
      Violation(fmt::format("I1: clock {} row {} column {}: {} pushes, {} may be", clock, r, column,
                            count, plan_.Pushed(column, r, clock + s)));
    }
    while (seen >= 0 && count < plan_.Pushed(column, r, seen)) --seen;
  }
  report_.stalest = std::max(report_.stalest, clock - 1 - seen);
}

int64_t WitnessChecker::Applied(uint32_t column, uint32_t row) const {
  return last_[size_t{row} * plan_.config().columns + column];
}

int64_t WitnessChecker::Applied(uint32_t column) const {
  int64_t sum = 0;
  for (uint32_t r = 0; r < plan_.config().rows; ++r) sum += Applied(column, r);
  return sum;
}

void WitnessChecker::Violation(std::string text) {
  ++report_.violations;
  if (report_.examples.size() < kExamples) report_.examples.push_back(std::move(text));
}

}  // namespace syncline
