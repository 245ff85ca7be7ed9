#include "tests/server/executor/slot_history.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "fmt/format.h"

#include "common/random.h"
#include "tests/server/executor/plain_slot.h"
#include "tests/server/executor/slot_fixture.h"

namespace syncline {
namespace {

using Kind = PlainOp::Kind;
using Shown = PlainSlot::Shown;

constexpr size_t kMaxSessions = 10;
constexpr size_t kMaxRanks = 3;  // room for them is kept, so that a history can end
constexpr uint64_t kRows = 3;
// Each session has three columns of a row: the count of its pushes, the sum of their numbers k, and
// the sum of k squared. Any lost, doubled or misplaced push breaks one of them.
constexpr uint32_t kColumns = 3;

struct Client {
  Player player;
  bool clocked = true;
  int64_t clock = 0;
  std::vector<PlainOp> issued;
  std::map<std::pair<size_t, uint64_t>, int64_t> pushes;  // by table and row
  std::map<std::vector<uint64_t>, int64_t> seen;          // by table, row, session: last count
  bool leaving = false;                                   // has sent its leave, its last operation
  bool over = false;                                      // left or fenced
};

class History {
 public:
  explicit History(const HistoryOptions& options)
      : options_(options),
        random_(options.seed),
        ranks_(1 + static_cast<int>(random_.Below(kMaxRanks))) {
    const auto staleness = [&] { return static_cast<int64_t>(random_.Below(3)); };
    tables_ = {{PlainTable::Kind::kImmediate, staleness()},
               {PlainTable::Kind::kAsync, 0},
               {PlainTable::Kind::kRound, staleness()}};
    model_.emplace(ranks_, tables_);
    slot_.emplace(ranks_);
    for (size_t i = 0; i < tables_.size(); ++i) slot_->Make(SpecOf(i));
  }

  HistoryReport Run() {
    for (int step = 0; step < options_.steps && Fine(); ++step) {
      Act();
      Compare();
    }
    if (Fine()) Drain();
    return report_;
  }

 private:
  static TableId IdOf(size_t table) { return TableId(static_cast<uint32_t>(table + 1)); }

  TableInfo SpecOf(size_t table) const {
    const PlainTable& plain = tables_[table];
    const ConsistencyPolicy policy = plain.kind == PlainTable::Kind::kAsync ? Async()
                                     : plain.kind == PlainTable::Kind::kRound
                                         ? Rounds(plain.staleness)
                                         : Ssp(plain.staleness);
    return TestSlot::Spec(IdOf(table), policy, Reduce::kSum, kColumns * kMaxSessions);
  }

  bool Fine() const { return report_.difference.empty(); }
  void Differ(std::string what) {
    if (options_.compare_with_model && Fine()) report_.difference = std::move(what);
  }

  void Act() {
    const uint64_t dice = random_.Below(100);
    if (dice < 4 || clients_.empty()) return JoinAnyone();
    const size_t who = random_.Below(clients_.size());
    if (dice < 40) return Issue(who);
    if (dice < 75) return DeliverSome(who);
    if (dice < 96) return AskRead(who);
    if (dice < 98) return CancelSome();
    if (random_.Below(3) == 0) FenceOne(who);
  }

  // S1: a rank has one live session at a time.
  void JoinAnyone() {
    if (clients_.size() + kMaxRanks >= kMaxSessions) return;
    const int rank = static_cast<int>(random_.Below(static_cast<uint64_t>(ranks_) + 2));
    if (rank > ranks_) return Join(-1);
    for (size_t i = 0; i < clients_.size(); ++i) {
      if (!clients_[i].over && model_->sessions()[i].rank == rank) return;
    }
    Join(rank);
  }

  void Join(int rank) {
    Client client;
    client.clocked = rank >= 0;
    const auto at = static_cast<int64_t>(random_.Below(3));
    client.player = client.clocked ? slot_->Join(rank, Clock(at)) : slot_->JoinClockless();
    client.clock = model_->Join(rank, client.clocked, at);
    if (client.clocked && client.player.clock.value() != client.clock) Differ("join clock");
    // Step two: another slot answered a higher clock (C5).
    if (client.clocked && random_.Below(4) == 0) {
      client.clock += static_cast<int64_t>(random_.Below(3));
      slot_->core.SetSessionClock(client.player.caller.session, Clock(client.clock),
                                  slot_->effects);
      model_->SetClock(clients_.size(), client.clock);
    }
    clients_.push_back(std::move(client));
  }

