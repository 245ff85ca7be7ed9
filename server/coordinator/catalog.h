// The jobs and tables that exist.
#ifndef SYNCLINE_SERVER_COORDINATOR_CATALOG_H_
#define SYNCLINE_SERVER_COORDINATOR_CATALOG_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/table_spec.h"
#include "common/time_source.h"
#include "common/types.h"
#include "server/coordinator/coordinator_types.h"

namespace syncline::coordinator {

// What jobs and servers may be called: 1 to kMaxNameBytes letters, digits, '_', '-' and '.'.
bool IsName(std::string_view text);

struct Job {
  JobInfo info;
  std::set<int32_t> joined;  // declared ranks installed at least once (C5)
  MonotonicTime start_deadline = MonotonicTime::Max();
};

struct Table {
  TableInfo info;
  std::vector<ChangeLearningRate> rates;  // in the order asked
};

// Judges an optimizer: the server's factory knows which exist.
using OptimizerCheck = std::function<absl::Status(const OptimizerSpec&)>;

// Tables live in a namespace per job. Ids are never given twice, also not over restarts. Creating
// what exists with an equal spec gives the existing one back.
//
// Pure and single-threaded. Pointers stay valid: nothing is ever removed.
class Catalog {
 public:
  struct NextIds {
    JobId job{1};
    TableId table{1};
  };

  explicit Catalog(OptimizerCheck check_optimizer) : check_optimizer_(std::move(check_optimizer)) {}

  void Restore(Job job);
  void Restore(Table table);
  void Restore(NextIds next) { next_ = next; }
  const NextIds& next_ids() const { return next_; }

  // `second`: made now.
  // Errors: INVALID_ARGUMENT (every problem of the spec), ALREADY_EXISTS (SPEC_DIFFERS, naming
  // each difference), RESOURCE_EXHAUSTED.
  absl::StatusOr<std::pair<Job*, bool>> CreateJob(JobSpec spec);
  // Errors: as CreateJob, ValidateTableSpec and the optimizer check; NOT_FOUND (no such job). A
  // spec without an optimizer equals one whose optimizer was set later.
  absl::StatusOr<std::pair<Table*, bool>> CreateTable(const std::string& job,
                                                      const TableSpec& spec);

  // Errors: NOT_FOUND names what exists.
  absl::StatusOr<Job*> FindJob(const std::string& name);
  absl::StatusOr<Table*> FindTable(const std::string& job, const std::string& name);
  Job& At(JobId id) { return jobs_.at(id); }

  // `second`: set now. Errors: INVALID_ARGUMENT; ALREADY_EXISTS (SPEC_DIFFERS) when the table has
  // another optimizer: its rows hold that one's state.
  absl::StatusOr<std::pair<Table*, bool>> SetOptimizer(const std::string& job,
                                                       const std::string& table,
                                                       const OptimizerSpec& optimizer);
  // Errors: INVALID_ARGUMENT, FAILED_PRECONDITION (NO_OPTIMIZER), RESOURCE_EXHAUSTED.
  absl::StatusOr<Table*> ChangeRate(const std::string& job, const std::string& table,
                                    Clock from_clock, double learning_rate);

  std::map<JobId, Job>& jobs() { return jobs_; }
  const std::map<TableId, Table>& tables() const { return tables_; }

 private:
  OptimizerCheck check_optimizer_;
  NextIds next_;
  std::map<JobId, Job> jobs_;
  std::map<TableId, Table> tables_;
  std::map<std::string, JobId> job_names_;
  std::map<std::pair<JobId, std::string>, TableId> table_names_;
};

}  // namespace syncline::coordinator

#endif  // SYNCLINE_SERVER_COORDINATOR_CATALOG_H_
