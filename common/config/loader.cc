#include "common/config/loader.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "CLI/CLI.hpp"

namespace syncline {

struct Loader::CommandLine {
  std::string output;  // not empty: print it and exit
  std::string config_path;
  bool check_config = false;
};

namespace {

std::vector<std::string> SplitCommas(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
      if (!part.empty()) parts.push_back(part);
    }
  }
  return parts;
}

// Arguments that CLI11 could not place. The value behind an unknown flag is not reported again.
void ReportExtras(const std::vector<std::string>& extras, const std::string& program,
                  Problems& problems) {
  bool after_unknown_flag = false;
  for (const std::string& extra : extras) {
    const bool is_flag = extra.starts_with("-") && extra.size() > 1;
    if (is_flag) {
      problems.Add("unknown flag {} (see {} --help)", extra.substr(0, extra.find('=')), program);
    } else if (!after_unknown_flag) {
      problems.Add("unexpected argument '{}': every setting is a flag", extra);
    }
    after_unknown_flag = is_flag && extra.find('=') == std::string::npos;
  }
}

std::string Quote(const std::string& text) {
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  return quote + text + quote;
}

std::string FullName(const CLI::ConfigItem& item) {
  std::string name;
  for (const std::string& parent : item.parents) name += parent + ".";
  return name + item.name;
}

}  // namespace

Loader::Loader(std::string program, std::string version, std::string description)
    : program_(std::move(program)),
      version_(std::move(version)),
      description_(std::move(description)) {}

void Loader::Add(std::string flag, std::vector<std::string>& field, std::string help) {
  AddSetting({.flag = std::move(flag),
              .help = std::move(help),
              .kind = Kind::kList,
              .set =
                  [&field](const std::vector<std::string>& texts) {
                    field = SplitCommas(texts);
                    return absl::OkStatus();
                  },
              .get = [&field] { return field; }});
}

void Loader::AddSetting(Setting setting) {
  SYNCLINE_CHECK(setting.flag.starts_with("--"), "a flag starts with --");
  const bool is_new = std::none_of(settings_.begin(), settings_.end(),
                                   [&](const Setting& s) { return s.flag == setting.flag; });
  SYNCLINE_CHECK(is_new, "a flag is added once");
  settings_.push_back(std::move(setting));
}

void Loader::AddValidator(std::function<void(Problems&)> validator) {
  validators_.push_back(std::move(validator));
}

Loader::CommandLine Loader::ReadFlags(int argc, const char* const* argv, Problems& problems) {
  CLI::App app(description_, program_);
  app.allow_extras();
  app.set_version_flag("--version", program_ + " " + version_, "print the version and exit");
  CommandLine result;
  // As std::string: CLI11 takes a bare literal for a variable to fill.
  const std::string config_help = "file with the same settings (TOML or INI)";
  const std::string check_help = "validate, print the effective configuration and exit";
  CLI::Option* config = app.add_option("--config", config_help)->type_name("FILE");
  CLI::Option* check = app.add_flag("--check-config", check_help);
  std::vector<CLI::Option*> options;
  for (const Setting& setting : settings_) {
    CLI::Option* option = setting.kind == Kind::kSwitch
                              ? app.add_flag(setting.flag, setting.help)
                              : app.add_option(setting.flag, setting.help);
    if (setting.kind != Kind::kSwitch) option->expected(1)->type_name("");
    std::string shown;
    for (const std::string& text : setting.get()) shown += (shown.empty() ? "" : ",") + text;
    if (!shown.empty()) option->default_str(shown);
    options.push_back(option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    result.output = app.help();
  } catch (const CLI::CallForVersion&) {
    result.output = program_ + " " + version_ + "\n";
  } catch (const CLI::ParseError& error) {
    problems.Add("{}", error.what());
  }
  ReportExtras(app.remaining(), program_, problems);
  for (size_t i = 0; i < options.size(); ++i) settings_[i].from_flags = options[i]->results();
  if (config->count() > 0) result.config_path = config->results().back();
  result.check_config = check->count() > 0;
  return result;
}

void Loader::ReadFile(const std::string& path, Problems& problems) {
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_file(path);
  } catch (const CLI::Error& error) {
    problems.Add("--config {}: {}", path, error.what());
    return;
  }
  for (const CLI::ConfigItem& item : items) {
    const std::string name = FullName(item);
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of a section
    const auto setting = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& s) {
      return s.flag.compare(2, std::string::npos, name) == 0;
    });
    if (setting == settings_.end()) {
      problems.Add("{}: unknown key '{}' (keys are flags without dashes in front)", path, name);
    } else if (setting->from_file.has_value()) {
      problems.Add("{}: key '{}' is given twice", path, name);
    } else if (setting->kind != Kind::kList && item.inputs.size() > 1) {
      setting->from_file = {item.inputs.front()};
      problems.Add(
          "{}: key '{}' takes one value; quote it when it has spaces, and write comments "
          "on lines of their own",
          path, name);
    } else {
      setting->from_file = item.inputs;
    }
  }
}

void Loader::SetFields(const std::string& path, Problems& problems) {
  for (Setting& setting : settings_) {
    const bool by_flag = !setting.from_flags.empty();
    if (!by_flag && !setting.from_file.has_value()) continue;
    const absl::Status status = setting.set(by_flag ? setting.from_flags : *setting.from_file);
    if (status.ok()) continue;
    if (by_flag) {
      problems.Add("{}: {}", setting.flag, MessageOf(status));
    } else {
      problems.Add("{}: key '{}': {}", path, setting.flag.substr(2), MessageOf(status));
    }
  }
}

absl::StatusOr<ParseResult> Loader::Parse(int argc, const char* const* argv) {
  Problems problems;
  for (Setting& setting : settings_) setting.from_file.reset();
  const CommandLine line = ReadFlags(argc, argv, problems);
  if (!line.output.empty()) return ParseResult{ParseResult::Action::kPrintAndExit, line.output};
  if (!line.config_path.empty()) ReadFile(line.config_path, problems);
  SetFields(line.config_path, problems);
  for (const auto& validator : validators_) validator(problems);
  if (!problems.empty()) {
    std::string all;
    for (const std::string& sentence : problems.sentences()) all += "\n  " + sentence;
    return InvalidArgument("{}: {} problem{} in the configuration:{}", program_,
                           problems.sentences().size(), problems.sentences().size() == 1 ? "" : "s",
                           all);
  }
  if (line.check_config) return ParseResult{ParseResult::Action::kPrintAndExit, Effective()};
  return ParseResult{};
}

std::optional<int> Loader::ParseOrExitCode(int argc, const char* const* argv) {
  const absl::StatusOr<ParseResult> result = Parse(argc, argv);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", std::string(MessageOf(result.status())).c_str());
    return 2;
  }
  if (result->action == ParseResult::Action::kRun) return std::nullopt;
  std::fputs(result->output.c_str(), stdout);
  return 0;
}

std::string Loader::Effective() const {
  std::string text;
  for (const Setting& setting : settings_) {
    std::string value;
    for (const std::string& part : setting.get()) {
      if (!value.empty()) value += ", ";
      value += setting.quoted ? Quote(part) : part;
    }
    if (setting.kind == Kind::kList) value = "[" + value + "]";
    text += fmt::format("{} = {}\n", setting.flag.substr(2), value);
  }
  return text;
}

}  // namespace syncline
