// Counters, gauges and histograms of one process, as Prometheus scrapes them. A thin layer over
// prometheus-cpp that fixes names and buckets.
//
// Metric names live in *probes*, one a module (README.md): code says what happened, the probe knows
// what it is called.
#ifndef SYNCLINE_COMMON_METRICS_METRICS_H_
#define SYNCLINE_COMMON_METRICS_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

#include "common/thread/mutex.h"

namespace syncline {

// Thread-safe and lock-free (histogram: a short lock). A counter costs about 6 ns, a histogram
// about 20 ns: fine per request; per key, count in a local variable and add once.
using Counter = prometheus::Counter;
using Gauge = prometheus::Gauge;
using Histogram = prometheus::Histogram;

using Labels = std::map<std::string, std::string>;

// Upper bounds of the buckets that all histograms of a kind share, so that they can be added up.
const std::vector<double>& SecondsBuckets();  // 50 us to 30 s
const std::vector<double>& BytesBuckets();    // 256 B to 64 MiB, powers of 4
const std::vector<double>& CountBuckets();    // 1 to 2^20, powers of 4
const std::vector<double>& ClocksBuckets();   // 0, 1, 2, 4, ... 256: staleness, lag

// The metrics of a process. Thread-safe. Metrics live as long as it does.
class Metrics {
 public:
  // `prefix` starts every name ("ps_server"); `constant` is on every metric.
  explicit Metrics(std::string prefix, Labels constant = {});

  // The metric of this name and these labels, made on first use. Units are base units and in the
  // name
  // (_seconds, _bytes); counters end in _total. Label values come from bounded sets: a table's
  // name, a code; never a key, a user id or an address. REQUIRES: a valid name; one kind, help and
  // bucket list per name.
  Counter& AddCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& AddHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets, const Labels& labels = {});

  // Runs before each Text(), to set gauges that are cheaper to compute when asked for. Must not
  // call back into this object; whatever it reads must outlive this object.
  void OnCollect(std::function<void()> collect);

  // Prometheus' text format 0.0.4.
  std::string Text() const;

 private:
  std::string FullName(const std::string& name) const;

  const std::string prefix_;
  const Labels constant_;
  prometheus::Registry registry_;
  mutable Mutex mutex_;
  std::vector<std::function<void()>> collectors_ GUARDED_BY(mutex_);
};

}  // namespace syncline

#endif  // SYNCLINE_COMMON_METRICS_METRICS_H_
