#include "worker/client/push_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/limits.h"
#include "common/status/status.h"
#include "worker/client/key_plan.h"

namespace syncline {
namespace {

// Room for a part's numbers and tags beside its bulk bytes.
constexpr size_t kPartOverhead = 64;
constexpr size_t kFrameRoom = kTargetFrameBytes - 4'096;

absl::Status CheckPush(const PushArguments& push, size_t gradient_rows) {
  RETURN_IF_ERROR(CheckKeys(*push.table, push.keys));
  RETURN_IF_ERROR(
      CheckStride(*push.table, push.gradients.data, push.gradients.stride, gradient_rows));
  if (push.samples == 0) {
    return InvalidArgument("push to table {}: samples must be at least 1", push.table->spec.name);
  }
  return absl::OkStatus();
}

// Adds rows of `from` (by number) into one row.
struct RowSource {
  RowsIn rows;
  size_t dim;

  std::span<const float> Row(size_t i) const {
    const size_t stride = rows.stride == 0 ? dim : rows.stride;
    return {rows.data + i * stride, dim};
  }
  void AddTo(std::span<float> sum, size_t i) const {
    const std::span<const float> row = Row(i);
    for (size_t e = 0; e < dim; ++e) sum[e] += row[e];
  }
};

absl::Status CheckFinite(const TableSpec& spec, std::span<const float> row, CodecId codec,
                         std::string_view what, uint64_t number) {
  if (spec.allow_non_finite) return absl::OkStatus();
  // Halfway between the largest fp16 number and the next power of two: rounds to infinity.
  const float bound = codec == CodecId::kFp16 ? 65'520.0F : INFINITY;
  for (size_t e = 0; e < row.size(); ++e) {
    if (std::fabs(row[e]) < bound) continue;
    return MakeError(absl::StatusCode::kInvalidArgument, Detail::kNonFinite,
                     "push to table {}: the gradient of {} {} has {} at element {}, which {}; "
                     "nothing was sent",
                     spec.name, what, number, row[e], e,
                     std::isfinite(row[e]) ? "codec fp16 cannot hold" : "is not finite");
  }
  return absl::OkStatus();
}

// Encodes into the end of `out`.
void AppendEncoded(const Codec& codec, std::span<const float> rows, size_t dim,
                   std::vector<uint8_t>& out) {
  const size_t old_size = out.size();
  out.resize(old_size + rows.size() / dim * codec.EncodedRowBytes(dim));
  codec.Encode(rows, dim, std::span<uint8_t>(out).subspan(old_size));
}

// Appends one slot's keys as parts of at most a frame each.
void AppendRowParts(SlotId slot, size_t begin, size_t end, size_t row_bytes,
                    std::vector<PushPartPlan>& parts) {
  const size_t most = std::clamp<size_t>((kFrameRoom - kPartOverhead) / (row_bytes + sizeof(Key)),
                                         1, kMaxKeysPerFrame);
  for (size_t at = begin; at < end; at += most) {
    PushPartPlan part;
    part.slot = slot;
    part.key_begin = at;
    part.key_end = std::min(end, at + most);
    parts.push_back(part);
  }
}

// Sums and encodes the rows of one range of the plan's keys. source_of(position) is the row of
// `source` that an input position stands for.
template <typename SourceOf>
absl::Status AppendRows(const PushArguments& push, const KeyPlan& plan, const KeyPlan::Range& range,
                        const RowSource& source, const Codec& codec, SourceOf source_of,
                        PushContent& content) {
  std::vector<float> sum(source.dim);
  const size_t first = content.keys.size();
  for (size_t u = range.begin; u < range.end; ++u) {
    const std::span<const uint32_t> given(plan.order.data() + plan.starts[u],
                                          plan.starts[u + 1] - plan.starts[u]);
    const std::span<const float> only = source.Row(source_of(given[0]));
    std::copy(only.begin(), only.end(), sum.begin());
    for (size_t i = 1; i < given.size(); ++i) source.AddTo(sum, source_of(given[i]));
    RETURN_IF_ERROR(CheckFinite(push.table->spec, sum, push.codec, "key", plan.keys[u]));
    content.keys.push_back(plan.keys[u]);
    AppendEncoded(codec, sum, source.dim, content.values);
  }
  AppendRowParts(range.slot, first, content.keys.size(), codec.EncodedRowBytes(source.dim),
                 content.parts);
  return absl::OkStatus();
}

// Bag contents of one server under construction: renumbers the bags that a frame names.
class BagFrames {
 public:
  BagFrames(const KeyPlan& plan, std::span<const uint32_t> bag_of, size_t bags, size_t row_bytes)
      : plan_(plan), bag_of_(bag_of), row_bytes_(row_bytes), number_(bags), stamp_(bags, 0) {}

  struct Frame {
    PushContent content;
    std::vector<uint32_t> bags;  // frame's number -> bag
    size_t bytes = 0;
  };

