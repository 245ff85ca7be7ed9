// Where the parts of a row lie: computed once per table, so that no code assumes a field.
#ifndef SYNCLINE_SERVER_STORAGE_ROW_LAYOUT_H_
#define SYNCLINE_SERVER_STORAGE_ROW_LAYOUT_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "common/status/status.h"

namespace syncline {

// Optional 64-bit fields of a row. All are off by default; each enabled one costs 8 bytes a row.
struct RowOptions {
  bool version = false;
  bool last_use = false;
  bool count = false;
  bool operator==(const RowOptions&) const = default;
};

enum class RowField { kVersion = 0, kLastUse = 1, kCount = 2 };

// A row is one run of floats:
//
//   [ weights: dim ][ optimizer state: state_floats ][ enabled fields: 2 floats each ]
//
// Offsets and sizes are in floats. A field holds the bits of a uint64 and is only 4-byte aligned,
// hence LoadField and StoreField. Immutable; safe to share.
class RowLayout {
 public:
  // REQUIRES: dim > 0.
  RowLayout(uint32_t dim, uint32_t state_floats, RowOptions options = {})
      : dim_(dim), state_floats_(state_floats), stride_(dim + state_floats) {
    SYNCLINE_CHECK(dim > 0, "a row has at least one weight");
    Place(RowField::kVersion, options.version);
    Place(RowField::kLastUse, options.last_use);
    Place(RowField::kCount, options.count);
  }

  uint32_t dim() const { return dim_; }
  uint32_t state_floats() const { return state_floats_; }
  uint32_t stride() const { return stride_; }
  static constexpr uint32_t weights_offset() { return 0; }
  uint32_t state_offset() const { return dim_; }

  std::span<float> Weights(float* row) const { return {row, dim_}; }
  std::span<const float> Weights(const float* row) const { return {row, dim_}; }
  std::span<float> State(float* row) const { return {row + dim_, state_floats_}; }
  std::span<const float> State(const float* row) const { return {row + dim_, state_floats_}; }

  // Empty when the field is off.
  std::optional<uint32_t> OffsetOf(RowField field) const { return fields_[Index(field)]; }

  // Reads a field; 0 when it is off.
  uint64_t LoadField(const float* row, RowField field) const {
    uint64_t value = 0;
    if (const auto offset = OffsetOf(field)) std::memcpy(&value, row + *offset, sizeof value);
    return value;
  }
  // Writes a field; does nothing when it is off.
  void StoreField(float* row, RowField field, uint64_t value) const {
    if (const auto offset = OffsetOf(field)) std::memcpy(row + *offset, &value, sizeof value);
  }

 private:
  static constexpr size_t Index(RowField field) { return static_cast<size_t>(field); }

  void Place(RowField field, bool enabled) {
    if (!enabled) return;
    fields_[Index(field)] = stride_;
    stride_ += sizeof(uint64_t) / sizeof(float);
  }

  uint32_t dim_;
  uint32_t state_floats_;
  uint32_t stride_;
  std::optional<uint32_t> fields_[3];
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_STORAGE_ROW_LAYOUT_H_
