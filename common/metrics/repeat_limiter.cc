#include "common/metrics/repeat_limiter.h"

#include <utility>

#include "common/limits.h"

namespace syncline {

std::optional<uint64_t> RepeatLimiter::Ask(std::string_view key) {
  const MonotonicTime now = time_.Now();
  MutexLock lock(mutex_);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    // The empty key is the shared one.
    const bool full = entries_.size() >= kMaxLimitedLogKeys;
    const auto [entry, is_new] = entries_.try_emplace(full ? "" : std::string(key), Entry{now, 0});
    if (is_new) return 0;
    found = entry;
  }
  Entry& entry = found->second;
  if (now - entry.written < interval_) {
    ++entry.held_back;
    return std::nullopt;
  }
  entry.written = now;
  return std::exchange(entry.held_back, 0);
}

}  // namespace syncline
