#include "server/storage/memory_storage.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/hash.h"
#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

constexpr size_t kBucketsMin = 8;
// The smallest chunk: many tables hold a handful of rows in each slot. Four rows, or one where four
// would waste more than the bookkeeping of a chunk costs.
constexpr unsigned kSmallRowFirstChunkLog = 2;
constexpr size_t kSmallRowBytes = 512;
// Chunks of one size before the size doubles. The slack is then at most an eighth.
constexpr unsigned kChunksPerStepLog = 3;

bool NeedsGrowth(size_t rows, size_t buckets) { return rows * 4 > buckets * 3; }

}  // namespace

MemoryStorage::MemoryStorage(const RowLayout& layout)
    : layout_(layout), first_chunk_log_(0), chunk_log_max_(0) {
  const size_t row_bytes = layout.stride() * sizeof(float);
  if (row_bytes <= kSmallRowBytes) first_chunk_log_ = kSmallRowFirstChunkLog;
  while (chunk_log_max_ < 20 &&
         (row_bytes << (first_chunk_log_ + chunk_log_max_ + 1)) <= kChunkBytesMax) {
    ++chunk_log_max_;
  }
}

void MemoryStorage::Find(std::span<const Key> keys, std::span<float*> rows) {
  SYNCLINE_CHECK(rows.size() == keys.size(), "rows must be as long as keys");
  if (size_ == 0) {
    std::fill(rows.begin(), rows.end(), nullptr);
    return;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const RowNumber number = row_numbers_[BucketOf(keys[i])];
    rows[i] = number == kNoRow ? nullptr : RowAt(number);
  }
}

void MemoryStorage::FindOrCreate(std::span<const Key> keys, std::span<float*> rows,
                                 std::span<uint8_t> created) {
  SYNCLINE_CHECK(rows.size() == keys.size() && created.size() == keys.size(),
                 "rows and created must be as long as keys");
  if (row_numbers_.empty() && !keys.empty()) GrowBuckets();
  for (size_t i = 0; i < keys.size(); ++i) {
    size_t bucket = BucketOf(keys[i]);
    created[i] = row_numbers_[bucket] == kNoRow ? 1 : 0;
    if (created[i] != 0) {
      if (NeedsGrowth(size_ + 1, row_numbers_.size())) {
        GrowBuckets();
        bucket = BucketOf(keys[i]);
      }
      bucket_keys_[bucket] = keys[i];
      row_numbers_[bucket] = TakeRow();
      ++size_;
    }
    rows[i] = RowAt(row_numbers_[bucket]);
  }
}

size_t MemoryStorage::Erase(std::span<const Key> keys) {
  size_t erased = 0;
  for (Key key : keys) erased += EraseOne(key) ? 1 : 0;
  return erased;
}

size_t MemoryStorage::memory_bytes() const {
  return chunk_bytes_ + chunks_.capacity() * sizeof(chunks_[0]) +
         bucket_keys_.capacity() * sizeof(Key) + row_numbers_.capacity() * sizeof(RowNumber);
}

void MemoryStorage::ForEachSorted(const RowVisitor& visit) const {
  std::vector<std::pair<Key, RowNumber>> order;
  order.reserve(size_);
  for (size_t b = 0; b < row_numbers_.size(); ++b) {
    if (row_numbers_[b] != kNoRow) order.emplace_back(bucket_keys_[b], row_numbers_[b]);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [key, number] : order) visit(key, {RowAt(number), layout_.stride()});
}

size_t MemoryStorage::HomeOf(Key key) const {
  return static_cast<size_t>((static_cast<unsigned __int128>(Mix64(key)) * row_numbers_.size()) >>
                             64);
}

size_t MemoryStorage::BucketOf(Key key) const {
  size_t bucket = HomeOf(key);
  while (row_numbers_[bucket] != kNoRow && bucket_keys_[bucket] != key) bucket = After(bucket);
  return bucket;
}

void MemoryStorage::GrowBuckets() {
  const size_t buckets = std::max(kBucketsMin, row_numbers_.size() + row_numbers_.size() / 2);
  std::vector<Key> old_keys = std::exchange(bucket_keys_, std::vector<Key>(buckets));
  std::vector<RowNumber> old_numbers =
      std::exchange(row_numbers_, std::vector<RowNumber>(buckets, kNoRow));
  for (size_t b = 0; b < old_numbers.size(); ++b) {
    if (old_numbers[b] == kNoRow) continue;
    const size_t bucket = BucketOf(old_keys[b]);
    bucket_keys_[bucket] = old_keys[b];
    row_numbers_[bucket] = old_numbers[b];
  }
}

// Moves later entries of the run back, so that no search meets a hole before its key.
void MemoryStorage::ClearBucket(size_t bucket) {
  const size_t buckets = row_numbers_.size();
  const auto distance = [buckets](size_t from, size_t to) {
    return to >= from ? to - from : to + buckets - from;
  };
  size_t hole = bucket;
  for (size_t b = After(hole); row_numbers_[b] != kNoRow; b = After(b)) {
    if (distance(HomeOf(bucket_keys_[b]), b) < distance(hole, b)) continue;
    bucket_keys_[hole] = bucket_keys_[b];
    row_numbers_[hole] = row_numbers_[b];
    hole = b;
  }
  row_numbers_[hole] = kNoRow;
}

// Chunks come in steps: 16 of the smallest, then 8 twice as large, 8 twice as large as those, ...
// up to the largest, which repeats.
MemoryStorage::Place MemoryStorage::PlaceOf(RowNumber number) const {
  const size_t unit = number >> first_chunk_log_;
  const int steps =
      static_cast<int>(std::bit_width(unit)) - static_cast<int>(kChunksPerStepLog) - 1;
  const unsigned log = std::min(chunk_log_max_, static_cast<unsigned>(std::max(0, steps)));
  const size_t chunk_rows = size_t{1} << (first_chunk_log_ + log);
  return {(size_t{log} << kChunksPerStepLog) + (unit >> log), number & (chunk_rows - 1),
          chunk_rows};
}

float* MemoryStorage::RowAt(RowNumber number) const {
  const Place place = PlaceOf(number);
  return chunks_[place.chunk].get() + place.offset * layout_.stride();
}

MemoryStorage::RowNumber MemoryStorage::TakeRow() {
  if (free_ != kNoRow) {
    const RowNumber number = free_;
    std::memcpy(&free_, RowAt(number), sizeof free_);
    return number;
  }
  SYNCLINE_CHECK(rows_made_ < kMaxRowsPerShard, "the caller keeps to kMaxRowsPerShard");
  const Place place = PlaceOf(rows_made_);
  if (place.chunk == chunks_.size()) {
    const size_t floats = place.chunk_rows * layout_.stride();
    chunks_.push_back(std::make_unique_for_overwrite<float[]>(floats));
    chunk_bytes_ += floats * sizeof(float);
  }
  return rows_made_++;
}

void MemoryStorage::ReturnRow(RowNumber number) {
  std::memcpy(RowAt(number), &free_, sizeof free_);
  free_ = number;
}

bool MemoryStorage::EraseOne(Key key) {
  if (size_ == 0) return false;
  const size_t bucket = BucketOf(key);
  if (row_numbers_[bucket] == kNoRow) return false;
  ReturnRow(row_numbers_[bucket]);
  ClearBucket(bucket);
  --size_;
  return true;
}

}  // namespace syncline
