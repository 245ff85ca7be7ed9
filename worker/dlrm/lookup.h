// Which rows a batch needs: every id once per table, and where each occurrence finds its row.
#ifndef SYNCLINE_WORKER_DLRM_LOOKUP_H_
#define SYNCLINE_WORKER_DLRM_LOOKUP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "worker/data/batch.h"
#include "worker/dlrm/config.h"

namespace syncline {

// What to pull for a batch, and the way back from rows to bags.
struct Lookup {
  // Per table (order of EmbeddingTablesOf): the distinct ids of all its fields, ascending. Row i of
  // the table's rows and gradients belongs to keys[table][i].
  std::vector<std::vector<uint64_t>> keys;
  // Per field, one entry per id of Batch::Field::ids: its index in keys of the field's table.
  std::vector<std::vector<uint32_t>> indices;
};

// Checks that the batch fits the model and collects its ids. The same batch gives the same lookup.
// Errors: INVALID_ARGUMENT when the number of fields or dense features, an array's size or an
// offset is not what Batch or the config says.
absl::StatusOr<Lookup> MakeLookup(const DlrmConfig& config, const Batch& batch);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_LOOKUP_H_
