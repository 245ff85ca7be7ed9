#include "server/executor/push_decoder.h"

#include <algorithm>
#include <span>

#include "common/limits.h"
#include "common/status/status.h"
#include "server/executor/slot_core.h"

namespace syncline {

absl::Status GradientDecoder::Decode(const PushOperation& push, size_t dim,
                                     std::vector<float>& gradients) {
  if (push.codec == nullptr) {
    return MakeError(absl::StatusCode::kInvalidArgument, Detail::kUnsupported,
                     "the codec of the push is not known here; use one that HelloReply lists");
  }
  if (push.keys.size() > kMaxExpandedPushBytes / (dim * sizeof(float))) {
    return InvalidArgument("{} gradients of dim {} are more than {} bytes; split the push",
                           push.keys.size(), dim, kMaxExpandedPushBytes);
  }
  return push.bag_offsets.empty() ? DecodeRows(push, dim, gradients)
                                  : DecodeBags(push, dim, gradients);
}

absl::Status GradientDecoder::DecodeRows(const PushOperation& push, size_t dim,
                                         std::vector<float>& gradients) {
  const size_t wanted = push.keys.size() * push.codec->EncodedRowBytes(dim);
  if (push.values.size() != wanted) {
    return InvalidArgument("{} keys of dim {} take {} bytes in codec {}, got {}", push.keys.size(),
                           dim, wanted, push.codec->name(), push.values.size());
  }
  gradients.resize(push.keys.size() * dim);
  return push.codec->Decode(push.values.Contiguous(bytes_), dim, gradients);
}

absl::Status GradientDecoder::DecodeBags(const PushOperation& push, size_t dim,
                                         std::vector<float>& gradients) {
  RETURN_IF_ERROR(CheckBags(push, dim));
  const size_t encoded = push.codec->EncodedRowBytes(dim);
  gradients.assign(push.keys.size() * dim, 0.0f);
  vector_.resize(dim);
  bytes_.resize(encoded);
  for (size_t i = 0; i < push.keys.size(); ++i) {
    float* sum = gradients.data() + i * dim;
    for (uint32_t at = push.bag_offsets[i]; at < push.bag_offsets[i + 1]; ++at) {
      push.bag_vectors.CopyTo(push.bag_ids[at] * encoded, bytes_);
      RETURN_IF_ERROR(push.codec->Decode(bytes_, dim, vector_));
      for (size_t j = 0; j < dim; ++j) sum[j] += vector_[j];
    }
  }
  return absl::OkStatus();
}

absl::Status GradientDecoder::CheckBags(const PushOperation& push, size_t dim) {
  const auto& offsets = push.bag_offsets;
  if (offsets.size() != push.keys.size() + 1 || offsets.front() != 0 ||
      !std::is_sorted(offsets.begin(), offsets.end()) || offsets.back() != push.bag_ids.size()) {
    return InvalidArgument("bag offsets must ascend from 0 to {} over {} keys", push.bag_ids.size(),
                           push.keys.size());
  }
  const size_t wanted = push.bag_count * push.codec->EncodedRowBytes(dim);
  if (push.bag_vectors.size() != wanted) {
    return InvalidArgument("{} bags of dim {} take {} bytes in codec {}, got {}", push.bag_count,
                           dim, wanted, push.codec->name(), push.bag_vectors.size());
  }
  for (uint32_t id : push.bag_ids) {
    if (id >= push.bag_count) {
      return InvalidArgument("bag {} of {} does not exist", id, push.bag_count);
    }
  }
  return absl::OkStatus();
}

}  // namespace syncline
