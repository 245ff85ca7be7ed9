// The nouns of the command line. Each adds its verbs to `app`; the verb that the user names puts
// its run function into `chosen`.
#ifndef SYNCLINE_WORKER_PSCTL_NOUNS_H_
#define SYNCLINE_WORKER_PSCTL_NOUNS_H_

#include <string>
#include <utility>

#include "CLI/CLI.hpp"

#include "worker/psctl/context.h"

namespace syncline::psctl {

void AddCluster(CLI::App& app, Command& chosen);
void AddServer(CLI::App& app, Command& chosen);
void AddWorker(CLI::App& app, Command& chosen);
void AddTable(CLI::App& app, Command& chosen);
void AddKey(CLI::App& app, Command& chosen);
void AddSlot(CLI::App& app, Command& chosen);

inline CLI::App* AddNoun(CLI::App& app, const std::string& name, const std::string& help) {
  CLI::App* noun = app.add_subcommand(name, help);
  noun->require_subcommand(1);
  return noun;
}

// `chosen` and what `run` refers to must outlive the parse.
inline CLI::App* AddVerb(CLI::App* noun, const std::string& name, const std::string& help,
                         Command& chosen, Command run) {
  CLI::App* verb = noun->add_subcommand(name, help);
  verb->callback([&chosen, run = std::move(run)] { chosen = run; });
  return verb;
}

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_NOUNS_H_
