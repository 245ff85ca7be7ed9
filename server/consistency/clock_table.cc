#include "server/consistency/clock_table.h"

#include <algorithm>

namespace syncline {

void ClockTable::Declare(int32_t ranks) {
  if (declared_) return;
  declared_ = true;
  joined_.assign(static_cast<size_t>(std::max(ranks, 0)), false);
  for (Rank rank : early_) MarkJoined(rank);
  early_.clear();
  Refresh();
}

void ClockTable::MarkJoined(Rank rank) {
  if (!declared_) {
    early_.push_back(rank);
    return;
  }
  if (rank.value() < 0 || static_cast<size_t>(rank.value()) >= joined_.size()) return;
  auto bit = joined_.begin() + rank.value();
  if (*bit) return;
  *bit = true;
  ++joined_count_;
}

Clock ClockTable::Install(SessionId session, Rank rank, Clock join) {
  const Clock clock = std::max(join, min_clock_);
  const auto [entry, added] = clocks_.try_emplace(session, clock);
  if (!added) return entry->second;
  Count(clock, +1);
  MarkJoined(rank);
  Refresh();
  return clock;
}

void ClockTable::Raise(SessionId session, Clock clock) {
  const auto entry = clocks_.find(session);
  if (entry == clocks_.end() || clock <= entry->second) return;
  Count(entry->second, -1);
  entry->second = clock;
  Count(clock, +1);
  Refresh();
}

void ClockTable::Remove(SessionId session) {
  const auto entry = clocks_.find(session);
  if (entry == clocks_.end()) return;
  Count(entry->second, -1);
  clocks_.erase(entry);
  Refresh();
}

std::optional<Clock> ClockTable::least_live() const {
  if (holders_.empty()) return std::nullopt;
  return holders_.begin()->first;
}

std::optional<Clock> ClockTable::ClockOf(SessionId session) const {
  const auto entry = clocks_.find(session);
  if (entry == clocks_.end()) return std::nullopt;
  return entry->second;
}

void ClockTable::Count(Clock clock, int change) {
  if (change > 0) {
    ++holders_[clock];
    return;
  }
  const auto holder = holders_.find(clock);
  if (--holder->second == 0) holders_.erase(holder);
}

void ClockTable::Refresh() {
  if (started() && !holders_.empty()) min_clock_ = std::max(min_clock_, holders_.begin()->first);
}

}  // namespace syncline
