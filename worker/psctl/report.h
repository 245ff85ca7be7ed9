// What a command found, before anyone decides how it is shown.
#ifndef SYNCLINE_WORKER_PSCTL_REPORT_H_
#define SYNCLINE_WORKER_PSCTL_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "worker/psctl/exit_code.h"

namespace syncline::psctl {

// Empty (monostate) means "not known" or "does not apply": "-" in a table, null in JSON.
using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string,
                           std::vector<std::string>, std::vector<float>>;

// How a table writes a number. JSON always has the number itself, in the base unit.
enum class Unit { kPlain, kBytes, kSeconds, kRatio, kPerSecond };

struct Column {
  std::string key;    // in JSON; part of the schema psctl/v1
  std::string title;  // in tables
  Unit unit = Unit::kPlain;
};

// REQUIRES: every row has one value per column, and a single report has one row.
struct Report {
  std::string kind;  // in JSON, like "WorkerList"
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;
  bool single = false;  // one object with names beside values, instead of a list
  ExitCode exit = ExitCode::kOk;
};

// One field of a single report.
struct Field {
  Column column;
  Value value;
};

inline Report SingleReport(std::string kind, std::vector<Field> fields) {
  Report report{.kind = std::move(kind), .columns = {}, .rows = {{}}, .single = true};
  for (Field& field : fields) {
    report.columns.push_back(std::move(field.column));
    report.rows[0].push_back(std::move(field.value));
  }
  return report;
}

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_REPORT_H_
