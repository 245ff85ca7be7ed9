#include "server/coordinator/meta_store.h"

#include <set>

#include "fmt/format.h"

#include "common/status/status.h"

namespace syncline {

absl::StatusOr<MetaVersion> Elect(MetaStore& store, std::string_view name,
                                  std::string_view candidate, MetaLease lease) {
  const std::string key = fmt::format("election/{}", name);
  const auto won = store.CompareAndSwap({{key, kAbsent, std::string(candidate), lease}});
  if (won.ok() || won.status().code() != absl::StatusCode::kAborted) return won;
  ASSIGN_OR_RETURN(const auto leader, store.Get(key));
  if (leader && leader->value == candidate) return leader->version;
  return MakeError(absl::StatusCode::kFailedPrecondition, Detail::kNone,
                   "election {}: {} leads; wait for its lease to end", name,
                   leader ? leader->value : "another candidate");
}

absl::Status ValidateChanges(const std::vector<MetaChange>& changes) {
  std::set<std::string_view> keys;
  for (const MetaChange& change : changes) {
    if (change.key.empty() || change.key.front() == '\0') {
      return InvalidArgument("a metadata key is empty or starts with a zero byte");
    }
    if (!keys.insert(change.key).second) {
      return InvalidArgument("metadata key {} is named twice in one change", change.key);
    }
  }
  return absl::OkStatus();
}

}  // namespace syncline
