// Reads data files line by line, and keeps account of lines that make no sense.
#ifndef SYNCLINE_WORKER_DATA_LINE_READER_H_
#define SYNCLINE_WORKER_DATA_LINE_READER_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/limits.h"
#include "worker/data/dataset.h"

namespace syncline {

struct LoadOptions {
  // Malformed lines that are skipped; one more ends the load with an error.
  uint64_t max_malformed = kDefaultMalformedLines;
};

// What a load met. Never silent: whoever loads prints or logs it when malformed > 0.
struct LoadReport {
  uint64_t lines = 0;      // read, headers included
  uint64_t malformed = 0;  // skipped
  // The first kReportedMalformedLines of them: "FILE:LINE: reason".
  std::vector<std::string> first_malformed;
};

struct LoadedData {
  Dataset data;
  LoadReport report;
};

// Counts malformed lines over all files of a load.
class MalformedLines {
 public:
  MalformedLines(const LoadOptions& options, LoadReport& report)
      : options_(options), report_(report) {}

  // Counts one. Errors: INVALID_ARGUMENT when it is one too many, with the first ones.
  absl::Status Skip(const std::string& path, uint64_t line, std::string_view reason);

 private:
  const LoadOptions options_;
  LoadReport& report_;
};

// One file. Lines end with \n or \r\n; the last one needs no end. Memory is bounded by
// kMaxDataLineBytes whatever the file holds.
class LineReader {
 public:
  // Errors: NOT_FOUND; INVALID_ARGUMENT when it is no regular file or cannot be opened.
  static absl::StatusOr<LineReader> Open(const std::string& path);

  // The next line without its end, valid until the next call. False at the end of the file or after
  // a read error (see status()).
  bool Next(std::string_view& line);

  const std::string& path() const { return path_; }
  uint64_t line_number() const { return line_number_; }  // of the last line; counts from 1
  bool too_long() const { return too_long_; }            // the last line was longer and was cut
  // Errors: DATA_LOSS after a read error.
  absl::Status status() const;

 private:
  LineReader(std::string path, std::ifstream file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::ifstream file_;
  std::string line_;
  uint64_t line_number_ = 0;
  bool too_long_ = false;
};

// Cuts text at every separator; n separators give n + 1 parts. The parts point into `text`.
void SplitInto(std::string_view text, char separator, std::vector<std::string_view>& parts);

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DATA_LINE_READER_H_
