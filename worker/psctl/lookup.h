// From names on the command line to what the coordinator calls them.
#ifndef SYNCLINE_WORKER_PSCTL_LOOKUP_H_
#define SYNCLINE_WORKER_PSCTL_LOOKUP_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "common/types.h"
#include "proto/table.pb.h"
#include "worker/psctl/context.h"

namespace syncline::psctl {

struct NamedTable {
  std::string job;
  v1::TableInfo info;
};

// The tables of the job that --job names, or of all jobs, by job and name.
// Errors: NOT_FOUND when there is no such job.
absl::StatusOr<std::vector<NamedTable>> ListTables(Context& context);

// Errors: NOT_FOUND; FAILED_PRECONDITION when several jobs have a table of that name and --job does
// not choose.
absl::StatusOr<NamedTable> FindTable(Context& context, const std::string& name);

// Decimal, or hexadecimal after 0x; the whole range of 64 bits.
// Errors: INVALID_ARGUMENT that quotes the text.
absl::StatusOr<Key> ParseKey(const std::string& text);

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_LOOKUP_H_
