#include "server/service/probe.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"

#include "common/status/status.h"

namespace syncline {
namespace {

double Seconds(MonotonicTime from, MonotonicTime to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string CodeName(const absl::Status& status) { return absl::StatusCodeToString(status.code()); }

std::string_view OutcomeClass(Outcome outcome) {
  if (outcome == Outcome::kOk) return "ok";
  if (IsFinal(outcome)) return "refused";
  return IsRetry(outcome) ? "retry" : "gone";
}

}  // namespace

ServiceProbe::ServiceProbe(Metrics& metrics, const TimeSource& time)
    : metrics_(metrics),
      time_(time),
      streams_(metrics.AddGauge("streams", "Open Exchange streams.")),
      streams_refused_(
          metrics.AddCounter("streams_refused_total", "Streams refused: too many are open.")),
      bytes_received_(metrics.AddCounter("received_bytes_total", "Bytes of frames received.")),
      bytes_sent_(metrics.AddCounter("sent_bytes_total", "Bytes of frames sent.")),
      frames_received_(metrics.AddCounter("frames_received_total", "Frames received.")),
      frames_sent_(metrics.AddCounter("frames_sent_total", "Frames sent.")),
      keys_pushed_(metrics.AddCounter("pushed_keys_total", "Keys in pushes answered.")),
      keys_pulled_(metrics.AddCounter("pulled_keys_total", "Keys in pulls served.")),
      ticks_(metrics.AddCounter("ticks_total", "Tick frames answered.")),
      push_seconds_(metrics.AddHistogram("push_seconds", "From a push's arrival to its outcome.",
                                         SecondsBuckets())),
      pull_seconds_(metrics.AddHistogram(
          "pull_seconds", "From a pull's arrival to its answer, time parked included.",
          SecondsBuckets())) {}

void ServiceProbe::FrameReceived(size_t bytes) {
  frames_received_.Increment();
  bytes_received_.Increment(static_cast<double>(bytes));
}

void ServiceProbe::FrameSent(size_t bytes) {
  frames_sent_.Increment();
  bytes_sent_.Increment(static_cast<double>(bytes));
}

void ServiceProbe::RequestRefused(const absl::Status& why) {
  metrics_
      .AddCounter("requests_refused_total", "Whole requests refused, by code.",
                  {{"code", CodeName(why)}})
      .Increment();
}

void ServiceProbe::PushAnswered(const PushFrame& push, const std::vector<PartOutcome>& outcomes,
                                MonotonicTime began) {
  size_t keys = 0;
  for (const PushPart& part : push.parts) keys += part.key_count();
  keys_pushed_.Increment(static_cast<double>(keys));
  push_seconds_.Observe(Seconds(began, Now()));
  CountOutcomes(outcomes);
}

void ServiceProbe::PullAnswered(const PullFrame& pull, const absl::Status& status,
                                MonotonicTime began) {
  pull_seconds_.Observe(Seconds(began, Now()));
  if (!status.ok()) return RequestRefused(status);
  size_t keys = 0;
  for (const PullPart& part : pull.parts) keys += part.key_count();
  keys_pulled_.Increment(static_cast<double>(keys));
}

void ServiceProbe::TickAnswered(const std::vector<PartOutcome>& outcomes) {
  ticks_.Increment();
  CountOutcomes(outcomes);
}

void ServiceProbe::CountOutcomes(const std::vector<PartOutcome>& outcomes) {
  std::map<std::string_view, size_t> by_class;
  for (const PartOutcome& outcome : outcomes) ++by_class[OutcomeClass(outcome.outcome)];
  for (const auto& [name, count] : by_class) {
    metrics_
        .AddCounter("outcomes_total", "Outcomes of operations in one slot, by class.",
                    {{"class", std::string(name)}})
        .Increment(static_cast<double>(count));
  }
}

void AddHostMetrics(Metrics& metrics, SlotHost& host) {
  Gauge& slots = metrics.AddGauge("slots", "Slots on this server.");
  Gauge& rows = metrics.AddGauge("rows", "Stored rows.");
  Gauge& memory = metrics.AddGauge("rows_memory_bytes", "Memory of stored rows and their index.");
  Gauge& parked = metrics.AddGauge("parked_reads", "Pulls that wait for other workers.");
  Gauge& queued = metrics.AddGauge("executor_queued_tasks", "Tasks that wait for an executor.");
  Gauge& zeroed = metrics.AddGauge("ids_zeroed", "Keys beyond a vocabulary that read as zeros.");
  Gauge& rejected = metrics.AddGauge("ids_rejected", "Keys that an id policy refused.");
  Gauge& epoch = metrics.AddGauge("epoch", "Epoch of the cluster map; 0: none yet.");
  metrics.OnCollect([&] {
    std::vector<SlotHost::SlotSnapshot> all = host.Snapshot();
    SlotCore::TableCounters sum;
    for (const SlotHost::SlotSnapshot& slot : all) {
      for (const SlotCore::TableCounters& table : slot.tables) {
        sum.rows += table.rows;
        sum.memory_bytes += table.memory_bytes;
        sum.ids_zeroed += table.ids_zeroed;
        sum.ids_rejected += table.ids_rejected;
      }
    }
    slots.Set(static_cast<double>(all.size()));
    rows.Set(static_cast<double>(sum.rows));
    memory.Set(static_cast<double>(sum.memory_bytes));
    zeroed.Set(static_cast<double>(sum.ids_zeroed));
    rejected.Set(static_cast<double>(sum.ids_rejected));
    parked.Set(static_cast<double>(host.parked_reads()));
    queued.Set(static_cast<double>(host.queued()));
    epoch.Set(static_cast<double>(host.epoch().value()));
  });
}

}  // namespace syncline
