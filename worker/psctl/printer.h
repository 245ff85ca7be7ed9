// Shows a report on standard output: as a table for people, as JSON for programs.
#ifndef SYNCLINE_WORKER_PSCTL_PRINTER_H_
#define SYNCLINE_WORKER_PSCTL_PRINTER_H_

#include <memory>
#include <ostream>

#include "worker/psctl/report.h"

namespace syncline::psctl {

enum class OutputFormat { kTable, kJson };

class Printer {
 public:
  virtual ~Printer() = default;
  virtual void Print(const Report& report, std::ostream& out) const = 0;
};

// table  Columns with a gutter of three spaces, numbers to the right; a single report as
//        "Title:   value" lines. With no_headers: values only.
// json   {"apiVersion": "psctl/v1", "kind": ..., then the fields of a single report, or "items"}.
//        Bytes and seconds are numbers in base units. Keys of rows are strings, because readers
//        with 64-bit floats would round them. Text that is no UTF-8 gets replacement characters.
std::unique_ptr<Printer> MakePrinter(OutputFormat format, bool no_headers);

}  // namespace syncline::psctl

#endif  // SYNCLINE_WORKER_PSCTL_PRINTER_H_
