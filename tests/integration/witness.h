// A witness table makes every row its own vector clock (RELIABILITY.md describes the idea: column w
// counts the pushes of worker w that a row has had, two more columns sum their numbers and
// squares). Plain SGD, learning rate 1, `reduce` sum, rows of zeros. One column a life of a worker.
#ifndef SYNCLINE_TESTS_INTEGRATION_WITNESS_H_
#define SYNCLINE_TESTS_INTEGRATION_WITNESS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/table_spec.h"
#include "common/types.h"

namespace syncline {

struct WitnessConfig {
  uint64_t seed = 1;
  uint32_t columns = 4;
  uint32_t rows = 24;
  uint32_t rows_per_push = 6;
  int64_t clocks = 300;  // k^2 sums stay exact in float32 below 368
  Staleness staleness{1};

  uint32_t dim() const { return 3 * columns; }
};

TableSpec WitnessTable(const std::string& name, const WitnessConfig& config);

// Who pushes what when: a function of the config alone, so that every checker knows it.
class WitnessPlan {
 public:
  explicit WitnessPlan(const WitnessConfig& config);

  const WitnessConfig& config() const { return config_; }
  // All keys, ascending. Row r has keys()[r].
  const std::vector<Key>& keys() const { return keys_; }
  // Rows that the column's worker pushes in a clock: ascending, never empty.
  std::vector<uint32_t> Rows(uint32_t column, int64_t clock) const;
  // How many pushes to the row the column's worker issues in the clocks up to x (I1). 0 for x < 0;
  // as for the last clock beyond it.
  int64_t Pushed(uint32_t column, uint32_t row, int64_t x) const;

 private:
  bool IsPushed(uint32_t column, uint32_t row, int64_t clock) const;

  const WitnessConfig config_;
  std::vector<Key> keys_;
  std::vector<int64_t> counts_;  // [column][row][clock]: pushes in clocks <= clock
};

// One life's pushes: counts them and makes their gradients.
class WitnessWriter {
 public:
  WitnessWriter(const WitnessPlan& plan, uint32_t column);

  struct Push {
    std::vector<Key> keys;
    std::vector<float> gradients;
  };
  Push Next(int64_t clock);
  uint32_t column() const { return column_; }
  int64_t issued(uint32_t row) const { return issued_[row]; }
  int64_t total() const;

 private:
  const WitnessPlan& plan_;
  const uint32_t column_;
  std::vector<int64_t> issued_;
};

struct WitnessReport {
  uint64_t reads = 0;
  uint64_t violations = 0;
  int64_t stalest = 0;                // clocks, over all reads
  std::vector<std::string> examples;  // of violations; a few

  void Add(const WitnessReport& other);
};

// Checks one reader's reads (rows x dim floats, all rows, in order of keys()):
//   I1  in clock c every checked column has at least Pushed(.., c - s - 1), and not more than
//       Pushed(.., c + s), because nobody may be further ahead
//   I2  sums are those of 1..count: no hole, no duplicate
//   I3  the own column has what was issued before the read
//   I4  no count ever decreases
class WitnessChecker {
 public:
  // `checked`: columns whose owners live through the whole run, for I1.
  WitnessChecker(const WitnessPlan& plan, std::vector<uint32_t> checked);

  // `own` may be null (an observer).
  void Check(int64_t clock, std::span<const float> values, const WitnessWriter* own);
  // I2 and I4 alone.
  void CheckPrefixes(std::span<const float> values);
  // Applied pushes of a column, over all rows, as of the last read.
  int64_t Applied(uint32_t column) const;
  int64_t Applied(uint32_t column, uint32_t row) const;
  const WitnessReport& report() const { return report_; }

 private:
  void CheckBound(int64_t clock, uint32_t column);
  void Violation(std::string text);

  const WitnessPlan& plan_;
  const std::vector<uint32_t> checked_;
  std::vector<int64_t> last_;  // [row][column]
  WitnessReport report_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_INTEGRATION_WITNESS_H_
