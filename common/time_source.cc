#include "common/time_source.h"

namespace syncline {

MonotonicTime SystemTimeSource::Now() const {
  return {std::chrono::steady_clock::now().time_since_epoch()};
}

}  // namespace syncline
