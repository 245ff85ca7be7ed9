#include "tests/server/executor/plain_slot.h"

#include <algorithm>

namespace syncline {

using State = PlainSession::State;

int64_t PlainSlot::Join(int rank, bool clocked, int64_t at) {
  PlainSession session;
  session.rank = rank;
  session.clocked = clocked;
  session.joined_at = session.clock = clocked ? std::max({at, min_clock_, oldest_}) : 0;
  sessions_.push_back(session);
  Settle();
  return session.clock;
}

void PlainSlot::SetClock(size_t session, int64_t clock) {
  PlainSession& s = sessions_[session];
  s.clock = std::max(s.clock, clock);
  s.joined_at = s.clock;
  Settle();
}

void PlainSlot::Fence(size_t session) {
  sessions_[session].state = State::kFenced;
  sessions_[session].accepted.clear();
  sessions_[session].ticked.clear();
  sessions_[session].last_tick = -1;
  Settle();
}

Outcome PlainSlot::Deliver(size_t index, uint64_t sequence, const PlainOp& op) {
  PlainSession& session = sessions_[index];
  if (session.state == State::kFenced) return Outcome::kGoneFenced;
  if (session.state == State::kLeft) return Outcome::kGoneSessionUnknown;
  const uint64_t last = session.outcomes.size();
  if (sequence + 64 <= last) return Outcome::kGoneAlreadyDecided;
  if (sequence <= last) return session.outcomes[sequence - 1];
  if (sequence > last + 1) return Outcome::kRetryOutOfOrder;
  const Outcome outcome = Decide(session, index, op);
  if (outcome == Outcome::kRetryNotReady) return outcome;
  session.outcomes.push_back(outcome);
  Settle();
  return outcome;
}

Outcome PlainSlot::Decide(PlainSession& session, size_t index, const PlainOp& op) {
  int64_t window = -1;
  for (const PlainTable& table : tables_) {
    if (table.kind == PlainTable::Kind::kRound) window = std::max(window, table.staleness + 1);
  }
  const bool too_far = window >= 0 && op.clock > oldest_ + window;
  switch (op.kind) {
    case PlainOp::Kind::kBadPush:
      return Outcome::kInvalid;
    case PlainOp::Kind::kPlaceholder:
      return Outcome::kCancelled;
    case PlainOp::Kind::kLeave:
      session.state = State::kLeft;
      return Outcome::kOk;
    case PlainOp::Kind::kTick:
      if (too_far) return Outcome::kRetryNotReady;
      for (int64_t round = op.clock; round < op.to; ++round) session.ticked.insert(round);
      session.last_tick = op.clock;
      session.clock = op.to;
      return Outcome::kOk;
    case PlainOp::Kind::kPush:
      break;
  }
  if (tables_[op.table].kind != PlainTable::Kind::kRound) {
    Show(index, op);
    return Outcome::kOk;
  }
  if (op.clock < oldest_) return Outcome::kDropped;
  if (too_far) return Outcome::kRetryNotReady;
  session.accepted.push_back(op);
  return Outcome::kOk;
}

bool PlainSlot::Serves(const PlainRead& read) const {
  const PlainSession& session = sessions_[read.session];
  if (session.outcomes.size() < read.sequence) return false;
  if (!session.clocked) return true;
  if (!started()) return false;
  const PlainTable& table = tables_[read.table];
  if (table.kind == PlainTable::Kind::kAsync) return true;
  const int64_t reached = table.kind == PlainTable::Kind::kRound ? oldest_ : min_clock_;
  return reached >= read.clock - table.staleness;
}

bool PlainSlot::started() const {
  std::set<int> joined;
  for (const PlainSession& s : sessions_) {
    if (s.clocked && s.rank < ranks_) joined.insert(s.rank);
  }
  return joined.size() == static_cast<size_t>(ranks_);
}

PlainSlot::Shown PlainSlot::ShownOf(size_t table, uint64_t row, size_t session) const {
  const auto entry = shown_.find({table, row, session});
  return entry == shown_.end() ? Shown() : entry->second;
}

void PlainSlot::Show(size_t session, const PlainOp& op) {
  Shown& shown = shown_[{op.table, op.row, session}];
  shown.count += 1;
  shown.sum += op.k;
  shown.squares += op.k * op.k;
}

bool PlainSlot::EveryLiveRankEnded(int64_t round) const {
  bool anybody = false;
  bool ticked_later = false;
  for (const PlainSession& s : sessions_) {
    ticked_later = ticked_later || s.last_tick >= round;
    if (s.state != State::kLive || !s.clocked) continue;
    anybody = true;
    if (round >= s.joined_at && !s.ticked.contains(round)) return false;
  }
  return anybody || ticked_later;
}

void PlainSlot::Settle() {
  if (!started()) return;
  while (EveryLiveRankEnded(oldest_)) {
    for (size_t i = 0; i < sessions_.size(); ++i) {
      if (!sessions_[i].ticked.contains(oldest_)) continue;
      for (const PlainOp& op : sessions_[i].accepted) {
        if (op.clock == oldest_) Show(i, op);
      }
    }
    ++oldest_;
  }
  int64_t least = -1;
  for (const PlainSession& s : sessions_) {
    if (s.state != State::kLive || !s.clocked) continue;
    if (least < 0 || s.clock < least) least = s.clock;
  }
  min_clock_ = std::max(min_clock_, least);
}

}  // namespace syncline
