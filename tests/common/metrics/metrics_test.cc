#include "common/metrics/metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/thread/thread.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsTest, TextHasNamesHelpLabelsAndValues) {
  Metrics metrics("ps_test", {{"cluster", "c1"}});
  metrics.AddCounter("keys_total", "keys seen", {{"table", "user"}}).Increment(3);
  metrics.AddGauge("slots", "slots owned").Set(256);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("# HELP ps_test_keys_total keys seen\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE ps_test_keys_total counter\n"));
  EXPECT_THAT(text, HasSubstr("ps_test_keys_total{cluster=\"c1\",table=\"user\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("ps_test_slots{cluster=\"c1\"} 256\n"));
}

TEST(MetricsTest, TheSameNameAndLabelsAreTheSameMetric) {
  Metrics metrics("ps_test");
  Counter& first = metrics.AddCounter("keys_total", "keys", {{"table", "a"}});
  Counter& again = metrics.AddCounter("keys_total", "keys", {{"table", "a"}});
  Counter& other = metrics.AddCounter("keys_total", "keys", {{"table", "b"}});
  EXPECT_EQ(&first, &again);
  EXPECT_NE(&first, &other);
}

TEST(MetricsTest, HistogramsCountIntoTheSharedBuckets) {
  Metrics metrics("ps_test");
  Histogram& wait = metrics.AddHistogram("wait_seconds", "waits", SecondsBuckets());
  wait.Observe(0.0001);
  wait.Observe(0.3);
  wait.Observe(100);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("ps_test_wait_seconds_bucket{le=\"0.0001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ps_test_wait_seconds_bucket{le=\"0.5\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("ps_test_wait_seconds_bucket{le=\"+Inf\"} 3\n"));
}

TEST(MetricsTest, BucketListsRise) {
  for (const auto* bounds :
       {&SecondsBuckets(), &BytesBuckets(), &CountBuckets(), &ClocksBuckets()}) {
    for (size_t i = 1; i < bounds->size(); ++i) EXPECT_LT((*bounds)[i - 1], (*bounds)[i]);
  }
  EXPECT_EQ(BytesBuckets().back(), 64.0 * 1024 * 1024);
  EXPECT_EQ(CountBuckets().back(), 1024.0 * 1024);
}

TEST(MetricsTest, CollectorsRunBeforeEachScrape) {
  Metrics metrics("ps_test");
  Gauge& rows = metrics.AddGauge("rows", "rows now");
  int now = 0;
  metrics.OnCollect([&] { rows.Set(++now); });
  EXPECT_THAT(metrics.Text(), HasSubstr("ps_test_rows 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("ps_test_rows 2\n"));
}

TEST(MetricsTest, ManyThreadsLoseNoCount) {
  Metrics metrics("ps_test");
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("counter", [&] {
        Counter& counter = metrics.AddCounter("hits_total", "hits");
        for (int i = 0; i < 1000; ++i) counter.Increment();
        metrics.Text();
      });
    }
  }
  EXPECT_THAT(metrics.Text(), HasSubstr("ps_test_hits_total 4000\n"));
}

TEST(MetricsDeathTest, BadNamesAreCaughtWhenAMetricIsMade) {
  Metrics metrics("ps_test");
  EXPECT_DEATH(metrics.AddCounter("keys", "keys"), "_total");
  EXPECT_DEATH(metrics.AddGauge("no spaces", "gauge"), "valid name");
}

}  // namespace
}  // namespace syncline