  // False: the slot does not fit a frame of its own.
  bool Add(const KeyPlan::Range& range) {
    if (frames_.empty() || frames_.back().bytes + Cost(range) > kFrameRoom) Open();
    if (frames_.back().bytes + Cost(range) > kFrameRoom) return false;
    Append(range);
    return true;
  }

  std::vector<Frame>& frames() { return frames_; }

 private:
  void Open() {
    if (!frames_.empty() && frames_.back().content.parts.empty()) return;
    frames_.emplace_back();
    ++present_;
  }

  std::span<const uint32_t> Given(size_t u) const {
    return {plan_.order.data() + plan_.starts[u], plan_.starts[u + 1] - plan_.starts[u]};
  }

  size_t Cost(const KeyPlan::Range& range) {
    const size_t keys = range.end - range.begin;
    const size_t ids = plan_.starts[range.end] - plan_.starts[range.begin];
    size_t new_bags = 0;
    ++counting_;
    counted_.resize(stamp_.size(), 0);
    for (size_t u = range.begin; u < range.end; ++u) {
      for (const uint32_t position : Given(u)) {
        const uint32_t bag = bag_of_[position];
        if (stamp_[bag] == present_ || counted_[bag] == counting_) continue;
        counted_[bag] = counting_;
        ++new_bags;
      }
    }
    return kPartOverhead + keys * sizeof(Key) + (keys + 1 + ids) * sizeof(uint32_t) +
           // The floor keeps a frame of tiny vectors below kMaxBagsPerFrame.
           new_bags * std::max(row_bytes_, sizeof(uint64_t));
  }

  void Append(const KeyPlan::Range& range) {
    Frame& frame = frames_.back();
    frame.bytes += Cost(range);
    PushContent& content = frame.content;
    PushPartPlan part;
    part.slot = range.slot;
    part.key_begin = content.keys.size();
    part.offset_begin = content.bag_offsets.size();
    part.id_begin = content.bag_ids.size();
    content.bag_offsets.push_back(0);
    for (size_t u = range.begin; u < range.end; ++u) {
      content.keys.push_back(plan_.keys[u]);
      for (const uint32_t position : Given(u)) content.bag_ids.push_back(NumberOf(position));
      content.bag_offsets.push_back(static_cast<uint32_t>(content.bag_ids.size() - part.id_begin));
    }
    part.key_end = content.keys.size();
    part.id_end = content.bag_ids.size();
    content.parts.push_back(part);
  }

  uint32_t NumberOf(uint32_t position) {
    const uint32_t bag = bag_of_[position];
    if (stamp_[bag] != present_) {
      stamp_[bag] = present_;
      number_[bag] = static_cast<uint32_t>(frames_.back().bags.size());
      frames_.back().bags.push_back(bag);
    }
    return number_[bag];
  }

