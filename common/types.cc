#include "common/types.h"

#include "fmt/format.h"

namespace syncline {

std::string SessionId::ToString() const { return fmt::format("{:016x}{:016x}", high, low); }

}  // namespace syncline
