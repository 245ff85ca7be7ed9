#include "server/coordinator/catalog.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline::coordinator {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

absl::Status CheckJobSpec(const JobSpec& spec) {
  std::string problems;
  auto add = [&problems](const std::string& text) {
    problems += (problems.empty() ? "" : "; ") + text;
  };
  if (!IsName(spec.name)) {
    add(fmt::format("name must be 1 to {} letters, digits, '_', '-' and '.'", kMaxNameBytes));
  }
  if (spec.ranks < 0 || spec.ranks > static_cast<int32_t>(kMaxRanksPerJob)) {
    add(fmt::format("ranks is {}, must be 0 to {}", spec.ranks, kMaxRanksPerJob));
  }
  if (spec.reproducible && spec.ranks == 0) add("a reproducible job declares its ranks");
  if (spec.lease < kMinLease || spec.lease > kMaxLease) {
    add(fmt::format("lease is {} ms, must be {} to {}", spec.lease.count(), kMinLease.count(),
                    kMaxLease.count()));
  }
  if (spec.start_timeout.count() < 0) add("start_timeout is negative");
  if (problems.empty()) return absl::OkStatus();
  return InvalidArgument("job {}: {}", spec.name, problems);
}

std::string DescribeJobDifference(const JobSpec& here, const JobSpec& asked) {
  std::string text;
  auto add = [&text](std::string_view field, auto a, auto b) {
    if (a == b) return;
    text += fmt::format("{}{}: {} here, {} asked", text.empty() ? "" : "; ", field, a, b);
  };
  add("ranks", here.ranks, asked.ranks);
  add("reproducible", here.reproducible, asked.reproducible);
  add("start_timeout_ms", here.start_timeout.count(), asked.start_timeout.count());
  add("lease_ms", here.lease.count(), asked.lease.count());
  return text;
}

absl::Status NotFound(std::string_view kind, std::string_view name, const std::string& known) {
  return MakeError(absl::StatusCode::kNotFound,
                   kind == "table" ? Detail::kUnknownTable : Detail::kNone,
                   "no {} {}; create it first ({})", kind, name,
                   known.empty() ? "there is none yet" : "there are:" + known);
}

absl::Status Full(std::string_view what, size_t limit) {
  return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                   "the cluster has {} {}, the limit; use another cluster", limit, what);
}

}  // namespace

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::all_of(text.begin(), text.end(), IsNameCharacter);
}

void Catalog::Restore(Job job) {
  job_names_[job.info.spec.name] = job.info.id;
  jobs_[job.info.id] = std::move(job);
}

void Catalog::Restore(Table table) {
  table_names_[{table.info.job, table.info.spec.name}] = table.info.id;
  tables_[table.info.id] = std::move(table);
}

absl::StatusOr<std::pair<Job*, bool>> Catalog::CreateJob(JobSpec spec) {
  if (spec.lease.count() == 0) spec.lease = kDefaultLease;
  if (spec.start_timeout.count() == 0) spec.start_timeout = kDefaultStartTimeout;
  RETURN_IF_ERROR(CheckJobSpec(spec));
  if (const auto it = job_names_.find(spec.name); it != job_names_.end()) {
    Job& job = jobs_.at(it->second);
    if (job.info.spec == spec) return std::make_pair(&job, false);
    return MakeError(absl::StatusCode::kAlreadyExists, Detail::kSpecDiffers,
                     "job {} exists with another spec ({}); use its spec or another name",
                     spec.name, DescribeJobDifference(job.info.spec, spec));
  }
  if (jobs_.size() >= kMaxJobs) return Full("jobs", kMaxJobs);
  Job job;
  job.info.id = next_.job;
  job.info.spec = std::move(spec);
  job.info.state = job.info.spec.ranks == 0 ? JobState::kRunning : JobState::kStarting;
  ++next_.job;
  const JobId id = job.info.id;
  Restore(std::move(job));
  return std::make_pair(&jobs_.at(id), true);
}

absl::StatusOr<Job*> Catalog::FindJob(const std::string& name) {
  if (const auto it = job_names_.find(name); it != job_names_.end()) return &jobs_.at(it->second);
  std::string known;
  for (const auto& [known_name, id] : job_names_) {
    if (known.size() < kMaxErrorMessageBytes / 2) known += " " + known_name;
  }
  return NotFound("job", name, known);
}