  void Issue(size_t who) {
    Client& client = clients_[who];
    const size_t decided = model_->sessions()[who].outcomes.size();
    if (client.over || client.leaving || client.issued.size() - decided >= 63) return;  // S4
    PlainOp op;
    op.clock = client.clock;
    const uint64_t dice = random_.Below(100);
    if (dice < 3) {
      if (client.issued.size() != decided) return;  // S4: a leave comes after every answer
      op.kind = Kind::kLeave;
      client.leaving = true;
    } else if (dice < 8) {
      op.kind = dice < 6 ? Kind::kBadPush : Kind::kPlaceholder;
    } else if (dice < 40) {
      if (!client.clocked) return;
      op.kind = Kind::kTick;
      op.to = client.clock + 1 + (random_.Below(10) == 0 ? 2 : 0);
      client.clock = op.to;
    } else {
      op.table = random_.Below(client.clocked ? tables_.size() : 2);
      op.row = random_.Below(kRows);
      op.k = ++client.pushes[{op.table, op.row}];
    }
    client.issued.push_back(op);
  }

  // Mostly the operation that comes next, sometimes an old one again or one too early.
  void DeliverSome(size_t who) {
    const Client& client = clients_[who];
    if (client.issued.empty()) return;
    const uint64_t next = model_->sessions()[who].outcomes.size() + 1;
    uint64_t sequence = next;
    if (random_.Below(3) == 0) sequence = 1 + random_.Below(client.issued.size());
    if (sequence <= client.issued.size()) Deliver(who, sequence);
  }

  void Deliver(size_t who, uint64_t sequence) {
    Client& client = clients_[who];
    const PlainOp& op = client.issued[sequence - 1];
    const Outcome got = Send(who, Sequence(sequence), op);
    const Outcome want = model_->Deliver(who, sequence, op);
    if (got != want) {
      Differ(fmt::format("session {} operation {}: outcome {}, the model says {}", who, sequence,
                         static_cast<int>(got), static_cast<int>(want)));
    }
    if (IsRetry(got)) ++report_.retried;
    if (op.kind == Kind::kLeave && got == Outcome::kOk) EndClient(who);
  }

  Outcome Send(size_t who, Sequence sequence, const PlainOp& op) {
    Player& player = clients_[who].player;
    player.clock = Clock(op.clock);
    switch (op.kind) {
      case Kind::kTick:
        return slot_
            ->Send(player, TickOperation{TestSlot::kFirst, sequence, Clock(op.to), Round(op.clock),
                                         1, Outcome::kUnspecified})
            .outcome;
      case Kind::kLeave:
        return slot_->core.Leave(player.caller, TestSlot::kFirst, sequence, slot_->effects).outcome;
      case Kind::kBadPush:
        return slot_->PushAt(player, sequence, {2, 1}, {}, IdOf(0)).outcome;
      case Kind::kPlaceholder: {
        PushOperation push = slot_->Operation(player, sequence);
        push.placeholder = Outcome::kCancelled;
        return slot_->Send(player, push).outcome;
      }
      case Kind::kPush:
        break;
    }
    std::vector<float> gradient(kColumns * kMaxSessions);
    gradient[who * kColumns] = -1;
    gradient[who * kColumns + 1] = -static_cast<float>(op.k);
    gradient[who * kColumns + 2] = -static_cast<float>(op.k * op.k);
    return slot_->PushAt(player, sequence, {op.row}, gradient, IdOf(op.table)).outcome;
  }

  void AskRead(size_t who) {
    const Client& client = clients_[who];
    if (client.over) return;
    PlainRead read;
    read.session = who;
    read.table = random_.Below(tables_.size());
    read.row = random_.Below(kRows);
    read.clock = client.clock;
    read.sequence =
        random_.Below(3) == 0 ? client.issued.size() : random_.Below(client.issued.size() + 1);
    const ReadId id = ++reads_;
    const auto served = slot_->core.AskRead(
        client.player.caller,
        {id, TestSlot::kFirst, Sequence(read.sequence), Clock(read.clock), IdOf(read.table)});
    if (!served.ok()) return;  // 64 are parked
    if (*served != model_->Serves(read)) Differ(fmt::format("read {}: served {}", id, *served));
    if (*served) {
      Judge(read);
    } else {
      ++report_.parked;
      parked_.emplace(id, read);
    }
  }

