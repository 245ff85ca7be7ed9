#include "worker/data/line_reader.h"

#include <filesystem>
#include <utility>

#include "common/status/status.h"

namespace syncline {

absl::Status MalformedLines::Skip(const std::string& path, uint64_t line, std::string_view reason) {
  ++report_.malformed;
  if (report_.first_malformed.size() < kReportedMalformedLines) {
    report_.first_malformed.push_back(fmt::format("{}:{}: {}", path, line, reason));
  }
  if (report_.malformed <= options_.max_malformed) return absl::OkStatus();
  std::string first;
  for (const std::string& one : report_.first_malformed) first += "\n  " + one;
  return InvalidArgument(
      "{}:{}: more than {} malformed lines; is it the right file and format? The first ones:{}",
      path, line, options_.max_malformed, first);
}

absl::StatusOr<LineReader> LineReader::Open(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kNone, "{}: no such file", path);
  }
  if (kind == std::filesystem::file_type::directory) {
    return InvalidArgument("{}: is a directory, a file is needed", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument("{}: cannot be opened for reading", path);
  return LineReader(path, std::move(file));
}

bool LineReader::Next(std::string_view& line) {
  constexpr int kEnd = std::char_traits<char>::eof();
  line_.clear();
  too_long_ = false;
  std::streambuf& buffer = *file_.rdbuf();
  int c = buffer.sbumpc();
  if (c == kEnd) {
    // Through the stream, so that a read error shows in its state.
    file_.peek();
    return false;
  }
  for (; c != kEnd && c != '\n'; c = buffer.sbumpc()) {
    if (line_.size() < kMaxDataLineBytes) {
      line_.push_back(static_cast<char>(c));
    } else {
      too_long_ = true;
    }
  }
  if (line_.ends_with('\r')) line_.pop_back();
  ++line_number_;
  line = line_;
  return true;
}

absl::Status LineReader::status() const {
  if (!file_.bad()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss, Detail::kNone, "{}: read error after line {}",
                   path_, line_number_);
}

void SplitInto(std::string_view text, char separator, std::vector<std::string_view>& parts) {
  parts.clear();
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
}

}  // namespace syncline
