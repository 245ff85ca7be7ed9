// Rows in main memory.
#ifndef SYNCLINE_SERVER_STORAGE_MEMORY_STORAGE_H_
#define SYNCLINE_SERVER_STORAGE_MEMORY_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/storage/storage.h"

namespace syncline {

// An open-addressing hash table (linear probing, deletion by shifting back; Knuth, TAOCP vol. 3,
// 6.4) from key to row number, and an arena that holds row n at a computed place.
//
// Buckets: a key (8 B) and a row number (4 B); a reserved row number, never a reserved key, says
// "empty". The home bucket is floor(Mix64(key) * buckets / 2^64), so the bucket count need not be a
// power of two: it grows by half when three quarters are full, which costs 16 to 24 B a row.
//
// Arena: chunks that never move, each at most an eighth of the rows before it (after the first
// few), and at most kChunkBytesMax (or one row). Rows of an erased key are used again; memory is
// not given back before destruction.
//
// Rows stay where they are until erased (stronger than Storage promises).
class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(const RowLayout& layout);

  const RowLayout& layout() const override { return layout_; }
  void Find(std::span<const Key> keys, std::span<float*> rows) override;
  void FindOrCreate(std::span<const Key> keys, std::span<float*> rows,
                    std::span<uint8_t> created) override;
  size_t Erase(std::span<const Key> keys) override;
  size_t size() const override { return size_; }
  size_t memory_bytes() const override;
  void ForEachSorted(const RowVisitor& visit) const override;

  static constexpr size_t kChunkBytesMax = size_t{256} << 10;

 private:
  using RowNumber = uint32_t;
  static constexpr RowNumber kNoRow = UINT32_MAX;

  struct Place {
    size_t chunk;
    size_t offset;      // in rows
    size_t chunk_rows;  // rows of that chunk
  };

  size_t HomeOf(Key key) const;
  size_t After(size_t bucket) const { return bucket + 1 == row_numbers_.size() ? 0 : bucket + 1; }
  // The bucket that holds `key`, or the empty one where it would go. REQUIRES: there are buckets.
  size_t BucketOf(Key key) const;
  void GrowBuckets();
  void ClearBucket(size_t bucket);

  Place PlaceOf(RowNumber number) const;
  float* RowAt(RowNumber number) const;
  RowNumber TakeRow();
  void ReturnRow(RowNumber number);
  bool EraseOne(Key key);

  RowLayout layout_;
  unsigned first_chunk_log_;  // rows of the smallest chunk, as a power of two
  unsigned chunk_log_max_;    // how often chunks may double

  size_t size_ = 0;
  std::vector<Key> bucket_keys_;
  std::vector<RowNumber> row_numbers_;  // parallel to bucket_keys_

  std::vector<std::unique_ptr<float[]>> chunks_;
  size_t chunk_bytes_ = 0;
  RowNumber rows_made_ = 0;
  RowNumber free_ = kNoRow;  // a list threaded through the first float of returned rows
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_STORAGE_MEMORY_STORAGE_H_
