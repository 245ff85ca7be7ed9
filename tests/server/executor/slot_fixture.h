// A slot with players: small verbs for tests of SlotCore.
#ifndef SYNCLINE_TESTS_SERVER_EXECUTOR_SLOT_FIXTURE_H_
#define SYNCLINE_TESTS_SERVER_EXECUTOR_SLOT_FIXTURE_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "server/executor/slot_core.h"

namespace syncline {

// Four little-endian bytes a float; independent of the product's codecs.
class PlainCodec final : public Codec {
 public:
  CodecId id() const override { return CodecId::kFp32; }
  std::string_view name() const override { return "fp32"; }
  size_t EncodedRowBytes(size_t dim) const override { return dim * 4; }
  void Encode(std::span<const float> rows, size_t, std::span<uint8_t> out) const override {
    if (!out.empty()) std::memcpy(out.data(), rows.data(), out.size());
  }
  absl::Status Decode(std::span<const uint8_t> bytes, size_t,
                      std::span<float> rows) const override {
    if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), bytes.size());
    return absl::OkStatus();
  }
};

inline const PlainCodec kPlain;
inline constexpr JobId kJob{1};
inline constexpr TableId kTable{1};

struct Player {
  Caller caller;
  Sequence last;  // of the operations sent
  Clock clock;
};

inline ConsistencyPolicy Ssp(int64_t staleness) {
  return {ConsistencyMode::kSsp, Staleness(staleness), ApplyMode::kImmediate};
}
inline ConsistencyPolicy Rounds(int64_t staleness) {
  if (staleness == 0) return {ConsistencyMode::kBsp, Staleness(0), ApplyMode::kRound};
  return {ConsistencyMode::kSsp, Staleness(staleness), ApplyMode::kRound};
}
inline ConsistencyPolicy Async() {
  return {ConsistencyMode::kAsync, Staleness(0), ApplyMode::kImmediate};
}

class TestSlot {
 public:
  explicit TestSlot(int32_t ranks = 1, bool reproducible = false, Incarnation incarnation = kFirst)
      : core(SlotId(0), incarnation, 1), incarnation_(incarnation) {
    core.DeclareJob({kJob, "job", ranks, reproducible});
  }

  // A table of one slot whose weights start at zero; plain SGD with learning rate 1, so that a push
  // of g subtracts g / divisor.
  static TableInfo Spec(TableId id, ConsistencyPolicy policy, Reduce reduce = Reduce::kSum,
                        uint32_t dim = 1) {
    TableInfo info{id, kJob, {}};
    info.spec.name = "t" + std::to_string(id.value());
    info.spec.dim = dim;
    info.spec.optimizer = {"sgd", {{"lr", 1.0}}};
    info.spec.consistency = policy;
    info.spec.reduce = reduce;
    return info;
  }
  void Make(const TableInfo& info) { EXPECT_TRUE(core.CreateTable(info).ok()); }
  void Make(ConsistencyPolicy policy, Reduce reduce = Reduce::kSum) {
    Make(Spec(kTable, policy, reduce));
  }

  Player Join(int32_t rank, Clock at = Clock(0)) {
    Player player = Declare();
    player.clock = core.InstallSession(
        {player.caller.session, player.caller.token, kJob, Rank(rank), true, {"worker"}}, at,
        effects);
    return player;
  }
  Player JoinClockless() {
    Player player = Declare();
    core.InstallSession(
        {player.caller.session, player.caller.token, kJob, kNoRank, false, {"worker"}}, Clock(0),
        effects);
    return player;
  }

