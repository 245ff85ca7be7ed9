// Keeps a repeated error from filling the log.
#ifndef SYNCLINE_COMMON_METRICS_REPEAT_LIMITER_H_
#define SYNCLINE_COMMON_METRICS_REPEAT_LIMITER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/thread/mutex.h"
#include "common/time_source.h"

namespace syncline {

// Lets one line of each key through per interval and counts the others. Thread-safe. Beyond
// kMaxLimitedLogKeys keys, new ones share one limit, so that keys made from client input cannot
// grow memory.
//
//   RepeatLimiter limiter(time, std::chrono::seconds(10));
//   if (auto skipped = limiter.Ask("journal full")) {
//     log.With({{"skipped", *skipped}}).Error("the journal is full: ...");
//   }
class RepeatLimiter {
 public:
  // REQUIRES: `time` outlives this object.
  RepeatLimiter(const TimeSource& time, std::chrono::nanoseconds interval)
      : time_(time), interval_(interval) {}

  // A number: write the line; so many of this key were held back since the last one. nullopt: do
  // not.
  std::optional<uint64_t> Ask(std::string_view key);

 private:
  struct Entry {
    MonotonicTime written;
    uint64_t held_back = 0;
  };

  const TimeSource& time_;
  const std::chrono::nanoseconds interval_;
  Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ GUARDED_BY(mutex_);
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_METRICS_REPEAT_LIMITER_H_
