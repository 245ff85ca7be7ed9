#include "worker/psctl/lookup.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <tuple>
#include <utility>

#include "fmt/format.h"

namespace syncline::psctl {
namespace {

using JobNames = std::map<uint32_t, std::string>;

absl::StatusOr<JobNames> NamesOfJobs(Context& context) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListJobsReply jobs, api->ListJobs());
  JobNames names;
  for (const v1::JobInfo& job : jobs.jobs()) {
    if (context.job.empty() || job.spec().name() == context.job)
      names[job.id()] = job.spec().name();
  }
  if (names.empty() && !context.job.empty()) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kNone, "there is no job '{}'",
                     context.job);
  }
  return names;
}

}  // namespace

absl::StatusOr<std::vector<NamedTable>> ListTables(Context& context) {
  ASSIGN_OR_RETURN(AdminApi * api, context.Connect());
  ASSIGN_OR_RETURN(const JobNames jobs, NamesOfJobs(context));
  ASSIGN_OR_RETURN(const v1::ListTablesReply reply, api->ListTables());
  std::vector<NamedTable> tables;
  for (const v1::TableInfo& table : reply.tables()) {
    const auto job = jobs.find(table.job());
    if (job != jobs.end()) tables.push_back({job->second, table});
  }
  std::sort(tables.begin(), tables.end(), [](const NamedTable& a, const NamedTable& b) {
    return std::tie(a.job, a.info.spec().name()) < std::tie(b.job, b.info.spec().name());
  });
  return tables;
}

absl::StatusOr<NamedTable> FindTable(Context& context, const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<NamedTable> tables, ListTables(context));
  std::erase_if(tables, [&name](const NamedTable& t) { return t.info.spec().name() != name; });
  if (tables.empty()) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kNone,
                     "there is no table '{}'{}; see psctl table list", name,
                     context.job.empty() ? "" : fmt::format(" in job '{}'", context.job));
  }
  if (tables.size() > 1) {
    return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                     "{} jobs have a table '{}' ('{}', '{}', ...): choose with --job",
                     tables.size(), name, tables[0].job, tables[1].job);
  }
  return std::move(tables[0]);
}

absl::StatusOr<Key> ParseKey(const std::string& text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const char* first = text.data() + (hex ? 2 : 0);
  const char* last = text.data() + text.size();
  Key key = 0;
  const auto [end, error] = std::from_chars(first, last, key, hex ? 16 : 10);
  if (error != std::errc() || end != last) {
    return InvalidArgument("'{}' is no key: a number from 0 to 18446744073709551615, or 0x...",
                           text);
  }
  return key;
}

}  // namespace syncline::psctl
