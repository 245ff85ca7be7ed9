#include "server/consistency/admission.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

// A test build defines this to show that its checks notice a bound that is off by one.
#ifdef SYNCLINE_MUTANT_SERVE_EARLY
constexpr int64_t kServedEarlyBy = 1;
#else
constexpr int64_t kServedEarlyBy = 0;
#endif

// Below every level that a read can need: waits for the start alone.
constexpr int64_t kNoLevel = std::numeric_limits<int64_t>::min();

}  // namespace

ReadNeed NeedOf(const ConsistencyPolicy& policy, bool clocked, Clock reader_clock,
                Sequence sequence) {
  ReadNeed need;
  need.sequence = sequence;
  if (!clocked) return need;
  if (policy.mode == ConsistencyMode::kAsync) {
    need.gate = ReadNeed::Gate::kStart;
    return need;
  }
  need.gate =
      policy.apply == ApplyMode::kRound ? ReadNeed::Gate::kRound : ReadNeed::Gate::kMinClock;
  const int64_t clock = std::max<int64_t>(reader_clock.value(), 0);
  need.level = clock - policy.staleness.value() - kServedEarlyBy;
  return need;
}

absl::StatusOr<bool> Admission::Ask(ReadId id, SessionId reader, Sequence decided,
                                    const ReadNeed& need) {
  const bool waits_for_sequence = decided < need.sequence;
  if (!waits_for_sequence && GateOpen(need)) return true;
  Reader& queue = readers_[reader];
  if (queue.parked >= kMaxParkedReadsPerSession) {
    return MakeError(absl::StatusCode::kResourceExhausted, Detail::kOverloaded,
                     "session {} has {} reads parked in this slot; wait for one and retry",
                     reader.ToString(), queue.parked);
  }
  const uint64_t arrival = arrivals_++;
  SYNCLINE_CHECK(parked_.emplace(id, Parked{reader, need, arrival, waits_for_sequence}).second,
                 "two parked reads have the same id");
  ++queue.parked;
  if (waits_for_sequence) {
    queue.by_sequence.emplace(need.sequence, arrival, id);
  } else {
    QueueOf(need).emplace(LevelIn(need), arrival, id);
  }
  return false;
}

std::vector<ReadId> Admission::Advance(const Progress& progress) {
  progress_ = progress;
  Released released;
  if (progress_.started) {
    ReleaseUpTo(by_min_clock_, progress_.min_clock.value(), released);
    ReleaseUpTo(by_round_, progress_.oldest_round.value(), released);
  }
  return OldestFirst(std::move(released));
}

std::vector<ReadId> Admission::Decide(SessionId session, Sequence last) {
  Released released;
  const auto entry = readers_.find(session);
  if (entry == readers_.end()) return {};
  auto& waiting = entry->second.by_sequence;
  while (!waiting.empty() && std::get<Sequence>(*waiting.begin()) <= last) {
    const auto [sequence, arrival, id] = *waiting.begin();
    waiting.erase(waiting.begin());
    Parked& read = parked_.at(id);
    read.waits_for_sequence = false;
    if (GateOpen(read.need)) {
      released.emplace_back(arrival, id);
    } else {
      QueueOf(read.need).emplace(LevelIn(read.need), arrival, id);
    }
  }
  for (const auto& [arrival, id] : released) Forget(id);
  return OldestFirst(std::move(released));
}

std::vector<ReadId> Admission::Drop(SessionId session) {
  Released dropped;
  for (const auto& [id, read] : parked_) {
    if (read.reader == session) dropped.emplace_back(read.arrival, id);
  }
  for (const auto& [arrival, id] : dropped) Cancel(id);
  return OldestFirst(std::move(dropped));
}

std::vector<ReadId> Admission::DropAll() {
  Released dropped;
  for (const auto& [id, read] : parked_) dropped.emplace_back(read.arrival, id);
  for (const auto& [arrival, id] : dropped) Cancel(id);
  return OldestFirst(std::move(dropped));
}

void Admission::Cancel(ReadId id) {
  const auto entry = parked_.find(id);
  if (entry == parked_.end()) return;
  const Parked& read = entry->second;
  if (read.waits_for_sequence) {
    readers_.at(read.reader).by_sequence.erase({read.need.sequence, read.arrival, id});
  } else {
    QueueOf(read.need).erase({LevelIn(read.need), read.arrival, id});
  }
  Forget(id);
}

bool Admission::GateOpen(const ReadNeed& need) const {
  switch (need.gate) {
    case ReadNeed::Gate::kOpen:
      return true;
    case ReadNeed::Gate::kStart:
      return progress_.started;
    case ReadNeed::Gate::kMinClock:
      return progress_.started && progress_.min_clock.value() >= need.level;
    case ReadNeed::Gate::kRound:
      return progress_.started && progress_.oldest_round.value() >= need.level;
  }
  return false;
}

Admission::Queue& Admission::QueueOf(const ReadNeed& need) {
  return need.gate == ReadNeed::Gate::kRound ? by_round_ : by_min_clock_;
}

int64_t Admission::LevelIn(const ReadNeed& need) {
  return need.gate == ReadNeed::Gate::kStart ? kNoLevel : need.level;
}

void Admission::ReleaseUpTo(Queue& queue, int64_t level, Released& out) {
  while (!queue.empty() && std::get<0>(*queue.begin()) <= level) {
    const auto [need, arrival, id] = *queue.begin();
    queue.erase(queue.begin());
    out.emplace_back(arrival, id);
    Forget(id);
  }
}

// The caller has taken the read out of its queue.
void Admission::Forget(ReadId id) {
  const auto entry = parked_.find(id);
  const auto reader = readers_.find(entry->second.reader);
  if (--reader->second.parked == 0) readers_.erase(reader);
  parked_.erase(entry);
}

std::vector<ReadId> Admission::OldestFirst(Released released) {
  std::sort(released.begin(), released.end());
  std::vector<ReadId> ids;
  ids.reserve(released.size());
  for (const auto& [arrival, id] : released) ids.push_back(id);
  return ids;
}

}  // namespace syncline
