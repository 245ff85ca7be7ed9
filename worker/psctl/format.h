// Numbers as people read them. Tables only: JSON has base units.
#ifndef SYNCLINE_WORKER_PSCTL_FORMAT_H_
#define SYNCLINE_WORKER_PSCTL_FORMAT_H_

#include <string>

#include "worker/psctl/report.h"

namespace syncline::psctl {

// Three significant digits at least: "512 B", "1.50 MiB".
std::string FormatBytes(double bytes);
// "250 us", "1.50 s", "2m 05s", "3h 20m", "4d 06h".
std::string FormatSeconds(double seconds);
// A share of one: "12.5%".
std::string FormatRatio(double ratio);
// "950/s", "1.20k/s", "3.40M/s".
std::string FormatPerSecond(double rate);

// A cell. What is not known is "-"; lists are cut after eight elements, with the number left out.
// Control characters become '?': some texts come from clients, and a terminal obeys them.
std::string FormatCell(const Value& value, Unit unit);

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_FORMAT_H_
