// Reader of the Criteo display advertising click logs (Kaggle 2014 and Terabyte layout).
#ifndef SYNCLINE_WORKER_DATA_CRITEO_H_
#define SYNCLINE_WORKER_DATA_CRITEO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "worker/data/line_reader.h"

namespace syncline {

inline constexpr size_t kCriteoDense = 13;
inline constexpr size_t kCriteoFields = 26;
// The id of a missing category, in every field: above every real one, which has 32 bits.
inline constexpr uint64_t kCriteoMissingId = uint64_t{1} << 32;

// A file, or a folder whose *.tsv files are read in the order of their names. A line is
//
//   label \t I1 .. I13 \t C1 .. C26
//
// label 0 or 1; I whole numbers; C up to 8 hexadecimal digits; any I or C may be empty. An I
// becomes log(1 + max(I, 0)), a missing one 0 (so that it reads as "no events"; the log is the
// usual transform of these counts). A C becomes its number, a missing one kCriteoMissingId. Ids are
// per field: use a table per field, or salt them (DataSchema).
//
// Errors: NOT_FOUND; INVALID_ARGUMENT for too many malformed lines, no *.tsv in the folder, or more
// than kMaxDatasetRows rows; DATA_LOSS on a read error.
absl::StatusOr<LoadedData> LoadCriteo(const std::string& path, const LoadOptions& options = {});

// One line. Errors: INVALID_ARGUMENT with the column; `row` is then undefined.
absl::Status ParseCriteoLine(std::string_view line, DataRow& row);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_CRITEO_H_
