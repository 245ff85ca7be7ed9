#include "worker/data/criteo.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/status/status.h"

namespace syncline {
namespace {

constexpr size_t kColumns = 1 + kCriteoDense + kCriteoFields;
constexpr size_t kMaxHexDigits = 8;

template <typename T>
bool ParseWhole(std::string_view text, int base, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

DataSchema CriteoSchema() {
  DataSchema schema;
  for (size_t i = 1; i <= kCriteoDense; ++i) schema.dense.push_back("I" + std::to_string(i));
  for (size_t i = 1; i <= kCriteoFields; ++i) schema.fields.push_back("C" + std::to_string(i));
  return schema;
}

absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".tsv") files.push_back(it->path().string());
  }
  if (error) return InvalidArgument("{}: cannot be listed: {}", path, error.message());
  if (files.empty()) return InvalidArgument("{}: the folder holds no *.tsv file", path);
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status LoadFile(const std::string& path, MalformedLines& malformed, LoadedData& loaded) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  DataRow row;
  for (std::string_view line; reader.Next(line);) {
    ++loaded.report.lines;
    const absl::Status status = reader.too_long()
                                    ? InvalidArgument("longer than {} bytes", kMaxDataLineBytes)
                                    : ParseCriteoLine(line, row);
    if (!status.ok()) {
      RETURN_IF_ERROR(malformed.Skip(path, reader.line_number(), MessageOf(status)));
      continue;
    }
    if (loaded.data.size() >= kMaxDatasetRows) {
      return InvalidArgument("{}: more than {} rows; split the data", path, kMaxDatasetRows);
    }
    loaded.data.Append(row);
  }
  return reader.status();
}

}  // namespace

absl::Status ParseCriteoLine(std::string_view line, DataRow& row) {
  std::vector<std::string_view> columns;
  SplitInto(line, '\t', columns);
  if (columns.size() != kColumns) {
    return InvalidArgument("{} columns, {} expected", columns.size(), kColumns);
  }
  if (columns[0] != "0" && columns[0] != "1") {
    return InvalidArgument("the label is '{}', 0 or 1 expected", columns[0].substr(0, 20));
  }
  row.label = columns[0] == "1" ? 1.0f : 0.0f;
  row.dense.assign(kCriteoDense, 0.0f);
  row.bags.resize(kCriteoFields);
  for (size_t i = 0; i < kCriteoDense; ++i) {
    const std::string_view text = columns[1 + i];
    int64_t count = 0;
    if (text.empty()) continue;
    if (!ParseWhole(text, 10, count)) {
      return InvalidArgument("I{} is '{}', a whole number expected", i + 1, text.substr(0, 20));
    }
    row.dense[i] = static_cast<float>(std::log1p(static_cast<double>(std::max<int64_t>(count, 0))));
  }
  for (size_t i = 0; i < kCriteoFields; ++i) {
    const std::string_view text = columns[1 + kCriteoDense + i];
    uint64_t id = kCriteoMissingId;
    if (!text.empty() && (text.size() > kMaxHexDigits || !ParseWhole(text, 16, id))) {
      return InvalidArgument("C{} is '{}', up to {} hexadecimal digits expected", i + 1,
                             text.substr(0, 20), kMaxHexDigits);
    }
    row.bags[i].assign(1, id);
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedData> LoadCriteo(const std::string& path, const LoadOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(path));
  LoadedData loaded{.data = Dataset(CriteoSchema()), .report = {}};
  MalformedLines malformed(options, loaded.report);
  for (const std::string& file : files) RETURN_IF_ERROR(LoadFile(file, malformed, loaded));
  return loaded;
}

}  // namespace syncline
