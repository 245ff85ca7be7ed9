// Reads the named arguments of an optimizer spec and collects every problem.
#ifndef SYNCLINE_SERVER_OPTIMIZER_ARGUMENTS_H_
#define SYNCLINE_SERVER_OPTIMIZER_ARGUMENTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "common/table_spec.h"

namespace syncline {

// Which values an argument may have, and how to say so.
struct ArgumentRange {
  std::string_view text;
  bool (*contains)(float value);
};

extern const ArgumentRange kAboveZero;
extern const ArgumentRange kAtLeastZero;
extern const ArgumentRange kUnitHalfOpen;  // [0, 1)
extern const ArgumentRange kZeroOrOne;

// Take each argument once, then ask Finish. Not thread-safe.
class ArgumentReader {
 public:
  // REQUIRES: `spec` outlives this object.
  explicit ArgumentReader(const OptimizerSpec& spec) : spec_(spec) {}

  // The value, or `fallback` when the spec does not name it. A missing argument without a fallback
  // and a value outside `range` (as a float; not a number is outside every range) are problems; the
  // result is then of no use.
  double Take(std::string_view name, const ArgumentRange& range, std::optional<double> fallback);

  // OK, or INVALID_ARGUMENT with all problems, untaken arguments among them.
  absl::Status Finish() const;

 private:
  const OptimizerSpec& spec_;
  std::vector<std::string_view> taken_;
  std::vector<std::string> accepted_;
  std::vector<std::string> problems_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_OPTIMIZER_ARGUMENTS_H_
