// The seam for where rows are kept: the rows of one table in one slot, by key.
#ifndef SYNCLINE_SERVER_STORAGE_STORAGE_H_
#define SYNCLINE_SERVER_STORAGE_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "common/types.h"
#include "server/storage/row_layout.h"

namespace syncline {

// A map from key to row (RowLayout::stride() floats). Every 64-bit key is legal.
//
// Calls take batches, because a tier on disk answers many keys at once far more cheaply than one
// after the other. A batch may name a key twice.
//
// Pointers: all rows that one call returns are valid together, until the next FindOrCreate or Erase
// on this object. Keep none longer: an implementation may move rows.
//
// Order: an implementation's own order never shows. ForEachSorted is the only way to walk the rows,
// and it is ascending by key.
//
// Not thread-safe: the slot's executor is the only caller.
// tests/conformance/storage_suite.h states this contract as tests.
class Storage {
 public:
  using RowVisitor = std::function<void(Key, std::span<const float>)>;

  virtual ~Storage() = default;

  virtual const RowLayout& layout() const = 0;

  // Sets rows[i] to the row of keys[i], or to nullptr when there is none. Makes no rows. The caller
  // may write through the pointers.
  // REQUIRES: rows.size() == keys.size().
  virtual void Find(std::span<const Key> keys, std::span<float*> rows) = 0;

  // The same, but makes the rows that are missing. created[i] is 1 when keys[i] made a row at this
  // place of the batch, else 0. A fresh row holds unspecified bits: the caller writes all of it
  // before its next call.
  // REQUIRES: rows and created are as long as keys; size() + keys.size() <= kMaxRowsPerShard.
  virtual void FindOrCreate(std::span<const Key> keys, std::span<float*> rows,
                            std::span<uint8_t> created) = 0;

  // Removes the rows of `keys`; unknown keys are ignored. Returns how many rows were removed.
  virtual size_t Erase(std::span<const Key> keys) = 0;

  // Number of rows.
  virtual size_t size() const = 0;

  // Bytes held for rows and for finding them, unused reserve included.
  virtual size_t memory_bytes() const = 0;

  // Calls `visit` for each row, ascending by key, with the whole row (layout().stride() floats).
  // `visit` must not call this object. Takes O(n log n) and 16 bytes of scratch a row.
  virtual void ForEachSorted(const RowVisitor& visit) const = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_STORAGE_STORAGE_H_
