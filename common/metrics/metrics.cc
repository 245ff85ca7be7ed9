#include "common/metrics/metrics.h"

#include <utility>

#include "prometheus/check_names.h"
#include "prometheus/text_serializer.h"

#include "common/status/status.h"

namespace syncline {
namespace {

std::vector<double> Powers(double first, double factor, int count) {
  std::vector<double> bounds;
  for (double bound = first; count > 0; --count, bound *= factor) bounds.push_back(bound);
  return bounds;
}

}  // namespace

const std::vector<double>& SecondsBuckets() {
  static const std::vector<double> kBounds = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                              0.005,   0.01,   0.025,   0.05,   0.1,   0.25,
                                              0.5,     1,      2.5,     5,      10,    30};
  return kBounds;
}

const std::vector<double>& BytesBuckets() {
  static const std::vector<double> kBounds = Powers(256, 4, 10);
  return kBounds;
}

const std::vector<double>& CountBuckets() {
  static const std::vector<double> kBounds = Powers(1, 4, 11);
  return kBounds;
}

const std::vector<double>& ClocksBuckets() {
  static const std::vector<double> kBounds = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256};
  return kBounds;
}

Metrics::Metrics(std::string prefix, Labels constant)
    : prefix_(std::move(prefix)), constant_(std::move(constant)) {}

std::string Metrics::FullName(const std::string& name) const {
  std::string full = prefix_ + "_" + name;
  SYNCLINE_CHECK(prometheus::CheckMetricName(full), "a metric has a valid name: " + full);
  return full;
}

Counter& Metrics::AddCounter(const std::string& name, const std::string& help,
                             const Labels& labels) {
  SYNCLINE_CHECK(name.ends_with("_total"), "a counter's name ends in _total: " + name);
  return prometheus::BuildCounter()
      .Name(FullName(name))
      .Help(help)
      .Labels(constant_)
      .Register(registry_)
      .Add(labels);
}

Gauge& Metrics::AddGauge(const std::string& name, const std::string& help, const Labels& labels) {
  return prometheus::BuildGauge()
      .Name(FullName(name))
      .Help(help)
      .Labels(constant_)
      .Register(registry_)
      .Add(labels);
}

Histogram& Metrics::AddHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& buckets, const Labels& labels) {
  return prometheus::BuildHistogram()
      .Name(FullName(name))
      .Help(help)
      .Labels(constant_)
      .Register(registry_)
      .Add(labels, buckets);
}

void Metrics::OnCollect(std::function<void()> collect) {
  MutexLock lock(mutex_);
  collectors_.push_back(std::move(collect));
}

std::string Metrics::Text() const {
  MutexLock lock(mutex_);  // also keeps two scrapes from running the collectors at once
  for (const auto& collect : collectors_) collect();
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace syncline
