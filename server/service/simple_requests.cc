#include "server/service/simple_requests.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include "common/codec/codec.h"
#include "common/status/status.h"

namespace syncline {
namespace {

template <typename T>
ByteView BytesOf(const std::vector<T>& values) {
  return ByteView(
      ByteSpan(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)));
}

// A request made anew: its views point into the vectors and into the request it was made of.
template <typename Frame>
struct Rebuilt {
  std::shared_ptr<const Frame> original;
  Frame frame;
  std::deque<std::vector<uint64_t>> keys;
  std::deque<std::vector<uint32_t>> numbers;
  std::deque<std::vector<float>> values;
};

std::vector<Key> CopyKeys(const ByteView& keys) {
  std::vector<Key> copy(keys.size() / sizeof(Key));
  keys.CopyTo(0, {reinterpret_cast<uint8_t*>(copy.data()), keys.size()});
  return copy;
}

bool IsStrictlyAscending(const ByteView& view) {
  std::vector<uint64_t> scratch;
  const std::span<const Key> keys = view.AsU64(scratch);
  return std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) == keys.end();
}

// Positions of `keys` in ascending order; equal keys in the order in which they came.
std::vector<size_t> SortedOrder(const std::vector<Key>& keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  return order;
}

// Sorts one part's keys and joins the bag lists of equal ones.
template <typename Frame, typename Part>
void SortBagPart(Rebuilt<Frame>& rebuilt, Part& part) {
  const std::vector<Key> keys = CopyKeys(part.keys);
  std::vector<uint32_t> offsets_scratch;
  std::vector<uint32_t> ids_scratch;
  const std::span<const uint32_t> offsets = part.bag_offsets.AsU32(offsets_scratch);
  const std::span<const uint32_t> ids = part.bag_ids.AsU32(ids_scratch);
  std::vector<Key>& new_keys = rebuilt.keys.emplace_back();
  std::vector<uint32_t>& new_offsets = rebuilt.numbers.emplace_back();
  std::vector<uint32_t>& new_ids = rebuilt.numbers.emplace_back();
  for (const size_t i : SortedOrder(keys)) {
    if (new_keys.empty() || new_keys.back() != keys[i]) {
      new_keys.push_back(keys[i]);
      new_offsets.push_back(static_cast<uint32_t>(new_ids.size()));
    }
    for (uint32_t at = offsets[i]; at < offsets[i + 1]; ++at) new_ids.push_back(ids[at]);
  }
  new_offsets.push_back(static_cast<uint32_t>(new_ids.size()));
  part.keys = BytesOf(new_keys);
  part.bag_offsets = BytesOf(new_offsets);
  part.bag_ids = BytesOf(new_ids);
}

absl::Status SortRowPart(Rebuilt<PushFrame>& rebuilt, PushPart& part, const Codec& codec,
                         size_t dim) {
  const std::vector<Key> keys = CopyKeys(part.keys);
  if (keys.empty()) return absl::OkStatus();
  if (part.values.size() != keys.size() * codec.EncodedRowBytes(dim)) {
    return InvalidArgument("slot {}: {} keys with {} bytes of values; {} bytes a key are needed",
                           part.slot.value(), keys.size(), part.values.size(),
                           codec.EncodedRowBytes(dim));
  }
  std::vector<uint8_t> scratch;
  std::vector<float> rows(keys.size() * dim);
  RETURN_IF_ERROR(codec.Decode(part.values.Contiguous(scratch), dim, rows));
  std::vector<Key>& new_keys = rebuilt.keys.emplace_back();
  std::vector<float>& new_rows = rebuilt.values.emplace_back();
  for (const size_t i : SortedOrder(keys)) {
    const float* row = rows.data() + i * dim;
    if (new_keys.empty() || new_keys.back() != keys[i]) {
      new_keys.push_back(keys[i]);
      new_rows.insert(new_rows.end(), row, row + dim);
      continue;
    }
    float* sum = new_rows.data() + new_rows.size() - dim;
    for (size_t j = 0; j < dim; ++j) sum[j] += row[j];
  }
  part.keys = BytesOf(new_keys);
  part.values = BytesOf(new_rows);
  return absl::OkStatus();
}

template <typename Frame>
bool NeedsNothing(const Frame& frame) {
  return std::all_of(frame.parts.begin(), frame.parts.end(),
                     [](const auto& part) { return IsStrictlyAscending(part.keys); });
}

template <typename Frame>
std::shared_ptr<Rebuilt<Frame>> Begin(std::shared_ptr<const Frame> original) {
  auto rebuilt = std::make_shared<Rebuilt<Frame>>();
  rebuilt->frame = *original;
  rebuilt->original = std::move(original);
  return rebuilt;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PushFrame>> SortAndSum(std::shared_ptr<const PushFrame> push,
                                                            const SlotHost& host) {
  if (NeedsNothing(*push)) return push;
  const std::optional<TableInfo> table = host.FindTable(push->table);
  if (!table.has_value()) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kUnknownTable,
                     "table {} is not known to this server; create it first", push->table.value());
  }
  const Codec* codec = FindCodec(push->codec);
  if (codec == nullptr) {
    return MakeError(absl::StatusCode::kInvalidArgument, Detail::kUnsupported,
                     "codec {} is not supported by this server; use 1 (fp32)", push->codec);
  }
  auto rebuilt = Begin(std::move(push));
  for (PushPart& part : rebuilt->frame.parts) {
    if (rebuilt->frame.bag_count > 0) {
      SortBagPart(*rebuilt, part);
    } else {
      RETURN_IF_ERROR(SortRowPart(*rebuilt, part, *codec, table->spec.dim));
    }
  }
  if (rebuilt->frame.bag_count == 0) {
    rebuilt->frame.codec = static_cast<uint32_t>(CodecId::kFp32);
  }
  return std::shared_ptr<const PushFrame>(rebuilt, &rebuilt->frame);
}

absl::StatusOr<std::shared_ptr<const PullFrame>> SortBags(std::shared_ptr<const PullFrame> pull) {
  if (pull->bag_count == 0 || NeedsNothing(*pull)) return pull;
  auto rebuilt = Begin(std::move(pull));
  for (PullPart& part : rebuilt->frame.parts) SortBagPart(*rebuilt, part);
  return std::shared_ptr<const PullFrame>(rebuilt, &rebuilt->frame);
}

}  // namespace syncline
