#include "worker/client/client_core.h"

#include <cmath>
#include <numeric>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"
#include "tests/worker/client/model_cluster.h"

namespace syncline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A core over a model cluster of two servers and eight slots, with verbs that wait.
struct Bench {
  explicit Bench(Faults faults = {}, CoreOptions options = {}, uint64_t seed = 5)
      : cluster(2, 8, seed, faults), core(options, cluster.Session()) {}

  Done Into(std::optional<absl::Status>& result) {
    return [&result](const absl::Status& status) {
      ASSERT_FALSE(result.has_value()) << "a second completion";
      result = status;
    };
  }
  absl::Status Await(std::optional<absl::Status>& result) {
    const bool finished = cluster.Run(core, [&] { return result.has_value(); });
    return finished ? *result : absl::InternalError("the call never ended");
  }
  absl::Status Push(const TableInfo& table, const std::vector<Key>& keys,
                    const std::vector<float>& gradients) {
    std::optional<absl::Status> result;
    core.Push(table, keys, {gradients.data()}, 1, Into(result), cluster.now());
    return Await(result);
  }
  absl::Status Pull(const TableInfo& table, const std::vector<Key>& keys, std::vector<float>& out) {
    out.assign(keys.size() * table.spec.dim, -1.0F);
    std::optional<absl::Status> result;
    core.Pull(table, keys, {out.data()}, {}, Into(result), cluster.now());
    return Await(result);
  }
  absl::Status Tick() {
    std::optional<absl::Status> result;
    core.Tick(10, "at 5", Into(result), cluster.now());
    return Await(result);
  }
  absl::Status Leave() {
    std::optional<absl::Status> result;
    core.Leave(Into(result), cluster.now());
    return Await(result);
  }
  // Lets timeouts and retries run.
  void Idle(std::chrono::nanoseconds time) {
    cluster.Run(
        core, [] { return false; }, time);
  }

  ModelCluster cluster;
  ClientCore core;
};

TEST(ClientCoreTest, PulledRowsAreWhatWasPushed) {
  Bench bench;
  const TableInfo table = ModelTable(2, 2);
  ASSERT_OK(bench.Push(table, {7, UINT64_MAX, 0}, {1, 2, 3, 4, 5, 6}));
  std::vector<float> out;
  ASSERT_OK(bench.Pull(table, {0, 99, UINT64_MAX, 7, 0}, out));
  EXPECT_THAT(out, ElementsAre(5, 6, 0, 0, 3, 4, 1, 2, 5, 6));
}

TEST(ClientCoreTest, GradientsOfARepeatedKeyAreAddedAndSentOnce) {
  Bench bench;
  const TableInfo table = ModelTable(1, 1);
  size_t keys_sent = 0;
  bench.cluster.on_frame = [&](ServerId, const OutMessage& message, size_t) {
    if (const auto* push = std::get_if<PushFrame>(&message)) {
      for (const auto& part : push->parts) keys_sent += part.key_count();
    }
  };
  ASSERT_OK(bench.Push(table, {5, 6, 5, 5}, {1, 10, 2, 4}));
  EXPECT_EQ(bench.cluster.Weight(table, 5), 7);
  EXPECT_EQ(bench.cluster.Weight(table, 6), 10);
  EXPECT_EQ(keys_sent, 2);
}

TEST(ClientCoreTest, RowsKeepTheirStrideInTheCallersMemory) {
  Bench bench;
  const TableInfo table = ModelTable(2, 2);
  const std::vector<float> gradients{1, 2, -9, 3, 4, -9};
  std::optional<absl::Status> pushed;
  const std::vector<Key> keys{11, 12};
  bench.core.Push(table, keys, {gradients.data(), 3}, 1, bench.Into(pushed), bench.cluster.now());
  ASSERT_OK(bench.Await(pushed));
  std::vector<float> out(8, -1);
  std::optional<absl::Status> pulled;
  bench.core.Pull(table, keys, {out.data(), 4}, {}, bench.Into(pulled), bench.cluster.now());
  ASSERT_OK(bench.Await(pulled));
  EXPECT_THAT(out, ElementsAre(1, 2, -1, -1, 3, 4, -1, -1));
}

