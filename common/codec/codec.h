// An encoding of rows or gradients on the wire: the seam `Codec`.
#ifndef SYNCLINE_COMMON_CODEC_CODEC_H_
#define SYNCLINE_COMMON_CODEC_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace syncline {

// Codec ids are part of the wire contract and never change their meaning.
enum class CodecId : uint32_t { kFp32 = 1, kFp16 = 2, kBf16 = 3, kInt8 = 4 };

// Turns rows of `dim` floats into bytes and back. Row-wise: each row encodes alone and to the same
// number of bytes, so that row i of an encoding lies at i * EncodedRowBytes(dim).
//
// Stateless and thread-safe. Bit-identical on every machine.
class Codec {
 public:
  virtual ~Codec() = default;

  virtual CodecId id() const = 0;
  virtual std::string_view name() const = 0;  // "fp32", "fp16"
  virtual size_t EncodedRowBytes(size_t dim) const = 0;

  // rows.size() == n * dim, out.size() == n * EncodedRowBytes(dim).
  virtual void Encode(std::span<const float> rows, size_t dim, std::span<uint8_t> out) const = 0;

  // The reverse. Non-finite numbers decode as such; who applies them decides.
  // Errors: INVALID_ARGUMENT when the bytes are no encoding; `rows` is then unspecified.
  virtual absl::Status Decode(std::span<const uint8_t> bytes, size_t dim,
                              std::span<float> rows) const = 0;
};

// Codecs are made once and live as long as the process. Null: unknown, or not supported by this
// build.
const Codec* FindCodec(uint32_t id);
const Codec* FindCodec(std::string_view name);

}  // namespace syncline

#endif  // SYNCLINE_COMMON_CODEC_CODEC_H_
