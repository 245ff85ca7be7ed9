// The seam for time. Logic never asks the operating system; it gets a TimeSource, so that tests and
// the simulation own time.
#ifndef SYNCLINE_COMMON_TIME_SOURCE_H_
#define SYNCLINE_COMMON_TIME_SOURCE_H_

#include <atomic>
#include <chrono>

namespace syncline {

// A point on a monotonic scale of unknown origin; only differences mean something.
struct MonotonicTime {
  std::chrono::nanoseconds since_origin{0};

  constexpr auto operator<=>(const MonotonicTime&) const = default;
  constexpr MonotonicTime operator+(std::chrono::nanoseconds d) const { return {since_origin + d}; }
  constexpr MonotonicTime operator-(std::chrono::nanoseconds d) const { return {since_origin - d}; }
  constexpr std::chrono::nanoseconds operator-(MonotonicTime o) const {
    return since_origin - o.since_origin;
  }
  static constexpr MonotonicTime Max() { return {std::chrono::nanoseconds::max()}; }
};

// Thread-safe. Never goes back.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual MonotonicTime Now() const = 0;
};

// CLOCK_MONOTONIC: unmoved by changes of the wall clock.
class SystemTimeSource final : public TimeSource {
 public:
  MonotonicTime Now() const override;
};

// Stands still until told otherwise.
class ManualTimeSource final : public TimeSource {
 public:
  MonotonicTime Now() const override {
    return {std::chrono::nanoseconds(now_ns_.load(std::memory_order_relaxed))};
  }
  void Advance(std::chrono::nanoseconds d) { now_ns_.fetch_add(d.count()); }

 private:
  std::atomic<int64_t> now_ns_{0};
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_TIME_SOURCE_H_