absl::StatusOr<Table*> Catalog::FindTable(const std::string& job, const std::string& name) {
  ASSIGN_OR_RETURN(const Job* const owner, FindJob(job));
  const JobId id = owner->info.id;
  if (const auto it = table_names_.find({id, name}); it != table_names_.end()) {
    return &tables_.at(it->second);
  }
  std::string known;
  for (auto it = table_names_.lower_bound({id, ""});
       it != table_names_.end() && it->first.first == id; ++it) {
    if (known.size() < kMaxErrorMessageBytes / 2) known += " " + it->first.second;
  }
  return NotFound("table", name, known);
}

absl::StatusOr<std::pair<Table*, bool>> Catalog::CreateTable(const std::string& job,
                                                             const TableSpec& spec) {
  ASSIGN_OR_RETURN(const Job* const owner, FindJob(job));
  RETURN_IF_ERROR(ValidateTableSpec(spec));
  if (!spec.optimizer.name.empty()) RETURN_IF_ERROR(check_optimizer_(spec.optimizer));
  if (spec.optimizer.name.empty() && !spec.optimizer.arguments.empty()) {
    return InvalidArgument("table {}: optimizer arguments without an optimizer", spec.name);
  }
  if (owner->info.spec.reproducible && spec.consistency.mode != ConsistencyMode::kBsp) {
    return InvalidArgument("table {}: job {} is reproducible and takes bsp tables only", spec.name,
                           job);
  }
  const JobId id = owner->info.id;
  if (const auto it = table_names_.find({id, spec.name}); it != table_names_.end()) {
    Table& table = tables_.at(it->second);
    TableSpec asked = spec;
    if (asked.optimizer.name.empty()) asked.optimizer = table.info.spec.optimizer;
    if (asked == table.info.spec) return std::make_pair(&table, false);
    return MakeError(absl::StatusCode::kAlreadyExists, Detail::kSpecDiffers,
                     "table {} of job {} exists with another spec ({}); use its spec or another "
                     "name",
                     spec.name, job, DescribeDifference(table.info.spec, asked));
  }
  if (tables_.size() >= kMaxTablesPerCluster) return Full("tables", kMaxTablesPerCluster);
  const TableId table_id = next_.table;
  ++next_.table;
  Restore(Table{{table_id, id, spec}, {}});
  return std::make_pair(&tables_.at(table_id), true);
}

absl::StatusOr<std::pair<Table*, bool>> Catalog::SetOptimizer(const std::string& job,
                                                              const std::string& table,
                                                              const OptimizerSpec& optimizer) {
  ASSIGN_OR_RETURN(Table* const found, FindTable(job, table));
  if (optimizer.name.empty()) return InvalidArgument("table {}: name an optimizer", table);
  RETURN_IF_ERROR(check_optimizer_(optimizer));
  OptimizerSpec& present = found->info.spec.optimizer;
  if (present == optimizer) return std::make_pair(found, false);
  if (!present.name.empty()) {
    return MakeError(absl::StatusCode::kAlreadyExists, Detail::kSpecDiffers,
                     "table {} has optimizer {}, whose state its rows hold; create another table, "
                     "or change only the learning rate",
                     table, present.name);
  }
  present = optimizer;
  return std::make_pair(found, true);
}

absl::StatusOr<Table*> Catalog::ChangeRate(const std::string& job, const std::string& table,
                                           Clock from_clock, double learning_rate) {
  ASSIGN_OR_RETURN(Table* const found, FindTable(job, table));
  const float as_float = static_cast<float>(learning_rate);
  if (!std::isfinite(as_float) || as_float <= 0) {
    return InvalidArgument("table {}: learning rate {} must be finite and above 0", table,
                           learning_rate);
  }
  if (from_clock < Clock(0)) {
    return InvalidArgument("table {}: clock {} is below 0", table, from_clock.value());
  }
  if (found->info.spec.optimizer.name.empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNoOptimizer,
                     "table {} has no optimizer yet; set one first", table);
  }
  if (found->rates.size() >= kMaxRatesPerTable) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "table {} has {} learning-rate changes, the limit; change it less often",
                     table, kMaxRatesPerTable);
  }
  const ChangeLearningRate change{found->info.id, from_clock, learning_rate};
  const bool repeated = !found->rates.empty() && found->rates.back().from_clock == from_clock &&
                        found->rates.back().learning_rate == learning_rate;
  if (!repeated) found->rates.push_back(change);
  return found;
}

}  // namespace syncline::coordinator