TEST(ClientCoreTest, ATickIsOneOperationInEverySlotTouchedOrNot) {
  Bench bench;
  ASSERT_OK(bench.Tick());
  ASSERT_OK(bench.Tick());
  EXPECT_EQ(bench.core.clock(), Clock(2));
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(bench.cluster.slot(i).clock, Clock(2));
    EXPECT_EQ(bench.cluster.slot(i).last, 2U);
  }
}

TEST(ClientCoreTest, APullSeesPushesIssuedBeforeItThoughTheyAreUnderWay) {
  Faults faults;
  faults.reorder = 0.5;
  Bench bench(faults);
  const TableInfo table = ModelTable(1, 1);
  for (float total = 1; total <= 30; ++total) {
    const std::vector<Key> keys{4};
    const float one = 1;
    bench.core.Push(table, keys, {&one}, 1, nullptr, bench.cluster.now());
    std::vector<float> out;
    ASSERT_OK(bench.Pull(table, {4}, out));
    EXPECT_THAT(out, ElementsAre(total));
  }
}

TEST(ClientCoreTest, LeavesInEverySlotAfterTheLastOutcome) {
  Bench bench;
  const TableInfo table = ModelTable(1, 1);
  const std::vector<Key> keys{1, 2, 3, 4, 5, 6};
  const std::vector<float> ones(6, 1);
  bench.core.Push(table, keys, {ones.data()}, 1, nullptr, bench.cluster.now());
  ASSERT_OK(bench.Leave());
  for (uint32_t i = 0; i < 8; ++i) EXPECT_TRUE(bench.cluster.slot(i).left);
  for (const Key key : keys) EXPECT_EQ(bench.cluster.Weight(table, key), 1);
  EXPECT_THAT(bench.Push(table, {1}, {1}), StatusIs(absl::StatusCode::kCancelled));
}

// --- Lost, doubled and reordered frames.

// Random pushes, pulls and ticks; every sum must be exact, and every pull must hold the own pushes
// issued before it.
void RunFaultyTraining(uint64_t seed, Faults faults, ModelCluster::Counters& counters) {
  SCOPED_TRACE(SeedTrace(seed));
  CoreOptions options;
  options.call_deadline = std::chrono::minutes(10);
  options.reply_timeout = milliseconds(20);
  options.backoff_min = milliseconds(1);
  options.backoff_max = milliseconds(30);
  options.seed = seed;
  Bench bench(faults, options, seed);
  SplitMix64 random(seed);
  const TableInfo table = ModelTable(1, 1);
  std::map<Key, double> sums;
  int open = 0;
  const Done count = [&open](const absl::Status& status) {
    EXPECT_OK(status);
    --open;
  };
  for (int step = 0; step < 60; ++step) {
    std::vector<Key> keys(1 + random.Below(12));
    std::vector<float> gradients(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = random.Below(20);
      gradients[i] = static_cast<float>(1 + random.Below(5));
      sums[keys[i]] += static_cast<double>(gradients[i]);
    }
    open += 2;
    bench.core.Push(table, keys, {gradients.data()}, 1, count, bench.cluster.now());
    bench.core.Tick(1, "", count, bench.cluster.now());
    if (random.Below(4) == 0) {
      std::vector<Key> all(20);
      std::iota(all.begin(), all.end(), Key{0});
      std::vector<float> out;
      ASSERT_OK(bench.Pull(table, all, out));
      for (const Key key : all) ASSERT_EQ(static_cast<double>(out[key]), sums[key]) << key;
    }
  }
  ASSERT_TRUE(bench.cluster.Run(bench.core, [&] { return open == 0; }));
  for (const auto& [key, sum] : sums) EXPECT_EQ(bench.cluster.Weight(table, key), sum) << key;
  EXPECT_OK(bench.Leave());
  EXPECT_EQ(bench.core.undecided_bytes(), 0U);
  counters.dropped += bench.cluster.counters.dropped;
  counters.replies_lost += bench.cluster.counters.replies_lost;
  counters.disconnects += bench.cluster.counters.disconnects;
}

