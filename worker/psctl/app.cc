#include "worker/psctl/app.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"

#include "common/config/values.h"
#include "common/version.h"
#include "worker/psctl/nouns.h"
#include "worker/psctl/printer.h"

namespace syncline::psctl {
namespace {

struct GlobalFlags {
  std::string endpoints;
  std::string timeout = "5s";
  std::string output = "table";
  bool no_headers = false;
};

void AddGlobalFlags(CLI::App& app, GlobalFlags& flags, Context& context) {
  app.add_option("-e,--endpoints", flags.endpoints,
                 "host:port of the coordinator, or several with commas: the first that answers")
      ->envname("PSCTL_ENDPOINTS");
  app.add_option("--timeout", flags.timeout, "for every call, like 500ms or 5s")
      ->capture_default_str();
  app.add_option("-o,--output", flags.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_flag("--no-headers", flags.no_headers, "tables without their first line");
  app.add_option("--job", context.job, "only this job");
  app.add_flag("--allow-plaintext", context.connection.allow_plaintext,
               "connect without TLS beyond this host");
}

absl::StatusOr<Report> Version(Context&) {
  return SingleReport("Version", {{{"version", "psctl"}, std::string(kVersion)}});
}

absl::StatusOr<Report> ExitCodes(Context&) {
  Report report{
      .kind = "ExitCodeList", .columns = {{"code", "code"}, {"meaning", "meaning"}}, .rows = {}};
  for (const auto& [code, meaning] : ExitCodeTexts()) {
    report.rows.push_back({int64_t{static_cast<int>(code)}, std::string(meaning)});
  }
  return report;
}

// Without a topic nothing is chosen, and RunPsctl prints the program's help.
void AddHelp(CLI::App& app, Command& chosen) {
  CLI::App* help = app.add_subcommand("help", "help on this program or on a topic");
  help->require_subcommand(0, 1);
  AddVerb(help, "exit-codes", "what each exit code means", chosen, ExitCodes);
}

void AddCommands(CLI::App& app, Command& chosen) {
  AddCluster(app, chosen);
  AddServer(app, chosen);
  AddWorker(app, chosen);
  AddTable(app, chosen);
  AddKey(app, chosen);
  AddSlot(app, chosen);
  AddVerb(&app, "version", "the version of this program", chosen, Version);
  AddHelp(app, chosen);
}

std::vector<std::string> SplitEndpoints(const std::string& text) {
  std::vector<std::string> endpoints;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) endpoints.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return endpoints;
}

absl::Status ApplyGlobalFlags(const GlobalFlags& flags, Context& context) {
  RETURN_IF_ERROR(Annotate(ParseValue(flags.timeout, context.connection.timeout), "--timeout"));
  if (context.connection.timeout.count() == 0) {
    return InvalidArgument("--timeout is 0: no call could be answered");
  }
  context.connection.endpoints = SplitEndpoints(flags.endpoints);
  return absl::OkStatus();
}

// CLI11 takes the arguments from the back.
void Parse(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
}

ExitCode Fail(const absl::Status& status, std::ostream& err) {
  err << "psctl: " << MessageOf(status) << '\n';
  return ExitCodeOf(status);
}

ExitCode RunCommand(const GlobalFlags& flags, const Command& command, Context& context,
                    std::ostream& out, std::ostream& err) {
  if (absl::Status status = ApplyGlobalFlags(flags, context); !status.ok()) {
    return Fail(status, err);
  }
  const absl::StatusOr<Report> report = command(context);
  if (!report.ok()) return Fail(report.status(), err);
  const auto format = flags.output == "json" ? OutputFormat::kJson : OutputFormat::kTable;
  MakePrinter(format, flags.no_headers)->Print(*report, out);
  out.flush();
  // A full disk or a closed pipe must not look like success.
  return out.good() ? report->exit : ExitCode::kFailed;
}

}  // namespace

ExitCode RunPsctl(const std::vector<std::string>& arguments, const Connector& connector,
                  std::ostream& out, std::ostream& err) {
  CLI::App app("Looks into a Syncline cluster.", "psctl");
  app.require_subcommand(1);
  app.fallthrough();  // global flags may stand after the verb
  app.footer("Exit codes: psctl help exit-codes");
  GlobalFlags flags;
  Context context(connector);
  Command chosen;
  AddGlobalFlags(app, flags, context);
  AddCommands(app, chosen);
  try {
    Parse(app, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? ExitCode::kOk : ExitCode::kUsage;
  }
  if (chosen == nullptr) {
    out << app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
    return ExitCode::kOk;
  }
  return RunCommand(flags, chosen, context, out, err);
}

}  // namespace syncline::psctl
