#include "tests/integration/witness_worker.h"

#include <thread>
#include <utility>

#include "common/status/status.h"

namespace syncline {
namespace {

constexpr char kTable[] = "witness";
constexpr std::chrono::seconds kCallDeadline{60};

// One life of a worker: a column, its pushes, its checks.
class Life {
 public:
  Life(const WitnessWorkerOptions& options, const WitnessPlan& plan, uint32_t column,
       PsClient& client, const TableInfo& table)
      : options_(options),
        writer_(plan, column),
        plan_(plan),
        checker_(plan, options.checked),
        client_(client),
        table_(table),
        rows_(size_t{plan.config().rows} * plan.config().dim()) {}

  // One iteration, in the client's present clock.
  absl::Status Step() {
    const int64_t clock = client_.clock().value();
    RETURN_IF_ERROR(client_.Pull(table_, plan_.keys(), {rows_.data()}));
    checker_.Check(clock, rows_, &writer_);
    std::this_thread::sleep_for(options_.step);
    const WitnessWriter::Push push = writer_.Next(clock);
    client_.PushAsync(table_, push.keys, {push.gradients.data()}, 1, nullptr);
    client_.TickAsync(1, "", nullptr);
    return absl::OkStatus();
  }
  const WitnessWriter& writer() const { return writer_; }
  const WitnessReport& report() const { return checker_.report(); }

 private:
  const WitnessWorkerOptions& options_;
  WitnessWriter writer_;
  const WitnessPlan& plan_;
  WitnessChecker checker_;
  PsClient& client_;
  const TableInfo& table_;
  std::vector<float> rows_;
};

bool MayRejoin(const absl::Status& status) {
  return DetailOf(status) == Detail::kFenced || DetailOf(status) == Detail::kSessionUnknown;
}

}  // namespace

std::chrono::milliseconds MillisecondsNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      SystemTimeSource().Now().since_origin);
}

absl::StatusOr<std::unique_ptr<PsClient>> ConnectWitness(const WitnessWorkerOptions& options) {
  ClientOptions client;
  client.coordinator = options.coordinator;
  client.job = {.name = options.job, .ranks = options.ranks, .lease = options.lease};
  client.rank = Rank(static_cast<int32_t>(options.rank));
  client.call_deadline = kCallDeadline;
  client.reply_timeout = options.reply_timeout;
  return PsClient::Connect(client);
}

absl::StatusOr<WitnessReport> RunWitnessWorker(
    const WitnessWorkerOptions& options, const std::function<void(const WitnessEvent&)>& tell) {
  const WitnessPlan plan(options.witness);
  ASSIGN_OR_RETURN(const auto client, ConnectWitness(options));
  ASSIGN_OR_RETURN(const TableInfo table,
                   client->CreateTable(WitnessTable(kTable, options.witness)));
  WitnessReport report;
  auto life = std::make_unique<Life>(options, plan, options.rank, *client, table);
  while (client->clock().value() < options.witness.clocks) {
    tell({"clock", client->clock().value(), MillisecondsNow()});
    const absl::Status status = life->Step();
    if (status.ok()) continue;
    if (!MayRejoin(status) || life->writer().column() == options.second_column ||
        options.second_column >= options.witness.columns) {
      return Annotate(status,
                      fmt::format("rank {} in clock {}", options.rank, client->clock().value()));
    }
    tell({"fenced", client->clock().value(), MillisecondsNow(), life->writer().total()});
    report.Add(life->report());
    RETURN_IF_ERROR(client->Rejoin());
    life = std::make_unique<Life>(options, plan, options.second_column, *client, table);
    tell({"rejoined", client->clock().value(), MillisecondsNow()});
  }
  RETURN_IF_ERROR(client->Leave());
  report.Add(life->report());
  return report;
}

// --- WitnessObserver --------------------------------------------------------------------------

WitnessObserver::WitnessObserver(const WitnessPlan& plan, std::unique_ptr<PsClient> client,
                                 TableInfo table)
    : plan_(plan), client_(std::move(client)), table_(std::move(table)), checker_(plan, {}) {}

absl::StatusOr<std::unique_ptr<WitnessObserver>> WitnessObserver::Connect(
    const std::string& coordinator, const std::string& job, const WitnessPlan& plan) {
  ClientOptions options;
  options.coordinator = coordinator;
  options.job = {.name = job, .create = false};
  options.clocked = false;
  ASSIGN_OR_RETURN(auto client, PsClient::Connect(options));
  ASSIGN_OR_RETURN(TableInfo table, client->DescribeTable(kTable));
  return std::unique_ptr<WitnessObserver>(
      new WitnessObserver(plan, std::move(client), std::move(table)));
}

absl::Status WitnessObserver::Look() {
  std::vector<float> rows(size_t{plan_.config().rows} * plan_.config().dim());
  RETURN_IF_ERROR(
      client_->Pull(table_, plan_.keys(), {rows.data()}, {.read_only = true, .clock = {}}));
  checker_.CheckPrefixes(rows);
  return absl::OkStatus();
}

}  // namespace syncline
