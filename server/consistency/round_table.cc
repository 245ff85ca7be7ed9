#include "server/consistency/round_table.h"

#include <algorithm>
#include <utility>

#include "common/status/status.h"

namespace syncline {

RoundTable::~RoundTable() { Clear(); }

void RoundTable::Clear() {
  for (const auto& [round, contributions] : open_) {
    for (const auto& [who, contribution] : contributions) Release(contribution);
  }
  open_.clear();
}

void RoundTable::AddTable(Staleness staleness) {
  largest_staleness_ = std::max(largest_staleness_.value_or(staleness), staleness);
}

RoundTable::Place RoundTable::PlaceOf(Round round) const {
  if (round < oldest_) return Place::kClosed;
  if (!largest_staleness_) return Place::kOpen;
  const int64_t ahead = round - oldest_;
  return ahead > largest_staleness_->value() + 1 ? Place::kBeyondWindow : Place::kOpen;
}

bool RoundTable::HasRoomFor(size_t rows, size_t dim) const {
  const size_t free = memory_.cap - std::min(memory_.used, memory_.cap);
  return BytesOf(rows, dim) <= free;
}

void RoundTable::Add(Contributor who, Round round, TableId table, size_t dim,
                     std::span<const Key> keys, std::span<const float> gradients) {
  if (keys.empty()) return;
  SYNCLINE_CHECK(gradients.size() == keys.size() * dim, "a gradient of the wrong size");
  Part part{table, dim, {keys.begin(), keys.end()}, {gradients.begin(), gradients.end()}};
  open_[round][who].parts.push_back(std::move(part));
  memory_.used += BytesOf(keys.size(), dim);
}

void RoundTable::EndRound(Contributor who, Round round, uint64_t samples) {
  // Without round tables ticks are kept only so that a table made in a moment finds them; a job
  // that runs far apart (async) must not pile them up.
  const bool keep =
      largest_staleness_.has_value() || round - oldest_ < static_cast<int64_t>(kOutcomeWindow);
  if (!keep) return;
  Contribution& contribution = open_[round][who];
  contribution.ticked = true;
  contribution.samples = samples;
}

void RoundTable::Discard(Contributor who, Round round) {
  Forget(who, [round](Round at, const Contribution&) { return at == round; });
}

void RoundTable::Fence(Contributor who) {
  Forget(who, [](Round, const Contribution&) { return true; });
}

void RoundTable::Leave(Contributor who) {
  Forget(who, [](Round, const Contribution& contribution) { return !contribution.ticked; });
}

std::optional<ClosedRound> RoundTable::CloseNext(Round limit) {
  if (open_.empty() || open_.begin()->first >= limit) {
    oldest_ = std::max(oldest_, limit);
    return std::nullopt;
  }
  const auto node = open_.extract(open_.begin());
  ClosedRound closed;
  closed.round = node.key();
  oldest_ = std::max(oldest_, node.key().Next());
  std::map<TableId, Parts> by_table;
  for (const auto& [who, contribution] : node.mapped()) {  // ascending: rank order (R1)
    Release(contribution);
    if (!contribution.ticked) continue;  // R2
    closed.samples += contribution.samples;
    for (const Part& part : contribution.parts) by_table[part.table].push_back(&part);
  }
  if (closed.samples == 0) return closed;  // steps nothing (R1)
  for (const auto& [table, parts] : by_table) closed.tables.push_back(SumOf(table, parts));
  return closed;
}

std::optional<Round> RoundTable::last_ticked() const {
  for (auto round = open_.rbegin(); round != open_.rend(); ++round) {
    for (const auto& [who, contribution] : round->second) {
      if (contribution.ticked) return round->first;
    }
  }
  return std::nullopt;
}

size_t RoundTable::BytesOf(size_t rows, size_t dim) {
  return rows * (sizeof(Key) + dim * sizeof(float));
}

// Adds rows of equal keys one after the other in the order of `parts`, so that the bits of the sum
// depend on ranks alone and not on who came first.
TableSum RoundTable::SumOf(TableId table, const Parts& parts) {
  struct Row {
    Key key;
    const float* gradient;
  };
  std::vector<Row> rows;
  const size_t dim = parts.front()->dim;
  for (const Part* part : parts) {
    for (size_t i = 0; i < part->keys.size(); ++i) {
      rows.push_back({part->keys[i], part->gradients.data() + i * dim});
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.key < b.key; });
  TableSum sum{table, {}, {}};
  for (const Row& row : rows) {
    if (sum.keys.empty() || sum.keys.back() != row.key) {
      sum.keys.push_back(row.key);
      sum.sums.insert(sum.sums.end(), row.gradient, row.gradient + dim);
      continue;
    }
    float* total = sum.sums.data() + (sum.sums.size() - dim);
    for (size_t j = 0; j < dim; ++j) total[j] += row.gradient[j];
  }
  return sum;
}

void RoundTable::Release(const Contribution& contribution) {
  for (const Part& part : contribution.parts) memory_.used -= BytesOf(part.keys.size(), part.dim);
}

template <typename Predicate>
void RoundTable::Forget(Contributor who, Predicate predicate) {
  for (auto round = open_.begin(); round != open_.end();) {
    const auto entry = round->second.find(who);
    if (entry != round->second.end() && predicate(round->first, entry->second)) {
      Release(entry->second);
      round->second.erase(entry);
    }
    round = round->second.empty() ? open_.erase(round) : std::next(round);
  }
}

}  // namespace syncline
