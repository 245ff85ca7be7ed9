// Reader of MovieLens ratings (ratings.csv and movies.csv, as of the 2018 "latest" sets).
#ifndef SYNCLINE_WORKER_DATA_MOVIELENS_H_
#define SYNCLINE_WORKER_DATA_MOVIELENS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "worker/data/line_reader.h"

namespace syncline {

// A folder with ratings.csv (userId,movieId,rating,timestamp) and movies.csv
// (movieId,title,genres).
//
// A rating is a sample: label rating >= 4; no dense features; fields
//   user    userId
//   movie   movieId
//   genres  the movie's genres as numbers 0, 1, ... in the alphabetical order of all names in
//           movies.csv; empty for "(no genres listed)"
// in the order of ratings.csv. The timestamp is checked and dropped: splits are random.
//
// Malformed: a line that is not such a row, a rating outside 0.5 .. 5, a movie twice in movies.csv
// (the first counts), a rating of a movie that is not in movies.csv.
//
// Errors: NOT_FOUND; INVALID_ARGUMENT for another header, too many malformed lines or rows;
// DATA_LOSS on a read error.
absl::StatusOr<LoadedData> LoadMovieLens(const std::string& folder,
                                         const LoadOptions& options = {});

// Cuts one line of CSV as RFC 4180 quotes it: a field in double quotes may hold commas, and a
// double quote written twice. Fields do not span lines. Errors: INVALID_ARGUMENT for an open quote
// or text behind a closing one; `fields` is then undefined.
absl::Status SplitCsvLine(std::string_view line, std::vector<std::string>& fields);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_MOVIELENS_H_