TEST(ClientCoreTest, EverySumIsExactWhateverTheNetworkDoes) {
  const uint64_t first = TestSeed(1);
  ModelCluster::Counters counters;
  for (uint64_t seed = first; seed < first + 40; ++seed) {
    Faults faults;
    faults.drop = 0.1;
    faults.duplicate = 0.1;
    faults.reorder = 0.2;
    faults.disconnect = 0.02;
    faults.refuse = 0.05;
    RunFaultyTraining(seed, faults, counters);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(counters.dropped, 100U);
  EXPECT_GT(counters.replies_lost, 100U);
  EXPECT_GT(counters.disconnects, 40U);
}

TEST(ClientCoreTest, TheNewestNumberSentStaysWithinAWindowOfTheOldestUndecided) {
  CoreOptions options;
  options.call_deadline = std::chrono::minutes(10);
  Bench bench({}, options);
  const TableInfo table = ModelTable(1, 1);
  uint64_t newest = 0;
  bench.cluster.on_frame = [&](ServerId, const OutMessage& message, size_t) {
    if (const auto* push = std::get_if<PushFrame>(&message)) {
      for (const auto& part : push->parts) newest = std::max(newest, part.sequence.value());
    }
  };
  const ServerId owner = bench.cluster.map().At(bench.cluster.SlotOfKey(table, 1)).server;
  std::vector<float> out;
  ASSERT_OK(bench.Pull(table, {1}, out));  // makes the connection
  bench.cluster.Break(owner);
  int open = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<Key> keys{1};
    const float one = 1;
    ++open;
    bench.core.Push(
        table, keys, {&one}, 1, [&](const absl::Status&) { --open; }, bench.cluster.now());
  }
  bench.Idle(seconds(20));
  EXPECT_EQ(newest, kOutcomeWindow);  // 1 is undecided: 64 - 1 < 64
  bench.cluster.Repair(owner);
  ASSERT_TRUE(bench.cluster.Run(bench.core, [&] { return open == 0; }));
  EXPECT_EQ(bench.cluster.Weight(table, 1), 200);
}

// --- Refusals before anything is sent (S5).

TEST(ClientCoreTest, AnInvalidPushIsRefusedWholeAndNothingIsSent) {
  Bench bench;
  TableInfo table = ModelTable(1, 1);
  EXPECT_THAT(bench.Push(table, {1, 2}, {1, NAN}),
              AllOf(StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key 2")),
                    HasDetail(Detail::kNonFinite)));
  std::optional<absl::Status> no_samples;
  const std::vector<Key> keys{1};
  const float one = 1;
  bench.core.Push(table, keys, {&one}, 0, bench.Into(no_samples), bench.cluster.now());
  EXPECT_THAT(bench.Await(no_samples),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("samples")));
  table.spec.ids = {IdPolicy::Kind::kReject, 10};
  EXPECT_THAT(bench.Push(table, {1, 10}, {1, 1}),
              AllOf(StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key 10")),
                    HasDetail(Detail::kIdRejected)));
  EXPECT_EQ(bench.cluster.counters.frames, 0U);
}

