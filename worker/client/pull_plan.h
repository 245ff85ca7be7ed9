// A pull cut into frames, and its result put together from their replies.
#ifndef SYNCLINE_WORKER_CLIENT_PULL_PLAN_H_
#define SYNCLINE_WORKER_CLIENT_PULL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "common/codec/codec.h"
#include "common/slot_map/slot_map.h"
#include "common/table_spec.h"
#include "common/wire/frames.h"
#include "worker/client/client_options.h"
#include "worker/client/key_plan.h"
#include "worker/client/rows.h"

namespace syncline {

// One slot's share of a frame: ranges of the plan's arrays.
struct PullPartPlan {
  SlotId slot;
  Sequence sequence;  // filled in when the pull is invoked (C4), and kept by retries
  size_t key_begin = 0;
  size_t key_end = 0;
  size_t offset_begin = 0;  // bags: first of key count + 1 offsets
  size_t id_begin = 0;      // bags
  size_t id_end = 0;
};

// What one frame asks of one server, and (bags) what it answered.
struct PullUnit {
  ServerId server;
  std::vector<PullPartPlan> parts;
  uint32_t bag_begin = 0;
  uint32_t bag_count = 0;  // 0: rows
  size_t request_bytes = 0;
  size_t reply_bytes = 0;
  std::vector<float> partial;  // bags: the server's sums
};

struct PullArguments {
  const TableInfo* table = nullptr;
  std::span<const Key> keys;
  RowsOut out;
  CodecId codec = CodecId::kFp32;
};

// The plan of one call. Not thread-safe. `out` must live as long as Take and Finish are called.
class PullPlan {
 public:
  // Errors: INVALID_ARGUMENT (also with detail ID_REJECTED), UNIMPLEMENTED for an unknown codec.
  static absl::StatusOr<PullPlan> Rows(const PullArguments& pull, const SlotMap& map);
  static absl::StatusOr<PullPlan> Bags(const PullArguments& pull, std::span<const uint32_t> offsets,
                                       Pooling pooling, const SlotMap& map);
  // Elements [first, first + values.size()) of a dense table.
  static absl::StatusOr<PullPlan> Dense(const TableInfo& table, uint64_t first,
                                        std::span<float> values, CodecId codec, const SlotMap& map);

  std::vector<PullUnit> TakeUnits() { return std::move(units_); }
  size_t key_count() const { return keys_.size(); }
  bool pools() const { return pools_; }

  // A frame for the unit without header and incarnations; views point into this plan.
  PullFrame FrameOf(const PullUnit& unit) const;

  // Puts a reply in place: rows go to `out`, bag sums to the unit.
  // Errors: INTERNAL when the reply does not fit what was asked (a defect of the server).
  absl::Status Take(PullUnit& unit, const PullReplyFrame& reply);
  // Bags: adds the units' sums by bag and server id, and pools. Rows: nothing.
  void Finish(std::span<PullUnit* const> units);

 private:
  PullPlan(const TableInfo& table, RowsOut out, const Codec& codec)
      : table_(table.id), dim_(table.spec.dim), out_(out), codec_(&codec) {}

  void PlanRowUnits(const KeyPlan& plan, const SlotMap& map);
  void PlanBagChunk(TableId table, std::span<const Key> keys, std::span<const uint32_t> offsets,
                    uint32_t bag_begin, const SlotMap& map);
  absl::Status TakeRows(const PullUnit& unit, const PullReplyFrame& reply);
  absl::Status TakeBagSums(PullUnit& unit, const PullReplyFrame& reply);
  absl::Status PlaceRow(size_t u, ByteSpan encoded);
  std::span<float> OutRow(size_t i) const;

  TableId table_;
  size_t dim_;
  RowsOut out_;
  const Codec* codec_;
  std::vector<PullUnit> units_;
  std::vector<Key> keys_;
  // Rows: keys_[u] goes to the rows order_[starts_[u]] .. of out.
  std::vector<uint32_t> order_;
  std::vector<uint32_t> starts_;
  // Bags.
  std::vector<uint32_t> bag_offsets_;
  std::vector<uint32_t> bag_ids_;
  bool pools_ = false;
  std::vector<float> divisors_;
  // Dense: the elements asked for.
  bool dense_ = false;
  uint64_t first_element_ = 0;
  uint64_t end_element_ = 0;
  std::vector<float> row_;  // scratch
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_CLIENT_PULL_PLAN_H_