  void CancelSome() {
    if (parked_.empty()) return;
    auto read = parked_.begin();
    std::advance(read, random_.Below(parked_.size()));
    slot_->core.CancelRead(read->first);
    parked_.erase(read);
  }

  void FenceOne(size_t who) {
    if (clients_[who].over) return;
    slot_->Fence(clients_[who].player);
    model_->Fence(who);
    EndClient(who);
  }

  // Its parked reads must come back with an error, and no others may.
  void EndClient(size_t who) {
    clients_[who].over = true;
    for (auto read = parked_.begin(); read != parked_.end();) {
      if (read->second.session != who) {
        ++read;
        continue;
      }
      ended_.insert(read->first);
      read = parked_.erase(read);
    }
  }

  void Compare() {
    for (const ReleasedRead& released : slot_->Released()) TakeRelease(released);
    if (!ended_.empty()) Differ("the reads of an ended session did not come back");
    for (const auto& [id, read] : parked_) {
      if (model_->Serves(read)) Differ(fmt::format("read {} is forgotten", id));
    }
    const SlotCore::JobView view = slot_->View();
    if (view.started != model_->started()) Differ("start barrier");
    if (view.min_clock.value() != model_->min_clock()) Differ("min clock");
    if (view.oldest_round.value() != model_->oldest()) {
      Differ(fmt::format("oldest round {}, the model says {}", view.oldest_round.value(),
                         model_->oldest()));
    }
    if (slot_->core.parked_reads() != parked_.size()) Differ("number of parked reads");
  }

  void TakeRelease(const ReleasedRead& released) {
    if (!released.status.ok()) {
      if (ended_.erase(released.id) == 0) Differ("a read came back with an error");
      return;
    }
    const auto read = parked_.find(released.id);
    if (read == parked_.end()) return Differ("a read came back that nobody waits for");
    if (!model_->Serves(read->second)) Differ(fmt::format("read {} is early", released.id));
    Judge(read->second);
    parked_.erase(read);
  }

  std::vector<Shown> Look(SessionId reader, size_t table, uint64_t row) {
    std::vector<float> out(kColumns * kMaxSessions);
    const Key key = row;
    if (!slot_->core.Gather(reader, IdOf(table), {&key, 1}, true, out, out.size()).ok()) {
      Differ("gather failed");
    }
    std::vector<Shown> shown(clients_.size());
    for (size_t q = 0; q < shown.size(); ++q) {
      shown[q] = {static_cast<int64_t>(out[q * kColumns]),
                  static_cast<int64_t>(out[q * kColumns + 1]),
                  static_cast<int64_t>(out[q * kColumns + 2])};
    }
    return shown;
  }

  void Violate(const PlainRead& read, std::string what) {
    report_.violations.push_back(fmt::format("session {} in clock {} reads table {} row {}: {}",
                                             read.session, read.clock, read.table, read.row, what));
  }

  void Judge(const PlainRead& read) {
    ++report_.served;
    Client& reader = clients_[read.session];
    const std::vector<Shown> shown = Look(reader.player.caller.session, read.table, read.row);
    for (size_t q = 0; q < shown.size(); ++q) {
      if (shown[q] != model_->ShownOf(read.table, read.row, q)) Differ("contents of a row");
      const int64_t n = shown[q].count;
      if (shown[q].sum != n * (n + 1) / 2 || shown[q].squares != n * (n + 1) * (2 * n + 1) / 6) {
        Violate(read, fmt::format("pushes of session {} are no prefix", q));  // I2
      }
      int64_t& before = reader.seen[{read.table, read.row, q}];
      if (n < before) Violate(read, fmt::format("session {} goes back", q));  // I4
      before = n;
      JudgeBound(read, q, n);
    }
    JudgeOwn(read, shown[read.session].count);
  }

