// Runner: every push is applied once, whatever happens to frames and connections. Real ps-server
// processes; each client reaches each server through a TCP proxy and a frame relay:
//
//   client -> TcpProxy (cuts, resets, delay) -> FrameRelay (frames) -> ps-server
//
// `exactly_once --help`.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"

#include "common/random.h"
#include "common/status/status.h"
#include "common/thread/mutex.h"
#include "common/time_source.h"
#include "tests/support/child_process.h"
#include "tests/support/frame_relay.h"
#include "tests/support/process_cluster.h"
#include "tests/support/tcp_proxy.h"
#include "worker/client/ps_client.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kServers = 2;
constexpr uint32_t kDim = 4;
constexpr uint64_t kKeys = 2'000;
constexpr uint64_t kKeysPerPush = 6;
constexpr size_t kInFlight = 48;  // pushes of one client; below the window of S4
constexpr double kLoseReplies = 0.3;
constexpr double kLostAtLeast = 0.2;
constexpr milliseconds kReplyTimeout{150};
constexpr std::chrono::seconds kCallDeadline{120};
constexpr double kSecondsAtMost = 180;

struct Arguments {
  bool check = false;
  bool quick = false;
  uint64_t seed = 1;
  uint64_t pushes = 50'000;
  uint64_t clients = 8;
  uint64_t cuts = 240;
  std::string server;
  uint64_t cuts_at_least() const { return cuts * 5 / 6; }
};

// Faults in front of one server.
struct Front {
  explicit Front(uint64_t seed) : relay(seed), proxy({.target = relay.endpoint(), .seed = seed}) {}
  FrameRelay relay;
  TcpProxy proxy;
};
using Fronts = std::vector<std::unique_ptr<Front>>;

RelayPlan Faults() {
  const FrameFaults frames{.drop = 0.01,
                           .duplicate = 0.03,
                           .delay = 0.02,
                           .reorder = 0.03,
                           .hold_max = milliseconds(15)};
  return {.up = frames, .down = frames, .lose_first_push_reply = kLoseReplies};
}

TableSpec Table() {
  TableSpec spec;
  spec.name = "sums";
  spec.dim = kDim;
  spec.optimizer = {"sgd", {{"lr", 1.0}}};
  spec.consistency = {ConsistencyMode::kAsync, Staleness(0), ApplyMode::kImmediate};
  spec.reduce = Reduce::kSum;
  return spec;
}

absl::StatusOr<std::unique_ptr<PsClient>> Connect(const std::string& coordinator) {
  ClientOptions options;
  options.coordinator = coordinator;
  options.job = {.name = "exactly-once"};
  options.clocked = false;
  options.call_deadline = kCallDeadline;
  options.reply_timeout = kReplyTimeout;
  return PsClient::Connect(options);
}

// Key i of the run: spread over all 64 bits.
Key KeyAt(uint64_t i) { return Mix64(i); }

// What the rows must be: integers, so that no order of additions matters. [key][element].
using Sums = std::vector<int64_t>;

// One client's work. Pushes in flight are bounded; each must end well.
class Pusher {
 public:
  Pusher(uint64_t seed, PsClient& client, const TableInfo& table, std::atomic<uint64_t>& done)
      : random_(seed), client_(client), table_(table), done_(done), sums_(kKeys * kDim) {}

  absl::Status Run(uint64_t pushes) {
    for (uint64_t i = 0; i < pushes; ++i) {
      RETURN_IF_ERROR(WaitBelow(kInFlight));
      PushOne();
    }
    return WaitBelow(1);
  }
  const Sums& sums() const { return sums_; }

 private:
  void PushOne() {
    std::vector<Key> keys;
    std::vector<float> gradients;
    const uint64_t n = 1 + random_.Below(kKeysPerPush);
    for (uint64_t k = 0; k < n; ++k) {
      const uint64_t index = random_.Below(kKeys);
      keys.push_back(KeyAt(index));
      for (uint32_t d = 0; d < kDim; ++d) {
        const auto value = static_cast<int64_t>(random_.Below(9)) - 4;
        gradients.push_back(static_cast<float>(value));
        sums_[index * kDim + d] -= value;
      }
    }
    {
      MutexLock lock(mutex_);
      ++in_flight_;
    }
    client_.PushAsync(table_, keys, {gradients.data()}, 1, [this](const absl::Status& status) {
      done_.fetch_add(1);
      MutexLock lock(mutex_);
      --in_flight_;
      if (first_error_.ok()) first_error_ = status;
      changed_.NotifyAll();
    });
  }
  absl::Status WaitBelow(size_t limit) {
    MutexLock lock(mutex_);
    while (in_flight_ >= limit) changed_.Wait(mutex_);
    return first_error_;
  }

