// A slot host with one table and players, for tests of what is around SlotCore.
#ifndef SYNCLINE_TESTS_SERVER_EXECUTOR_HOST_FIXTURE_H_
#define SYNCLINE_TESTS_SERVER_EXECUTOR_HOST_FIXTURE_H_

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "common/codec/codec.h"
#include "common/slot_map/slot_map.h"
#include "common/thread/bounded_queue.h"
#include "common/time_source.h"
#include "server/executor/slot_host.h"

namespace syncline {

inline constexpr JobId kHostJob{1};
inline constexpr TableId kHostTable{1};
inline constexpr ServerId kSelf{0};
inline constexpr size_t kDim = 2;

// What a client would remember.
struct HostPlayer {
  Caller caller;
  Clock clock;
  std::map<SlotId, Sequence> last;
};

// A frame with the memory that its views point into.
struct OwnedPush {
  PushFrame frame;
  std::map<SlotId, std::vector<Key>> keys;
  std::map<SlotId, std::vector<float>> values;
};
struct OwnedPull {
  PullFrame frame;
  std::vector<std::vector<Key>> keys;
  std::vector<std::vector<uint32_t>> numbers;
};

template <typename T>
ByteView BytesOf(const std::vector<T>& v) {
  return ByteView(ByteSpan(reinterpret_cast<const uint8_t*>(v.data()), v.size() * sizeof(T)));
}

class TestHost {
 public:
  static constexpr uint32_t kSlots = 16;

  explicit TestHost(const TimeSource& time, size_t executors = 2, int32_t ranks = 1,
                    int64_t staleness = 0,
                    TimerQueue::Threading threading = TimerQueue::Threading::kNone)
      : timers(time, threading), host({.executors = executors}, timers) {
    host.DeclareJob({kHostJob, "job", ranks, false});
    TableInfo table{kHostTable, kHostJob, {}};
    table.spec.name = "t";
    table.spec.dim = kDim;
    table.spec.optimizer = {"sgd", {{"lr", 1.0}}};
    table.spec.consistency = {ConsistencyMode::kSsp, Staleness(staleness), ApplyMode::kImmediate};
    table.spec.reduce = Reduce::kSum;
    EXPECT_TRUE(host.CreateTable(table).ok());
    EXPECT_TRUE(host.Assign(Map(Epoch(1), Incarnation(1)), kSelf).ok());
  }

  // Even slots are ours, odd ones another server's.
  static SlotMap Map(Epoch epoch, Incarnation incarnation) {
    std::vector<SlotEntry> slots;
    for (uint32_t i = 0; i < kSlots; ++i) slots.push_back({ServerId(i % 2), incarnation});
    return *SlotMap::Make("test", epoch, {{kSelf, "a", "a:1", 1}, {ServerId(1), "b", "b:1", 1}},
                          std::move(slots));
  }
  static bool Ours(Key key) { return SlotOf(kHostTable, key, kSlots).value() % 2 == 0; }
  // The first n keys that live here.
  static std::vector<Key> OurKeys(size_t n) {
    std::vector<Key> keys;
    for (Key key = 0; keys.size() < n; ++key) {
      if (Ours(key)) keys.push_back(key);
    }
    return keys;
  }
  static std::vector<SlotId> OurSlots() {
    std::vector<SlotId> slots;
    for (uint32_t i = 0; i < kSlots; i += 2) slots.push_back(SlotId(i));
    return slots;
  }

  HostPlayer Join(int32_t rank) {
    HostPlayer player;
    ++sessions_;
    player.caller = {{sessions_, sessions_}, Token(sessions_), {"worker"}};
    player.clock = host.InstallSession(
        {player.caller.session, player.caller.token, kHostJob, Rank(rank), true, {"worker"}},
        Clock(0));
    host.SetSessionClock(player.caller.session, player.clock);
    return player;
  }