  // I1, and I11 for a reader that is still in the clock it reads for.
  void JudgeBound(const PlainRead& read, size_t q, int64_t count) {
    const PlainTable& table = tables_[read.table];
    const PlainSession& writer = model_->sessions()[q];
    if (!clients_[read.session].clocked || !writer.clocked) return;
    if (writer.state == PlainSession::State::kFenced || table.kind == PlainTable::Kind::kAsync) {
      return;
    }
    int64_t last = read.clock - table.staleness - 1;
    const bool rounds = table.kind == PlainTable::Kind::kRound;
    // Who left without ticking its last round has no part in it (R2).
    if (rounds) last = std::min(last, writer.clock - 1);
    const int64_t must = Pushes(q, read, last);
    if (count < must) {
      Violate(read, fmt::format("{} pushes of session {} of the {} it must", count, q, must));
    }
    if (count < Pushes(q, read, read.clock - table.staleness)) ++report_.as_stale_as_allowed;
    if (rounds && table.staleness == 0 && model_->sessions()[read.session].clock == read.clock &&
        count > Pushes(q, read, read.clock - 1)) {
      Violate(read, fmt::format("session {} shows a round that is not closed", q));
    }
  }

  // I3 on immediate tables: the read contains the operations that it names.
  void JudgeOwn(const PlainRead& read, int64_t count) {
    if (tables_[read.table].kind == PlainTable::Kind::kRound) return;
    int64_t own = 0;
    const auto& issued = clients_[read.session].issued;
    for (size_t i = 0; i < read.sequence; ++i) own += IsPush(issued[i], read) ? 1 : 0;
    if (count < own) Violate(read, "its own push is missing");
  }

  static bool IsPush(const PlainOp& op, const PlainRead& read) {
    return op.kind == Kind::kPush && op.table == read.table && op.row == read.row;
  }
  // Pushes that session q issued in clocks up to `clock`.
  int64_t Pushes(size_t q, const PlainRead& read, int64_t clock) const {
    int64_t n = 0;
    for (const PlainOp& op : clients_[q].issued) {
      if (IsPush(op, read) && op.clock <= clock) ++n;
    }
    return n;
  }

  // Everybody sends what is left, then leaves: nothing may stay undone or parked.
  void Drain() {
    for (int rank = 0; rank < ranks_; ++rank) {
      bool seen = false;
      for (const PlainSession& s : model_->sessions()) seen = seen || s.rank == rank;
      if (!seen) Join(rank);
    }
    Compare();
    for (int pass = 0; pass < 10'000 && Fine(); ++pass) {
      bool busy = false;
      for (size_t who = 0; who < clients_.size() && Fine(); ++who) {
        busy = DrainOne(who) || busy;
        Compare();
      }
      if (!busy) return CheckEnd();
    }
    Differ("the history never ends");
  }

  bool DrainOne(size_t who) {
    Client& client = clients_[who];
    if (client.over) return false;
    if (model_->sessions()[who].outcomes.size() == client.issued.size()) {
      PlainOp leave;
      leave.kind = Kind::kLeave;
      leave.clock = client.clock;
      client.issued.push_back(leave);
    }
    Deliver(who, model_->sessions()[who].outcomes.size() + 1);
    return true;
  }

  void CheckEnd() {
    if (!parked_.empty() || slot_->core.parked_reads() != 0) Differ("reads are parked for ever");
    for (size_t table = 0; table < tables_.size(); ++table) {
      for (uint64_t row = 0; row < kRows; ++row) CheckRow(table, row);
    }
  }

  // Exactly once: whoever left has every push of an immediate table in the row.
  void CheckRow(size_t table, uint64_t row) {
    const auto view = slot_->core.FindRow(IdOf(table), row);
    for (size_t q = 0; q < clients_.size(); ++q) {
      const int64_t count = view ? static_cast<int64_t>(view->weights[q * kColumns]) : 0;
      if (count != model_->ShownOf(table, row, q).count) Differ("final contents");
      if (tables_[table].kind == PlainTable::Kind::kRound) continue;
      if (model_->sessions()[q].state != PlainSession::State::kLeft) continue;
      if (count != clients_[q].pushes[{table, row}]) Differ("not exactly once");
    }
  }

  HistoryOptions options_;
  SplitMix64 random_;
  int ranks_;
  std::vector<PlainTable> tables_;
  std::optional<PlainSlot> model_;
  std::optional<TestSlot> slot_;
  std::vector<Client> clients_;
  std::map<ReadId, PlainRead> parked_;
  std::set<ReadId> ended_;  // parked reads of sessions that ended, not back yet
  ReadId reads_ = 0;
  HistoryReport report_;
};

}  // namespace

HistoryReport RunSlotHistory(const HistoryOptions& options) { return History(options).Run(); }

}  // namespace syncline
