#include "worker/client/pull_plan.h"

#include <algorithm>
#include <numeric>

#include "common/limits.h"
#include "common/status/status.h"
#include "worker/client/push_plan.h"

namespace syncline {
namespace {

constexpr size_t kPartOverhead = 64;
constexpr size_t kFrameRoom = kTargetFrameBytes - 4'096;
// A key of a bag costs its own bytes, an offset and at least one bag number.
constexpr size_t kMaxChunkKeys = kFrameRoom / (sizeof(Key) + 2 * sizeof(uint32_t));

template <typename T>
ByteView BytesOf(const std::vector<T>& v, size_t begin, size_t end) {
  return ByteView(
      ByteSpan(reinterpret_cast<const uint8_t*>(v.data() + begin), (end - begin) * sizeof(T)));
}

absl::Status Misfit(TableId table, std::string_view what, size_t got, size_t want) {
  return MakeError(absl::StatusCode::kInternal, Detail::kNone,
                   "pull reply for table {}: {} {} where {} were asked; is the server of another "
                   "version?",
                   table.value(), got, what, want);
}

// Slots of one server, ascending.
std::vector<KeyPlan::Range> RangesOf(const KeyPlan& plan, const SlotMap& map, ServerId server) {
  std::vector<KeyPlan::Range> ranges;
  for (const auto& range : plan.slots) {
    if (map.At(range.slot).server == server) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

absl::StatusOr<PullPlan> PullPlan::Rows(const PullArguments& pull, const SlotMap& map) {
  RETURN_IF_ERROR(CheckKeys(*pull.table, pull.keys));
  RETURN_IF_ERROR(CheckStride(*pull.table, pull.out.data, pull.out.stride, pull.keys.size()));
  ASSIGN_OR_RETURN(const Codec* codec, NeedCodec(pull.codec));
  PullPlan plan(*pull.table, pull.out, *codec);
  KeyPlan keys = PlanKeys(pull.table->id, pull.keys, map.slot_count());
  plan.PlanRowUnits(keys, map);
  plan.keys_ = std::move(keys.keys);
  plan.order_ = std::move(keys.order);
  plan.starts_ = std::move(keys.starts);
  return plan;
}

absl::StatusOr<PullPlan> PullPlan::Dense(const TableInfo& table, uint64_t first,
                                         std::span<float> values, CodecId codec_id,
                                         const SlotMap& map) {
  const TableSpec& spec = table.spec;
  if (spec.kind != TableKind::kDense || spec.dim == 0) {
    return InvalidArgument("table {} is not dense; use Pull and Push", spec.name);
  }
  if (first > spec.elements || values.size() > spec.elements - first) {
    return InvalidArgument("table {}: elements [{}, +{}) reach beyond the tensor's {}", spec.name,
                           first, values.size(), spec.elements);
  }
  std::vector<Key> blocks;
  if (!values.empty()) {
    blocks.resize((first + values.size() - 1) / spec.dim - first / spec.dim + 1);
    std::iota(blocks.begin(), blocks.end(), first / spec.dim);
  }
  ASSIGN_OR_RETURN(PullPlan plan, Rows({&table, blocks, {values.data(), spec.dim}, codec_id}, map));
  plan.dense_ = true;
  plan.first_element_ = first;
  plan.end_element_ = first + values.size();
  return plan;
}

void PullPlan::PlanRowUnits(const KeyPlan& plan, const SlotMap& map) {
  const size_t row_bytes = codec_->EncodedRowBytes(dim_);
  const size_t key_cost = std::max(row_bytes, sizeof(Key));
  const size_t most = std::max<size_t>(1, (kFrameRoom - kPartOverhead) / key_cost);
  for (const ServerEntry& server : map.servers()) {
    PullUnit* unit = nullptr;
    size_t bytes = 0;
    for (const auto& range : RangesOf(plan, map, server.id)) {
      for (size_t at = range.begin; at < range.end;) {
        if (unit == nullptr || bytes + kPartOverhead + key_cost > kFrameRoom) {
          unit = &units_.emplace_back();
          unit->server = server.id;
          bytes = 0;
        }
        const size_t room = std::min(most, (kFrameRoom - bytes - kPartOverhead) / key_cost);
        PullPartPlan part;
        part.slot = range.slot;
        part.key_begin = at;
        part.key_end = std::min(range.end, at + std::max<size_t>(1, room));
        at = part.key_end;
        const size_t keys = part.key_end - part.key_begin;
        unit->request_bytes += keys * sizeof(Key) + kPartOverhead;
        unit->reply_bytes += keys * row_bytes + kPartOverhead;
        bytes += keys * key_cost + kPartOverhead;
        unit->parts.push_back(part);
      }
    }
  }
}

absl::StatusOr<PullPlan> PullPlan::Bags(const PullArguments& pull,
                                        std::span<const uint32_t> offsets, Pooling pooling,
                                        const SlotMap& map) {
  RETURN_IF_ERROR(CheckKeys(*pull.table, pull.keys));
  RETURN_IF_ERROR(CheckBags(*pull.table, pull.keys, offsets));
  const auto bags = static_cast<uint32_t>(offsets.size() - 1);
  RETURN_IF_ERROR(CheckStride(*pull.table, pull.out.data, pull.out.stride, bags));
  ASSIGN_OR_RETURN(const Codec* codec, NeedCodec(pull.codec));
  PullPlan plan(*pull.table, pull.out, *codec);
  const size_t most_bags =
      std::clamp<size_t>(kFrameRoom / codec->EncodedRowBytes(plan.dim_), 1, kMaxBagsPerFrame);
  for (uint32_t begin = 0; begin < bags;) {
    uint32_t end = begin + 1;
    while (end < bags && end - begin < most_bags &&
           offsets[end + 1] - offsets[begin] <= kMaxChunkKeys) {
      ++end;
    }
    plan.PlanBagChunk(pull.table->id, pull.keys, offsets.subspan(begin, end - begin + 1), begin,
                      map);
    begin = end;
  }
  plan.pools_ = true;
  plan.divisors_.resize(bags);
  for (uint32_t b = 0; b < bags; ++b) {
    plan.divisors_[b] = PoolingDivisor(pooling, offsets[b + 1] - offsets[b]);
  }
  return plan;
}

void PullPlan::PlanBagChunk(TableId table, std::span<const Key> keys,
                            std::span<const uint32_t> offsets, uint32_t bag_begin,
                            const SlotMap& map) {
  const uint32_t first = offsets.front();
  const KeyPlan plan =
      PlanKeys(table, keys.subspan(first, offsets.back() - first), map.slot_count());
  std::vector<uint32_t> bag_of(offsets.back() - first);
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    std::fill(bag_of.begin() + (offsets[b] - first), bag_of.begin() + (offsets[b + 1] - first),
              static_cast<uint32_t>(b));
  }
  for (const ServerEntry& server : map.servers()) {
    PullUnit* unit = nullptr;
    PullPartPlan* part = nullptr;
    for (const auto& range : RangesOf(plan, map, server.id)) {
      part = nullptr;
      for (size_t u = range.begin; u < range.end; ++u) {
        const size_t cost = sizeof(Key) + (1 + plan.starts[u + 1] - plan.starts[u]) * 4;
        if (unit == nullptr || unit->request_bytes + cost + kPartOverhead > kFrameRoom) {
          unit = &units_.emplace_back();
          unit->server = server.id;
          unit->bag_begin = bag_begin;
          unit->bag_count = static_cast<uint32_t>(offsets.size() - 1);
          unit->reply_bytes = unit->bag_count * codec_->EncodedRowBytes(dim_);
          part = nullptr;
        }
        if (part == nullptr) {
          part = &unit->parts.emplace_back();
          part->slot = range.slot;
          part->key_begin = part->key_end = keys_.size();
          part->offset_begin = bag_offsets_.size();
          part->id_begin = part->id_end = bag_ids_.size();
          bag_offsets_.push_back(0);
          unit->request_bytes += kPartOverhead;
        }
        unit->request_bytes += cost;
        keys_.push_back(plan.keys[u]);
        for (uint32_t i = plan.starts[u]; i < plan.starts[u + 1]; ++i) {
          bag_ids_.push_back(bag_of[plan.order[i]]);
        }
        part->key_end = keys_.size();
        part->id_end = bag_ids_.size();
        bag_offsets_.push_back(static_cast<uint32_t>(part->id_end - part->id_begin));
      }
    }
  }
}

PullFrame PullPlan::FrameOf(const PullUnit& unit) const {
  PullFrame frame;
  frame.table = table_;
  frame.codec = static_cast<uint32_t>(codec_->id());
  frame.bag_count = unit.bag_count;
  frame.parts.reserve(unit.parts.size());
  for (const PullPartPlan& plan : unit.parts) {
    PullPart part;
    part.slot = plan.slot;
    part.sequence = plan.sequence;
    part.keys = BytesOf(keys_, plan.key_begin, plan.key_end);
    if (unit.bag_count > 0) {
      const size_t offsets = plan.key_end - plan.key_begin + 1;
      part.bag_offsets = BytesOf(bag_offsets_, plan.offset_begin, plan.offset_begin + offsets);
      part.bag_ids = BytesOf(bag_ids_, plan.id_begin, plan.id_end);
    }
    frame.parts.push_back(part);
  }
  return frame;
}

absl::Status PullPlan::Take(PullUnit& unit, const PullReplyFrame& reply) {
  if (unit.bag_count > 0) return TakeBagSums(unit, reply);
  if (reply.parts.size() != unit.parts.size()) {
    return Misfit(table_, "parts", reply.parts.size(), unit.parts.size());
  }
  return TakeRows(unit, reply);
}

absl::Status PullPlan::TakeRows(const PullUnit& unit, const PullReplyFrame& reply) {
  const size_t row_bytes = codec_->EncodedRowBytes(dim_);
  std::vector<uint8_t> scratch;
  for (size_t p = 0; p < unit.parts.size(); ++p) {
    const PullPartPlan& plan = unit.parts[p];
    const PullPartReply& part = reply.parts[p];
    const size_t keys = plan.key_end - plan.key_begin;
    if (part.slot != plan.slot) return Misfit(table_, "is the slot", part.slot.value(), 1);
    if (part.values.size() != keys * row_bytes) {
      return Misfit(table_, "bytes", part.values.size(), keys * row_bytes);
    }
    const ByteSpan bytes = part.values.Contiguous(scratch);
    for (size_t i = 0; i < keys; ++i) {
      RETURN_IF_ERROR(PlaceRow(plan.key_begin + i, bytes.subspan(i * row_bytes, row_bytes)));
    }
  }
  return absl::OkStatus();
}

std::span<float> PullPlan::OutRow(size_t i) const {
  const size_t stride = out_.stride == 0 ? dim_ : out_.stride;
  return {out_.data + i * stride, dim_};
}

absl::Status PullPlan::PlaceRow(size_t u, ByteSpan encoded) {
  if (dense_) {
    // A block at the edge of the range has elements that nobody asked for.
    const uint64_t begin = keys_[u] * dim_;
    row_.resize(dim_);
    RETURN_IF_ERROR(codec_->Decode(encoded, dim_, row_));
    const uint64_t from = std::max(begin, first_element_);
    const uint64_t to = std::min(begin + dim_, end_element_);
    std::copy(row_.data() + (from - begin), row_.data() + (to - begin),
              out_.data + (from - first_element_));
    return absl::OkStatus();
  }
  const std::span<float> first = OutRow(order_[starts_[u]]);
  RETURN_IF_ERROR(codec_->Decode(encoded, dim_, first));
  for (uint32_t i = starts_[u] + 1; i < starts_[u + 1]; ++i) {
    std::copy(first.begin(), first.end(), OutRow(order_[i]).begin());
  }
  return absl::OkStatus();
}

absl::Status PullPlan::TakeBagSums(PullUnit& unit, const PullReplyFrame& reply) {
  const size_t want = unit.bag_count * codec_->EncodedRowBytes(dim_);
  if (reply.bag_values.size() != want) {
    return Misfit(table_, "bytes of bags", reply.bag_values.size(), want);
  }
  std::vector<uint8_t> scratch;
  unit.partial.resize(unit.bag_count * dim_);
  return codec_->Decode(reply.bag_values.Contiguous(scratch), dim_, unit.partial);
}

void PullPlan::Finish(std::span<PullUnit* const> units) {
  for (size_t b = 0; b < divisors_.size(); ++b) {
    std::ranges::fill(OutRow(b), 0.0F);
  }
  std::vector<PullUnit*> sorted(units.begin(), units.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PullUnit* a, const PullUnit* b) { return a->server < b->server; });
  for (const PullUnit* unit : sorted) {
    for (uint32_t b = 0; b < unit->bag_count; ++b) {
      const std::span<float> sum = OutRow(unit->bag_begin + b);
      for (size_t e = 0; e < dim_; ++e) sum[e] += unit->partial[b * dim_ + e];
    }
  }
  for (size_t b = 0; b < divisors_.size(); ++b) {
    if (divisors_[b] == 1.0F) continue;
    for (float& value : OutRow(b)) value /= divisors_[b];
  }
}

}  // namespace syncline
