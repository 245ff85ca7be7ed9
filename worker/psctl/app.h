// psctl's command line, without main: tests run it with a cluster of their own making.
#ifndef SYNCLINE_WORKER_PSCTL_APP_H_
#define SYNCLINE_WORKER_PSCTL_APP_H_

#include <ostream>
#include <string>
#include <vector>

#include "worker/psctl/context.h"
#include "worker/psctl/exit_code.h"

namespace syncline::psctl {

// Runs one command line (without the program's name). Data goes to `out` alone, errors to `err`.
ExitCode RunPsctl(const std::vector<std::string>& arguments, const Connector& connector,
                  std::ostream& out, std::ostream& err);

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_APP_H_
