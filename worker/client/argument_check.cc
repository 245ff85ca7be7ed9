#include <cmath>
#include <limits>

#include "common/limits.h"
#include "common/status/status.h"
#include "worker/client/push_plan.h"

namespace syncline {

absl::Status CheckKeys(const TableInfo& table, std::span<const Key> keys) {
  const TableSpec& spec = table.spec;
  if (spec.dim == 0) {
    return InvalidArgument("table {}: not a table that CreateTable or DescribeTable returned",
                           spec.name);
  }
  if (keys.size() >= std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("table {}: {} keys in one call; split it below 2^32", spec.name,
                           keys.size());
  }
  const bool dense = spec.kind == TableKind::kDense;
  const bool bounded = spec.ids.kind == IdPolicy::Kind::kReject && spec.ids.vocabulary > 0;
  if (!dense && !bounded) return absl::OkStatus();
  const uint64_t bound = dense ? spec.DenseRows() : spec.ids.vocabulary;
  for (const Key key : keys) {
    if (key < bound) continue;
    return MakeError(absl::StatusCode::kInvalidArgument, Detail::kIdRejected,
                     "table {}: key {} is not below {} ({}); nothing was sent", spec.name, key,
                     bound, dense ? "the tensor's blocks" : "the vocabulary of id policy reject");
  }
  return absl::OkStatus();
}

absl::Status CheckStride(const TableInfo& table, const void* data, size_t stride, size_t rows) {
  if (rows == 0) return absl::OkStatus();
  if (data == nullptr) {
    return InvalidArgument("table {}: no memory given for {} rows", table.spec.name, rows);
  }
  if (stride != 0 && stride < table.spec.dim) {
    return InvalidArgument("table {}: a stride of {} floats is below the dim {}", table.spec.name,
                           stride, table.spec.dim);
  }
  return absl::OkStatus();
}

absl::Status CheckBags(const TableInfo& table, std::span<const Key> keys,
                       std::span<const uint32_t> offsets) {
  const std::string& name = table.spec.name;
  if (table.spec.kind == TableKind::kDense) {
    return InvalidArgument("table {}: a dense table has no bags; use PullDense and PushDense",
                           name);
  }
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != keys.size()) {
    return InvalidArgument(
        "table {}: bag offsets must start at 0 and end at the number of keys ({}); got {} offsets",
        name, keys.size(), offsets.size());
  }
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    if (offsets[b] <= offsets[b + 1]) continue;
    return InvalidArgument("table {}: the offsets of bag {} decrease ({} to {})", name, b,
                           offsets[b], offsets[b + 1]);
  }
  return absl::OkStatus();
}

absl::StatusOr<const Codec*> NeedCodec(CodecId id) {
  const Codec* codec = FindCodec(static_cast<uint32_t>(id));
  if (codec != nullptr) return codec;
  return MakeError(absl::StatusCode::kUnimplemented, Detail::kUnsupported,
                   "codec {} is not supported by this build; use fp32 or fp16",
                   static_cast<uint32_t>(id));
}

float PoolingDivisor(Pooling pooling, size_t count) {
  if (count == 0 || pooling == Pooling::kSum) return 1.0F;
  const auto n = static_cast<float>(count);
  return pooling == Pooling::kMean ? n : std::sqrt(n);
}

}  // namespace syncline
