// Logs: one JSON object a line for machines, short lines for people on a terminal. The only place
// where the wall clock is read, and it goes nowhere but into the line.
#ifndef SYNCLINE_COMMON_METRICS_LOG_H_
#define SYNCLINE_COMMON_METRICS_LOG_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace syncline {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// kAuto: kHuman when standard error is a terminal, else kJson.
enum class LogFormat { kAuto, kJson, kHuman };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kAuto;
  std::ostream* stream = nullptr;  // nullptr: standard error. Must outlive all logging
};

// Sets where lines go. Not thread-safe: called by main before threads start, and by tests. Without
// it the defaults above hold.
void InitLogging(const LogOptions& options);

// Changes the level while running. Thread-safe.
void SetLogLevel(LogLevel level);
bool IsLogged(LogLevel level);

// A named value beside the message: numbers and booleans stay such in JSON.
class LogField {
 public:
  template <typename T>
  LogField(std::string_view key, const T& value)  // NOLINT(google-explicit-constructor)
      : key_(key), is_text_(!std::is_arithmetic_v<T>), value_(fmt::format("{}", value)) {}

 private:
  friend class Logger;
  std::string key_;
  bool is_text_;
  std::string value_;
};

// Writes lines of one component ("executor", "coordinator"). Cheap to copy; thread-safe.
//
//   const Logger log("service");
//   log.Info("listening on {}", address);
//   log.With({{"table", name}, {"rows", rows}}).Warning("table is nearly full");
//
// JSON: {"ts":"2026-01-31T10:20:30.123456Z","level":"info","component":"service","msg":"...", then
// the fields}. Texts are escaped; bytes that are not UTF-8 become U+FFFD; texts are cut at
// kMaxLogTextBytes.
class Logger {
 public:
  explicit Logger(std::string component) : component_(std::move(component)) {}

  // A logger that adds fields to each line. Keys ts, level, component and msg are taken.
  Logger With(std::vector<LogField> fields) const;

  template <typename... Args>
  void Debug(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kDebug, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Info(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kInfo, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Warning(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kWarning, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Error(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kError, format, std::forward<Args>(args)...);
  }
  // Nothing is formatted when the level is not logged.
  template <typename... Args>
  void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (IsLogged(level)) Write(level, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void Write(LogLevel level, std::string message) const;

  std::string component_;
  std::vector<LogField> fields_;
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_METRICS_LOG_H_