TEST(ClientCoreTest, ANumberThatTheCodecCannotHoldIsRefused) {
  CoreOptions options;
  options.push_codec = CodecId::kFp16;
  Bench bench({}, options);
  const TableInfo table = ModelTable(1, 1);
  EXPECT_THAT(bench.Push(table, {1}, {70'000}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fp16")));
  EXPECT_OK(bench.Push(table, {1}, {60'000}));
}

TEST(ClientCoreTest, AStrideBelowTheDimIsRefused) {
  Bench bench;
  const TableInfo table = ModelTable(4, 4);
  std::vector<float> out(8);
  std::optional<absl::Status> result;
  const std::vector<Key> keys{1, 2};
  bench.core.Pull(table, keys, {out.data(), 3}, {}, bench.Into(result), bench.cluster.now());
  EXPECT_THAT(bench.Await(result),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("stride")));
}

TEST(ClientCoreTest, AClocklessSessionCannotTick) {
  ModelCluster cluster(1, 4, 1);
  ClientCore core({}, cluster.Session(/*clocked=*/false));
  std::optional<absl::Status> result;
  core.Tick(
      1, "", [&](const absl::Status& s) { result = s; }, cluster.now());
  ASSERT_TRUE(cluster.Run(core, [&] { return result.has_value(); }));
  EXPECT_THAT(*result, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("clockless")));
}

// --- Large calls.

TEST(ClientCoreTest, LargePushesAndPullsTravelInFramesOfTheTargetSize) {
  Bench bench;
  const TableInfo table = ModelTable(64, 64);
  std::vector<Key> keys(40'000);  // 10 MiB of rows, 1.25 MiB in each slot
  std::iota(keys.begin(), keys.end(), Key{1});
  std::vector<float> gradients(keys.size() * 64);
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(i % 1'000);
  ASSERT_OK(bench.Push(table, keys, gradients));
  std::vector<float> out;
  ASSERT_OK(bench.Pull(table, keys, out));
  EXPECT_EQ(out, gradients);
  EXPECT_LE(bench.cluster.counters.largest_frame, kTargetFrameBytes + 64 * 1'024);
  EXPECT_GT(bench.cluster.counters.frames, 20U);
}

// --- Dense tables.

TEST(ClientCoreTest, APartOfATensorIsPulledElementByElement) {
  Bench bench;
  TableInfo tensor = ModelTable(4, 4, "top.weight");
  tensor.spec.kind = TableKind::kDense;
  tensor.spec.elements = 10;  // blocks of 4, 4 and 2
  ASSERT_OK(bench.Push(tensor, {0, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0}));
  std::vector<float> part(6, -1);
  std::optional<absl::Status> result;
  bench.core.PullDense(tensor, 3, part, {}, bench.Into(result), bench.cluster.now());
  ASSERT_OK(bench.Await(result));
  EXPECT_THAT(part, ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(bench.Push(tensor, {3}, {1, 1, 1, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("blocks")));
}

// --- Deadlines.

TEST(ClientCoreTest, ADeadlineNamesTheServerAndThePushIsNeverAppliedLater) {
  CoreOptions options;
  options.call_deadline = seconds(3);
  options.reply_timeout = milliseconds(200);
  Bench bench({}, options);
  const TableInfo table = ModelTable(1, 1);
  ASSERT_OK(bench.Push(table, {1}, {1}));
  const ServerId owner = bench.cluster.map().At(bench.cluster.SlotOfKey(table, 1)).server;
  bench.cluster.Break(owner);
  EXPECT_THAT(bench.Push(table, {1}, {100}),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("push to table user: no reply from 10.0.0."),
                             HasSubstr("within 3 s"))));
  std::vector<float> out;
  EXPECT_THAT(bench.Pull(table, {1}, out),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("pull of table user: no reply from 10.0.0.")));
  bench.cluster.Repair(owner);
  ASSERT_OK(bench.Push(table, {1}, {2}));
  EXPECT_EQ(bench.cluster.Weight(table, 1), 3);  // 1 + 2: the placeholder used up the number
  EXPECT_EQ(bench.cluster.slot(bench.cluster.SlotOfKey(table, 1).value()).cancelled, 1U);
}

TEST(ClientCoreTest, ALargePushThatIsGivenUpSendsNoMorePlaceholdersAFrameThanSlots) {
  CoreOptions options;
  options.call_deadline = seconds(3);
  options.reply_timeout = milliseconds(200);
  Bench bench({}, options);
  const TableInfo table = ModelTable(64, 64);
  for (const ServerEntry& server : bench.cluster.map().servers()) bench.cluster.Break(server.id);
  std::vector<Key> keys(80'000);  // 20 MiB of rows: three parts or more in each of eight slots
  std::iota(keys.begin(), keys.end(), Key{1});
  EXPECT_THAT(bench.Push(table, keys, std::vector<float>(keys.size() * 64, 1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  for (const ServerEntry& server : bench.cluster.map().servers()) bench.cluster.Repair(server.id);
  ASSERT_OK(bench.Push(table, {1}, std::vector<float>(64, 2)));
  EXPECT_EQ(bench.cluster.Weight(table, 1), 2);
}

// --- Sessions and slots that change.

TEST(ClientCoreTest, ANewIncarnationThatKeptTheSessionIsResumedAndNothingIsLost) {
  Bench bench;
  const TableInfo table = ModelTable(1, 1);
  ASSERT_OK(bench.Push(table, {1}, {1}));
  for (uint32_t i = 0; i < 8; ++i) bench.cluster.slot(i).incarnation = Incarnation(2);
  ASSERT_OK(bench.Push(table, {1}, {2}));
  ASSERT_OK(bench.Tick());
  EXPECT_EQ(bench.cluster.Weight(table, 1), 3);
}

TEST(ClientCoreTest, ARestartThatLostTheSessionFailsEveryCallWithSessionLost) {
  Bench bench;
  const TableInfo table = ModelTable(1, 1);
  ASSERT_OK(bench.Push(table, {1}, {1}));
  for (uint32_t i = 0; i < 8; ++i) {
    bench.cluster.slot(i) = ModelSlot();
    bench.cluster.slot(i).incarnation = Incarnation(2);
    bench.cluster.slot(i).session_known = false;
  }
  std::optional<absl::Status> tick;
  bench.core.Tick(1, "", bench.Into(tick), bench.cluster.now());
  std::vector<float> out;
  EXPECT_THAT(bench.Pull(table, {1}, out),
              AllOf(StatusIs(absl::StatusCode::kDataLoss), HasDetail(Detail::kSessionLost)));
  EXPECT_THAT(bench.Await(tick), HasDetail(Detail::kSessionLost));
  EXPECT_THAT(bench.Push(table, {1}, {1}), HasDetail(Detail::kSessionLost));
}

TEST(ClientCoreTest, ASessionIsLostWhicheverReplyOrMapTellsOfTheRestartFirst) {
  const uint64_t first = TestSeed(1);
  for (uint64_t seed = first; seed < first + 50; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Bench bench({.reorder = 0.5}, {}, seed);
    const TableInfo table = ModelTable(1, 1);
    ASSERT_OK(bench.Push(table, {1}, {1}));
    std::vector<SlotEntry> slots(bench.cluster.map().slots().begin(),
                                 bench.cluster.map().slots().end());
    for (uint32_t i = 0; i < 8; ++i) {
      slots[i].incarnation = Incarnation(2);
      bench.cluster.slot(i) = ModelSlot();
      bench.cluster.slot(i).incarnation = Incarnation(2);
      bench.cluster.slot(i).session_known = false;
    }
    const SlotMap& old = bench.cluster.map();
    const auto map = SlotMap::Make(old.cluster(), old.epoch(),
                                   {old.servers().begin(), old.servers().end()}, slots);
    ASSERT_OK(map);
    bench.core.OnMap(*map, bench.cluster.now());
    std::vector<float> out;
    EXPECT_THAT(bench.Pull(table, {1, 2, 3, 4, 5, 6, 7, 8}, out), HasDetail(Detail::kSessionLost));
  }
}

TEST(ClientCoreTest, ARestartThatLostNumbersItHadToldIsSessionLost) {
  Bench bench;
  const TableInfo table = ModelTable(1, 1);
  ASSERT_OK(bench.Push(table, {1}, {1}));
  ASSERT_OK(bench.Push(table, {1}, {1}));
  ModelSlot& slot = bench.cluster.slot(bench.cluster.SlotOfKey(table, 1).value());
  slot.incarnation = Incarnation(2);
  slot.last = 1;
  EXPECT_THAT(bench.Push(table, {1}, {1}), HasDetail(Detail::kSessionLost));
}

TEST(ClientCoreTest, AFencedSessionFailsEveryCallWithFenced) {
  Bench bench;
  const TableInfo table = ModelTable(1, 1);
  for (uint32_t i = 0; i < 8; ++i) bench.cluster.slot(i).fenced = true;
  EXPECT_THAT(bench.Push(table, {1}, {1}),
              AllOf(StatusIs(absl::StatusCode::kNotFound, HasSubstr("Rejoin")),
                    HasDetail(Detail::kFenced)));
  EXPECT_THAT(bench.Tick(), HasDetail(Detail::kFenced));
}

TEST(ClientCoreTest, AMovedSlotIsFoundWithTheNewMap) {
  Bench bench;
  const TableInfo table = ModelTable(1, 1);
  ASSERT_OK(bench.Push(table, {1, 2, 3, 4, 5, 6, 7, 8}, std::vector<float>(8, 1)));
  for (uint32_t i = 0; i < 8; ++i) bench.cluster.MoveSlot(i, ServerId(1 + i % 3 % 2));
  ASSERT_OK(bench.Push(table, {1, 2, 3, 4, 5, 6, 7, 8}, std::vector<float>(8, 1)));
  for (uint32_t i = 0; i < 8; ++i) bench.cluster.MoveSlot(i, ServerId(1 + (i % 2 == 0)));
  std::vector<float> out;
  ASSERT_OK(bench.Pull(table, {1, 2, 3, 4, 5, 6, 7, 8}, out));
  EXPECT_THAT(out, ::testing::Each(2));
}

TEST(ClientCoreTest, ALeaveWhoseReplyWasLostIsDoneWhenTheSlotNoLongerKnowsTheSession) {
  Faults faults;
  Bench bench(faults);
  ASSERT_OK(bench.Tick());
  for (uint32_t i = 0; i < 8; ++i) bench.cluster.slot(i).left = true;
  EXPECT_OK(bench.Leave());
}

TEST(ClientCoreTest, ADestroyedSessionEndsItsCallsOnce) {
  Bench bench;
  std::optional<absl::Status> tick;
  bench.core.Tick(1, "", bench.Into(tick), bench.cluster.now());
  bench.core.EndSession(absl::CancelledError("the client was destroyed"));
  EXPECT_THAT(bench.Await(tick), StatusIs(absl::StatusCode::kCancelled));
  bench.Idle(seconds(10));
}

// --- Prefetches and staleness.

TEST(ClientCoreTest, APrefetchCarriesTheClockOfItsUse) {
  Bench bench;
  std::vector<Clock> clocks;
  bench.cluster.on_frame = [&](ServerId, const OutMessage& message, size_t) {
    if (const auto* pull = std::get_if<PullFrame>(&message)) clocks.push_back(pull->header.clock);
  };
  const TableInfo table = ModelTable(1, 1);
  float out = 0;
  std::optional<absl::Status> result;
  const std::vector<Key> keys{1};
  bench.core.Pull(table, keys, {&out}, {.clock = Clock(1)}, bench.Into(result),
                  bench.cluster.now());
  ASSERT_OK(bench.Await(result));
  EXPECT_THAT(clocks, ElementsAre(Clock(1)));
  EXPECT_EQ(bench.core.stats(bench.cluster.now()).staleness_max, 1);
}

}  // namespace
}  // namespace syncline