  // Every key gets the same gradient in each element.
  static std::shared_ptr<const PushFrame> MakePush(HostPlayer& who, const std::vector<Key>& keys,
                                                   float gradient) {
    auto push = std::make_shared<OwnedPush>();
    push->frame.header = {who.caller.session, who.caller.token, Epoch(1), who.clock};
    push->frame.table = kHostTable;
    push->frame.codec = static_cast<uint32_t>(CodecId::kFp32);
    push->frame.samples = 1;
    for (const Key key : keys) {
      const SlotId slot = SlotOf(kHostTable, key, kSlots);
      push->keys[slot].push_back(key);
      push->values[slot].insert(push->values[slot].end(), kDim, gradient);
    }
    for (auto& [slot, slot_keys] : push->keys) {
      PushPart part;
      part.slot = slot;
      part.incarnation = Incarnation(1);
      part.sequence = who.last[slot] = who.last[slot].Next();
      part.keys = BytesOf(slot_keys);
      part.values = BytesOf(push->values[slot]);
      push->frame.parts.push_back(part);
    }
    return std::shared_ptr<const PushFrame>(push, &push->frame);
  }

  // One part per slot; rows in the order of the keys within it. The read names the session's own
  // last operation in each slot.
  static std::shared_ptr<OwnedPull> MakePull(const HostPlayer& who, const std::vector<Key>& keys) {
    auto pull = std::make_shared<OwnedPull>();
    pull->frame.header = {who.caller.session, who.caller.token, Epoch(1), who.clock};
    pull->frame.table = kHostTable;
    pull->frame.codec = static_cast<uint32_t>(CodecId::kFp32);
    std::map<SlotId, std::vector<Key>> by_slot;
    for (const Key key : keys) by_slot[SlotOf(kHostTable, key, kSlots)].push_back(key);
    pull->keys.reserve(by_slot.size());
    for (auto& [slot, slot_keys] : by_slot) {
      PullPart part;
      part.slot = slot;
      part.incarnation = Incarnation(1);
      const auto last = who.last.find(slot);
      if (last != who.last.end()) part.sequence = last->second;
      pull->keys.push_back(std::move(slot_keys));
      part.keys = BytesOf(pull->keys.back());
      pull->frame.parts.push_back(part);
    }
    return pull;
  }
  static std::shared_ptr<const PullFrame> FrameOf(std::shared_ptr<OwnedPull> pull) {
    return std::shared_ptr<const PullFrame>(pull, &pull->frame);
  }

  std::vector<PartOutcome> Push(HostPlayer& who, const std::vector<Key>& keys, float gradient) {
    BoundedQueue<std::vector<PartOutcome>> answer(1);
    host.Push(who.caller, MakePush(who, keys, gradient),
              [&](std::vector<PartOutcome> outcomes) { answer.Push(std::move(outcomes)); });
    return *answer.Pop();
  }
  std::vector<PartOutcome> Tick(HostPlayer& who) {
    std::vector<SlotPart> parts;
    for (const SlotId slot : OurSlots()) {
      parts.push_back({slot, Incarnation(1), who.last[slot] = who.last[slot].Next()});
    }
    TickOperation tick;
    tick.ends_round = Round(who.clock.value());
    tick.clock = ++who.clock;
    tick.samples = 1;
    BoundedQueue<std::vector<PartOutcome>> answer(1);
    host.Tick(who.caller, tick, parts,
              [&](std::vector<PartOutcome> outcomes) { answer.Push(std::move(outcomes)); });
    return *answer.Pop();
  }

  TimerQueue timers;
  SlotHost host;

 private:
  uint64_t sessions_ = 0;
};

// Where a pull's answer arrives.
struct PullTicket {
  BoundedQueue<PullAnswer> answer{1};
  std::shared_ptr<PullHandle> handle;

  static std::shared_ptr<PullTicket> Start(TestHost& test, const HostPlayer& who,
                                           std::shared_ptr<const PullFrame> frame,
                                           SlotHost::ParkObserver observer = nullptr) {
    auto ticket = std::make_shared<PullTicket>();
    ticket->handle = test.host.Pull(
        who.caller, std::move(frame),
        [ticket](PullAnswer got) { ticket->answer.Push(std::move(got)); }, std::move(observer));
    return ticket;
  }
  PullAnswer Wait() { return *answer.Pop(); }
};

inline std::vector<float> Floats(const ByteView& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  bytes.CopyTo(0, {reinterpret_cast<uint8_t*>(values.data()), bytes.size()});
  return values;
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SERVER_EXECUTOR_HOST_FIXTURE_H_
