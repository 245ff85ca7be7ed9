// Fills a daemon's config struct from flags and a file, and reports every mistake at once.
#ifndef SYNCLINE_COMMON_CONFIG_LOADER_H_
#define SYNCLINE_COMMON_CONFIG_LOADER_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fmt/format.h"

#include "common/config/values.h"
#include "common/status/status.h"

namespace syncline {

// What is wrong with a configuration, one sentence each.
class Problems {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    sentences_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  bool empty() const { return sentences_.empty(); }
  const std::vector<std::string>& sentences() const { return sentences_; }

 private:
  std::vector<std::string> sentences_;
};

// What the command line asked for.
struct ParseResult {
  enum class Action { kRun, kPrintAndExit };
  Action action = Action::kRun;
  // With kPrintAndExit: help, version or the effective configuration, for standard output.
  std::string output;
};

// Binds flags to the fields of a struct that the caller owns. Typical use:
//
//   ServerConfig config;
//   Loader loader("ps-server", "0.1.0", "Serves shards of parameters.");
//   loader.Add("--listen", config.listen, "address to serve on, host:port");
//   loader.Add("--lease", config.lease, "how long a silent session lives");
//   loader.AddValidator([&](Problems& p) {
//     if (config.lease < kMinLease) p.Add("--lease is {}: at least {} is needed", ...);
//   });
//   if (const std::optional<int> code = loader.ParseOrExitCode(argc, argv)) return *code;
//
// Every loader also has --config FILE, --check-config, --help and --version.
//
// The file is TOML or INI; its keys are the flags without the leading dashes ("data-dir = '/x'"). A
// flag wins over the file, the file over the default (the field's value at Add). A flag given
// twice: the last one counts, except that lists collect. A key twice in the file is an error.
//
// Not thread-safe. The fields must outlive the loader.
class Loader {
 public:
  Loader(std::string program, std::string version, std::string description = "");

  // Any type that has ParseValue and FormatValue (values.h). A bool needs no value on the command
  // line: --x is --x=true. REQUIRES: `flag` starts with "--" and is new.
  template <typename T>
  void Add(std::string flag, T& field, std::string help) {
    AddSetting({.flag = std::move(flag),
                .help = std::move(help),
                .kind = std::is_same_v<T, bool> ? Kind::kSwitch : Kind::kScalar,
                .set =
                    [&field](const std::vector<std::string>& texts) {
                      return ParseValue(texts.empty() ? std::string_view() : texts.back(), field);
                    },
                .get = [&field] { return std::vector<std::string>{FormatValue(field)}; },
                .quoted = IsQuoted<T>()});
  }

  // A list: the flag repeated, or values separated by commas; in the file an array. Given at all,
  // it replaces the default.
  void Add(std::string flag, std::vector<std::string>& field, std::string help);

  // One of a fixed set of words. REQUIRES: the field's value is among them.
  template <typename T>
  void AddChoice(std::string flag, T& field, std::vector<std::pair<std::string, T>> choices,
                 std::string help);

  // A rule over the whole struct. Runs after all fields are set, also when some could not be, so
  // that one run shows everything that is wrong.
  void AddValidator(std::function<void(Problems&)> validator);

  // Sets the fields and runs the validators.
  // Errors: INVALID_ARGUMENT with all problems, one a line.
  absl::StatusOr<ParseResult> Parse(int argc, const char* const* argv);

  // For main: Parse, with output printed. A value is the exit code to end with: 0 after --help,
  // --version or a good --check-config, 2 when something is wrong (problems on standard error).
  std::optional<int> ParseOrExitCode(int argc, const char* const* argv);

  // The configuration as a file that this loader reads back to the same values. A string that holds
  // both kinds of quotes cannot be written in such a file.
  std::string Effective() const;

 private:
  enum class Kind { kScalar, kSwitch, kList };
  struct Setting {
    std::string flag;
    std::string help;
    Kind kind;
    std::function<absl::Status(const std::vector<std::string>&)> set;
    std::function<std::vector<std::string>()> get;
    bool quoted = true;  // in the file
    std::vector<std::string> from_flags = {};
    std::optional<std::vector<std::string>> from_file = {};
  };
  struct CommandLine;

  template <typename T>
  static constexpr bool IsQuoted() {
    return !std::is_arithmetic_v<T>;
  }

  void AddSetting(Setting setting);
  CommandLine ReadFlags(int argc, const char* const* argv, Problems& problems);
  void ReadFile(const std::string& path, Problems& problems);
  void SetFields(const std::string& path, Problems& problems);

  std::string program_;
  std::string version_;
  std::string description_;
  std::vector<Setting> settings_;
  std::vector<std::function<void(Problems&)>> validators_;
};

template <typename T>
void Loader::AddChoice(std::string flag, T& field, std::vector<std::pair<std::string, T>> choices,
                       std::string help) {
  std::string words;
  for (const auto& [word, value] : choices) words += (words.empty() ? "" : ", ") + word;
  help += " (" + words + ")";
  AddSetting(
      {.flag = std::move(flag),
       .help = std::move(help),
       .kind = Kind::kScalar,
       .set = [&field, choices, words](const std::vector<std::string>& texts) -> absl::Status {
         const std::string text = texts.empty() ? "" : texts.back();
         for (const auto& [word, value] : choices) {
           if (word == text) return field = value, absl::OkStatus();
         }
         return InvalidArgument("'{}' is not one of {}", text, words);
       },
       .get =
           [&field, choices] {
             for (const auto& [word, value] : choices) {
               if (value == field) return std::vector<std::string>{word};
             }
             return std::vector<std::string>{""};
           }});
}

}  // namespace syncline

#endif  // SYNCLINE_COMMON_CONFIG_LOADER_H_
