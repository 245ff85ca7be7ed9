// What the services report about themselves, under the names that operators see.
#ifndef SYNCLINE_SERVER_SERVICE_PROBE_H_
#define SYNCLINE_SERVER_SERVICE_PROBE_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "common/metrics/metrics.h"
#include "common/time_source.h"
#include "common/wire/frames.h"
#include "server/executor/slot_host.h"

namespace syncline {

// Thread-safe. REQUIRES: `metrics` and `time` outlive it.
class ServiceProbe {
 public:
  ServiceProbe(Metrics& metrics, const TimeSource& time);

  MonotonicTime Now() const { return time_.Now(); }

  void StreamOpened() { streams_.Increment(); }
  void StreamClosed() { streams_.Decrement(); }
  void StreamRefused() { streams_refused_.Increment(); }
  void FrameReceived(size_t bytes);
  void FrameSent(size_t bytes);
  void RequestRefused(const absl::Status& why);

  void PushAnswered(const PushFrame& push, const std::vector<PartOutcome>& outcomes,
                    MonotonicTime began);
  void PullAnswered(const PullFrame& pull, const absl::Status& status, MonotonicTime began);
  void TickAnswered(const std::vector<PartOutcome>& outcomes);

 private:
  void CountOutcomes(const std::vector<PartOutcome>& outcomes);

  Metrics& metrics_;
  const TimeSource& time_;
  Gauge& streams_;
  Counter& streams_refused_;
  Counter& bytes_received_;
  Counter& bytes_sent_;
  Counter& frames_received_;
  Counter& frames_sent_;
  Counter& keys_pushed_;
  Counter& keys_pulled_;
  Counter& ticks_;
  Histogram& push_seconds_;
  Histogram& pull_seconds_;
};

// Sets gauges of `host` before each scrape: slots, rows, memory, parked reads, queues, clocks.
// REQUIRES: `host` outlives `metrics`.
void AddHostMetrics(Metrics& metrics, SlotHost& host);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_SERVICE_PROBE_H_
