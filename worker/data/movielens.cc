#include "worker/data/movielens.h"

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "common/status/status.h"

namespace syncline {
namespace {

constexpr std::string_view kMoviesHeader = "movieId,title,genres";
constexpr std::string_view kRatingsHeader = "userId,movieId,rating,timestamp";
constexpr std::string_view kNoGenres = "(no genres listed)";
constexpr double kLikedFrom = 4.0;

template <typename T>
absl::Status ParseColumn(std::string_view name, std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size()) return absl::OkStatus();
  return InvalidArgument("{} is '{}', a number expected", name, text.substr(0, 20));
}

using RowParser = std::function<absl::Status(const std::vector<std::string>&)>;

// Calls `parse` with the columns of every line behind the header. Its INVALID_ARGUMENT makes the
// line malformed; any other error ends the load.
absl::Status ForEachRow(const std::string& path, std::string_view header, size_t columns,
                        MalformedLines& malformed, LoadReport& report, const RowParser& parse) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  std::string_view line;
  if (!reader.Next(line) || line != header) {
    return InvalidArgument("{}:1: the header is not '{}'; is it a MovieLens file?", path, header);
  }
  ++report.lines;
  std::vector<std::string> fields;
  while (reader.Next(line)) {
    ++report.lines;
    absl::Status status = reader.too_long()
                              ? InvalidArgument("longer than {} bytes", kMaxDataLineBytes)
                              : SplitCsvLine(line, fields);
    if (status.ok() && fields.size() != columns) {
      status = InvalidArgument("{} columns, {} expected", fields.size(), columns);
    }
    if (status.ok()) status = parse(fields);
    if (status.ok()) continue;
    if (status.code() != absl::StatusCode::kInvalidArgument) return status;
    RETURN_IF_ERROR(malformed.Skip(path, reader.line_number(), MessageOf(status)));
  }
  return reader.status();
}

// Genre names by movie while reading, numbers by movie afterwards.
class Movies {
 public:
  absl::Status Add(const std::vector<std::string>& columns) {
    uint64_t movie = 0;
    RETURN_IF_ERROR(ParseColumn("movieId", columns[0], movie));
    std::vector<std::string_view> names;
    if (columns[2] != kNoGenres) SplitInto(columns[2], '|', names);
    for (const std::string_view name : names) {
      if (name.empty()) return InvalidArgument("genres are '{}': a name is empty", columns[2]);
    }
    const auto [entry, is_new] = names_of_.try_emplace(movie);
    if (!is_new) return InvalidArgument("movie {} is there already", movie);
    for (const std::string_view name : names) {
      entry->second.emplace_back(name);
      number_of_.try_emplace(std::string(name), 0);
    }
    return absl::OkStatus();
  }

  // REQUIRES: no Add afterwards.
  void NumberGenres() {
    uint64_t next = 0;
    for (auto& [name, number] : number_of_) number = next++;
  }

  absl::Status GenresOf(uint64_t movie, std::vector<uint64_t>& genres) const {
    const auto found = names_of_.find(movie);
    if (found == names_of_.end()) return InvalidArgument("movie {} is not in movies.csv", movie);
    genres.clear();
    for (const std::string& name : found->second) genres.push_back(number_of_.at(name));
    return absl::OkStatus();
  }

 private:
  std::unordered_map<uint64_t, std::vector<std::string>> names_of_;
  std::map<std::string, uint64_t> number_of_;
};

absl::Status ParseRating(const std::vector<std::string>& columns, const Movies& movies,
                         DataRow& row) {
  row.bags.resize(3);
  row.bags[0].resize(1);
  row.bags[1].resize(1);
  double rating = 0;
  int64_t timestamp = 0;
  RETURN_IF_ERROR(ParseColumn("userId", columns[0], row.bags[0][0]));
  RETURN_IF_ERROR(ParseColumn("movieId", columns[1], row.bags[1][0]));
  RETURN_IF_ERROR(ParseColumn("rating", columns[2], rating));
  RETURN_IF_ERROR(ParseColumn("timestamp", columns[3], timestamp));
  if (!(rating >= 0.5 && rating <= 5.0)) {
    return InvalidArgument("rating is {}, 0.5 to 5 expected", columns[2]);
  }
  row.label = rating >= kLikedFrom ? 1.0f : 0.0f;
  return movies.GenresOf(row.bags[1][0], row.bags[2]);
}

}  // namespace

absl::Status SplitCsvLine(std::string_view line, std::vector<std::string>& fields) {
  fields.assign(1, "");
  bool quoted = false;
  bool closed = false;  // the present field ended with a quote
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back().push_back(line[++i]);
    } else if (quoted && c == '"') {
      quoted = false;
      closed = true;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
      closed = false;
    } else if (!quoted && c == '"' && !closed && fields.back().empty()) {
      quoted = true;
    } else if (closed) {
      return InvalidArgument("text behind a closing quote in column {}", fields.size());
    } else {
      fields.back().push_back(c);
    }
  }
  if (quoted) return InvalidArgument("an open quote in column {}", fields.size());
  return absl::OkStatus();
}

absl::StatusOr<LoadedData> LoadMovieLens(const std::string& folder, const LoadOptions& options) {
  LoadedData loaded{.data = Dataset({.dense = {}, .fields = {"user", "movie", "genres"}}),
                    .report = {}};
  MalformedLines malformed(options, loaded.report);
  Movies movies;
  RETURN_IF_ERROR(ForEachRow(folder + "/movies.csv", kMoviesHeader, 3, malformed, loaded.report,
                             [&](const auto& columns) { return movies.Add(columns); }));
  movies.NumberGenres();
  DataRow row;
  const RowParser append = [&](const std::vector<std::string>& columns) -> absl::Status {
    RETURN_IF_ERROR(ParseRating(columns, movies, row));
    if (loaded.data.size() >= kMaxDatasetRows) {
      return MakeError(absl::StatusCode::kResourceExhausted, Detail::kNone,
                       "{}: more than {} ratings", folder, kMaxDatasetRows);
    }
    loaded.data.Append(row);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      ForEachRow(folder + "/ratings.csv", kRatingsHeader, 4, malformed, loaded.report, append));
  return loaded;
}

}  // namespace syncline