  SplitMix64 random_;
  PsClient& client_;
  const TableInfo& table_;
  std::atomic<uint64_t>& done_;
  Sums sums_;
  Mutex mutex_;
  CondVar changed_;
  size_t in_flight_ GUARDED_BY(mutex_) = 0;
  absl::Status first_error_ GUARDED_BY(mutex_);
};

// Cuts something somewhere: a stream, or a connection, orderly or not.
bool CutSomething(SplitMix64& random, Fronts& fronts) {
  Front& front = *fronts[random.Below(fronts.size())];
  switch (random.Below(3)) {
    case 0:
      return front.relay.CutOne();
    case 1:
      return front.proxy.CutOne(Cut::kReset);
    default:
      return front.proxy.CutOne(Cut::kClose);
  }
}

uint64_t CutsOf(const Fronts& fronts) {
  uint64_t cuts = 0;
  for (const auto& front : fronts) {
    const TcpProxyCounts tcp = front->proxy.counts();
    cuts += front->relay.counts().cuts + tcp.cut + tcp.reset;
  }
  return cuts;
}

// Cuts in step with progress, so that their number does not depend on the machine's speed.
void CutInStep(const Arguments& arguments, Fronts& fronts, const std::atomic<uint64_t>& done,
               const std::atomic<bool>& stop) {
  SplitMix64 random(arguments.seed + 1'000);
  while (!stop) {
    const uint64_t due = arguments.cuts * done.load() / arguments.pushes;
    if (CutsOf(fronts) >= due || !CutSomething(random, fronts)) {
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
}

struct Tally {
  uint64_t replies_lost = 0;
  uint64_t first_replies = 0;
  uint64_t duplicates = 0;
  uint64_t cuts = 0;
  uint64_t wrong_keys = 0;
  uint64_t resends = 0;
  uint64_t reconnects = 0;
};

// Calls work(i) on a thread each; the first error.
template <typename Work>
absl::Status InParallel(size_t n, const Work& work) {
  std::vector<absl::Status> statuses(n);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < n; ++i) {
    threads.emplace_back([&, i] { statuses[i] = work(i); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CountWrongKeys(PsClient& client, const TableInfo& table,
                                        const Sums& expected) {
  std::vector<Key> keys;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(KeyAt(i));
  std::vector<float> rows(kKeys * kDim);
  RETURN_IF_ERROR(client.Pull(table, keys, {rows.data()}, {.read_only = true, .clock = {}}));
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kKeys; ++i) {
    bool right = true;
    for (uint32_t d = 0; d < kDim; ++d) {
      right &=
          static_cast<double>(rows[i * kDim + d]) == static_cast<double>(expected[i * kDim + d]);
    }
    wrong += right ? 0 : 1;
  }
  return wrong;
}

// With all clients connected: pushes under faults, then reads without.
absl::Status PushAndJudge(const Arguments& arguments, Fronts& fronts,
                          std::vector<std::unique_ptr<PsClient>>& clients, Tally& tally) {
  ASSIGN_OR_RETURN(const TableInfo table, clients[0]->CreateTable(Table()));
  for (const auto& front : fronts) {
    front->relay.SetPlan(Faults());
    front->proxy.Shape(Way::kDown, {.delay = std::chrono::microseconds(500)});
  }
  std::atomic<uint64_t> done = 0;
  std::atomic<bool> stop = false;
  std::vector<std::unique_ptr<Pusher>> pushers;
  for (size_t i = 0; i < clients.size(); ++i) {
    pushers.push_back(
        std::make_unique<Pusher>(arguments.seed * 1'000 + i, *clients[i], table, done));
  }
  std::thread cutter([&] { CutInStep(arguments, fronts, done, stop); });
  const absl::Status status = InParallel(clients.size(), [&](size_t i) {
    const uint64_t rest = i < arguments.pushes % clients.size() ? 1 : 0;
    return pushers[i]->Run(arguments.pushes / clients.size() + rest);
  });
  stop = true;
  cutter.join();
  for (const auto& front : fronts) {
    front->relay.SetPlan({});
    front->proxy.Shape(Way::kDown, {});
  }
  RETURN_IF_ERROR(status);
  Sums expected(kKeys * kDim);
  for (const auto& pusher : pushers) {
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += pusher->sums()[i];
  }
  ASSIGN_OR_RETURN(tally.wrong_keys, CountWrongKeys(*clients[0], table, expected));
  return absl::OkStatus();
}

absl::Status RunAll(const Arguments& arguments, Tally& tally) {
  Fronts fronts;
  std::vector<std::string> advertise;
  for (uint32_t i = 0; i < kServers; ++i) {
    fronts.push_back(std::make_unique<Front>(arguments.seed + i));
    advertise.push_back(fronts.back()->proxy.endpoint());
  }
  ASSIGN_OR_RETURN(const auto cluster,
                   ProcessCluster::Start(
                       {.program = arguments.server, .servers = kServers, .advertise = advertise}));
  for (uint32_t i = 0; i < kServers; ++i) fronts[i]->relay.SetTarget(cluster->endpoint(i));
  RETURN_IF_ERROR(cluster->WaitReady());

  std::vector<std::unique_ptr<PsClient>> clients(arguments.clients);
  RETURN_IF_ERROR(InParallel(clients.size(), [&](size_t i) -> absl::Status {
    ASSIGN_OR_RETURN(clients[i], Connect(cluster->coordinator()));
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(PushAndJudge(arguments, fronts, clients, tally));
  for (const auto& client : clients) {
    tally.resends += client->stats().resends;
    tally.reconnects += client->stats().reconnects;
    RETURN_IF_ERROR(client->Leave());
  }
  tally.cuts = CutsOf(fronts);
  for (const auto& front : fronts) {
    const RelayCounts counts = front->relay.counts();
    tally.first_replies += counts.first_push_replies;
    tally.replies_lost += counts.first_push_replies_lost;
    tally.duplicates += counts.repeated_pushes;
  }
  return absl::OkStatus();
}

// A push goes out as one frame for each server that it touches. When that share of all frames lost
// its first reply, independently, at least that share of pushes did.
bool Holds(const Arguments& arguments, const Tally& tally, double seconds) {
  const auto lost = static_cast<double>(tally.replies_lost);
  return tally.wrong_keys == 0 && lost >= kLostAtLeast * static_cast<double>(arguments.pushes) &&
         lost >= kLostAtLeast * static_cast<double>(tally.first_replies) &&
         tally.cuts >= arguments.cuts_at_least() && tally.duplicates > 0 &&
         seconds < kSecondsAtMost;
}

int Run(const Arguments& arguments) {
  const SystemTimeSource clock;
  const MonotonicTime start = clock.Now();
  Tally tally;
  const absl::Status status = RunAll(arguments, tally);
  const double seconds = std::chrono::duration<double>(clock.Now() - start).count();
  if (!status.ok()) {
    fmt::print("failed (seed {}): {}\n", arguments.seed, status.ToString());
    return 1;
  }
  const bool holds = Holds(arguments, tally, seconds);
  if (!holds) fmt::print("a bound does not hold; rerun with --seed {}\n", arguments.seed);
  fmt::print("push frames {}; clients sent {} operations again and reconnected {} times\n",
             tally.first_replies, tally.resends, tally.reconnects);
  fmt::print(
      "RESULT pushes={} replies_lost={} duplicates={} cuts={} wrong_keys={} seconds={:.1f}\n",
      arguments.pushes, tally.replies_lost, tally.duplicates, tally.cuts, tally.wrong_keys,
      seconds);
  return arguments.check && !holds ? 1 : 0;
}

}  // namespace
}  // namespace syncline

int main(int argc, char** argv) {
  syncline::Arguments arguments;
  arguments.server = syncline::ProgramFolder() + "/../../server/ps-server";
  CLI::App app{
      "Pushes integers through frame and connection faults and checks every key's exact sum. Last "
      "line: RESULT with counts."};
  app.add_flag("--check", arguments.check, "exit with 1 unless every bound holds");
  app.add_flag("--quick", arguments.quick, "a tenth of the pushes and cuts");
  app.add_option("--seed", arguments.seed, "of pushes, faults and cuts");
  app.add_option("--pushes", arguments.pushes, "of all clients together");
  app.add_option("--clients", arguments.clients, "each with a session of its own");
  app.add_option("--cuts", arguments.cuts, "streams and connections to cut; 5 of 6 must happen");
  app.add_option("--server", arguments.server, "path of ps-server");
  CLI11_PARSE(app, argc, argv);
  if (arguments.quick) {
    arguments.pushes /= 10;
    arguments.cuts /= 10;
  }
  return syncline::Run(arguments);
}