  // An operation with the player's next number; a retryable answer leaves the number free.
  PartOutcome Push(Player& who, Key key, float value, TableId table = kTable,
                   uint64_t samples = 1) {
    return PushAt(who, who.last.Next(), {key}, {value}, table, samples);
  }
  PartOutcome PushAt(Player& who, Sequence sequence, std::vector<Key> keys,
                     const std::vector<float>& values, TableId table = kTable,
                     uint64_t samples = 1) {
    PushOperation push = Operation(who, sequence, table, samples);
    push.keys = keys;
    std::vector<uint8_t> bytes(values.size() * 4);
    kPlain.Encode(values, 1, bytes);
    push.values = ByteView(bytes);
    return Send(who, push);
  }
  PushOperation Operation(const Player& who, Sequence sequence, TableId table = kTable,
                          uint64_t samples = 1) const {
    PushOperation push;
    push.incarnation = incarnation_;
    push.sequence = sequence;
    push.clock = who.clock;
    push.table = table;
    push.samples = samples;
    push.codec = &kPlain;
    return push;
  }
  PartOutcome Send(Player& who, const PushOperation& push) {
    return Note(who, push.sequence, core.Push(who.caller, push, effects));
  }

  // Ends the player's round and sets the next clock, or `to`.
  PartOutcome Tick(Player& who, uint64_t samples = 1) {
    return TickTo(who, who.clock + 1, samples);
  }
  PartOutcome TickTo(Player& who, Clock to, uint64_t samples = 1) {
    const TickOperation tick{incarnation_, who.last.Next(),      to, Round(who.clock.value()),
                             samples,      Outcome::kUnspecified};
    const PartOutcome answer = Send(who, tick);
    if (IsFinal(answer.outcome)) who.clock = to;
    return answer;
  }
  PartOutcome Send(Player& who, const TickOperation& tick) {
    return Note(who, tick.sequence, core.Tick(who.caller, tick, effects));
  }
  PartOutcome Leave(Player& who) {
    return Note(who, who.last.Next(),
                core.Leave(who.caller, incarnation_, who.last.Next(), effects));
  }
  void Fence(const Player& who) { core.Fence(who.caller.session, effects); }

  // Asks for a read in `clock` that contains the player's operations up to `sequence`.
  absl::StatusOr<bool> Ask(const Player& who, ReadId id, Clock clock, TableId table = kTable) {
    return AskAfter(who, id, clock, who.last, table);
  }
  absl::StatusOr<bool> AskAfter(const Player& who, ReadId id, Clock clock, Sequence sequence,
                                TableId table = kTable) {
    return core.AskRead(who.caller, {id, incarnation_, sequence, clock, table});
  }
  absl::StatusOr<bool> Ask(const Player& who, ReadId id) { return Ask(who, id, who.clock); }

  // Reads released since the last call, which must all be OK.
  std::vector<ReadId> Served() {
    std::vector<ReadId> ids;
    for (const ReleasedRead& read : effects.released) {
      EXPECT_TRUE(read.status.ok()) << read.status.ToString();
      ids.push_back(read.id);
    }
    effects.released.clear();
    return ids;
  }
  std::vector<ReleasedRead> Released() { return std::exchange(effects.released, {}); }

  float Value(Key key, TableId table = kTable) const {
    const auto row = core.FindRow(table, key);
    return row ? row->weights[0] : 0.0f;
  }
  SlotCore::JobView View() const { return core.Jobs().at(0); }
  Clock min_clock() const { return View().min_clock; }
  Round oldest() const { return View().oldest_round; }

  static constexpr Incarnation kFirst{1};
  SlotCore core;
  Effects effects;

 private:
  Player Declare() {
    ++declared_;
    return {{SessionId{0, declared_}, Token(declared_), {"worker"}}, Sequence(0), Clock(0)};
  }
  static PartOutcome Note(Player& who, Sequence sequence, PartOutcome answer) {
    if (IsFinal(answer.outcome) && sequence > who.last) who.last = sequence;
    return answer;
  }

  Incarnation incarnation_;
  uint64_t declared_ = 0;
};

MATCHER_P(Is, outcome, "") {
  *result_listener << "which is outcome " << static_cast<int>(arg.outcome) << ", "
                   << arg.error.ToString();
  return arg.outcome == outcome;
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SERVER_EXECUTOR_SLOT_FIXTURE_H_