  const KeyPlan& plan_;
  const std::span<const uint32_t> bag_of_;
  const size_t row_bytes_;
  std::vector<Frame> frames_;
  uint32_t present_ = 0;
  std::vector<uint32_t> number_;
  std::vector<uint32_t> stamp_;
  uint32_t counting_ = 0;
  std::vector<uint32_t> counted_;
};

std::vector<uint32_t> BagOfPosition(std::span<const uint32_t> offsets) {
  std::vector<uint32_t> bag_of(offsets.back());
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    std::fill(bag_of.begin() + offsets[b], bag_of.begin() + offsets[b + 1],
              static_cast<uint32_t>(b));
  }
  return bag_of;
}

// Each bag's gradient divided by its pooling's divisor.
absl::StatusOr<std::vector<float>> ScaleBags(const PushArguments& push, const BagArguments& bags) {
  const size_t count = bags.offsets.size() - 1;
  const size_t dim = push.table->spec.dim;
  const RowSource source{push.gradients, dim};
  std::vector<float> scaled(count * dim);
  for (size_t b = 0; b < count; ++b) {
    const size_t keys = bags.offsets[b + 1] - bags.offsets[b];
    if (keys == 0) continue;
    const float divisor = PoolingDivisor(bags.pooling, keys);
    const std::span<const float> row = source.Row(b);
    const std::span<float> out(scaled.data() + b * dim, dim);
    for (size_t e = 0; e < dim; ++e) out[e] = row[e] / divisor;
    RETURN_IF_ERROR(CheckFinite(push.table->spec, out, push.codec, "bag", b));
  }
  return scaled;
}

size_t RowShapeBytes(std::span<const KeyPlan::Range> slots, size_t row_bytes) {
  size_t bytes = 0;
  for (const auto& range : slots) bytes += (range.end - range.begin) * (row_bytes + sizeof(Key));
  return bytes;
}

// One server's slots, in the smaller shape.
absl::Status AppendServer(const PushArguments& push, const KeyPlan& plan,
                          std::span<const KeyPlan::Range> slots, std::span<const uint32_t> bag_of,
                          const RowSource& scaled, size_t bag_count, const Codec& codec,
                          std::vector<PushContent>& contents) {
  const size_t row_bytes = codec.EncodedRowBytes(scaled.dim);
  BagFrames frames(plan, bag_of, bag_count, row_bytes);
  std::vector<KeyPlan::Range> as_rows;
  for (const auto& range : slots) {
    if (!frames.Add(range)) as_rows.push_back(range);
  }
  size_t bag_bytes = RowShapeBytes(as_rows, row_bytes);
  for (const auto& frame : frames.frames()) bag_bytes += frame.bytes;
  const bool take_rows = RowShapeBytes(slots, row_bytes) <= bag_bytes;
  if (take_rows) as_rows.assign(slots.begin(), slots.end());
  for (auto& frame : frames.frames()) {
    if (take_rows || frame.content.parts.empty()) continue;
    frame.content.bag_count = static_cast<uint32_t>(frame.bags.size());
    for (const uint32_t bag : frame.bags) {
      AppendEncoded(codec, scaled.Row(bag), scaled.dim, frame.content.bag_values);
    }
    contents.push_back(std::move(frame.content));
  }
  if (as_rows.empty()) return absl::OkStatus();
  contents.emplace_back();
  const auto bag_of_position = [&](uint32_t position) { return bag_of[position]; };
  for (const auto& range : as_rows) {
    RETURN_IF_ERROR(AppendRows(push, plan, range, scaled, codec, bag_of_position, contents.back()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<PushContent>> PlanPush(const PushArguments& push, const SlotMap& map) {
  RETURN_IF_ERROR(CheckPush(push, push.keys.size()));
  ASSIGN_OR_RETURN(const Codec* codec, NeedCodec(push.codec));
  const RowSource source{push.gradients, push.table->spec.dim};
  const KeyPlan plan = PlanKeys(push.table->id, push.keys, map.slot_count());
  std::vector<PushContent> contents;
  if (plan.slots.empty()) return contents;
  contents.emplace_back();
  contents.back().keys.reserve(plan.keys.size());
  contents.back().values.reserve(plan.keys.size() * codec->EncodedRowBytes(source.dim));
  const auto itself = [](uint32_t position) { return position; };
  for (const auto& range : plan.slots) {
    RETURN_IF_ERROR(AppendRows(push, plan, range, source, *codec, itself, contents.back()));
  }
  return contents;
}

absl::StatusOr<std::vector<PushContent>> PlanDensePush(const TableInfo& table, uint64_t first,
                                                       std::span<const float> gradients,
                                                       uint64_t samples, CodecId codec,
                                                       const SlotMap& map) {
  const TableSpec& spec = table.spec;
  if (spec.kind != TableKind::kDense || spec.dim == 0) {
    return InvalidArgument("table {} is not dense; use Push", spec.name);
  }
  const uint64_t end = first + gradients.size();
  const bool inside = first <= spec.elements && gradients.size() <= spec.elements - first;
  if (!inside || first % spec.dim != 0 || (end % spec.dim != 0 && end != spec.elements)) {
    return InvalidArgument(
        "push to table {}: elements [{}, {}) must begin and end at blocks of {} within the "
        "tensor's {}",
        spec.name, first, end, spec.dim, spec.elements);
  }
  // The last block of the tensor is padded with zeros.
  std::vector<float> padded;
  if (end % spec.dim != 0) {
    padded.assign(gradients.begin(), gradients.end());
    padded.resize((gradients.size() + spec.dim - 1) / spec.dim * spec.dim);
    gradients = padded;
  }
  std::vector<Key> blocks(gradients.size() / spec.dim);
  std::iota(blocks.begin(), blocks.end(), first / spec.dim);
  return PlanPush({&table, blocks, {gradients.data()}, samples, codec}, map);
}

absl::StatusOr<std::vector<PushContent>> PlanBagPush(const PushArguments& push,
                                                     const BagArguments& bags, const SlotMap& map) {
  RETURN_IF_ERROR(CheckBags(*push.table, push.keys, bags.offsets));
  const size_t bag_count = bags.offsets.size() - 1;
  RETURN_IF_ERROR(CheckPush(push, bag_count));
  ASSIGN_OR_RETURN(const Codec* codec, NeedCodec(push.codec));
  ASSIGN_OR_RETURN(const std::vector<float> scaled, ScaleBags(push, bags));
  const KeyPlan plan = PlanKeys(push.table->id, push.keys, map.slot_count());
  const std::vector<uint32_t> bag_of = BagOfPosition(bags.offsets);
  std::vector<PushContent> contents;
  for (const ServerEntry& server : map.servers()) {
    std::vector<KeyPlan::Range> slots;
    for (const auto& range : plan.slots) {
      if (map.At(range.slot).server == server.id) slots.push_back(range);
    }
    if (slots.empty()) continue;
    RETURN_IF_ERROR(AppendServer(push, plan, slots, bag_of, {{scaled.data()}, push.table->spec.dim},
                                 bag_count, *codec, contents));
  }
  return contents;
}

}  // namespace syncline
