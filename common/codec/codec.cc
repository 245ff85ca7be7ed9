#include "common/codec/codec.h"

#include <array>
#include <bit>
#include <cstring>

#include "common/codec/half.h"
#include "common/status/status.h"

namespace syncline {
namespace {

static_assert(std::endian::native == std::endian::little);

// Fixed number of bytes for each element: shared size checks.
class ElementCodec : public Codec {
 public:
  explicit ElementCodec(size_t element_bytes) : element_bytes_(element_bytes) {}

  size_t EncodedRowBytes(size_t dim) const override { return dim * element_bytes_; }

  void Encode(std::span<const float> rows, size_t dim, std::span<uint8_t> out) const override {
    SYNCLINE_CHECK(dim > 0 && rows.size() % dim == 0, "Encode: rows are not whole");
    SYNCLINE_CHECK(out.size() == rows.size() * element_bytes_, "Encode: out has another size");
    EncodeElements(rows, out.data());
  }

  absl::Status Decode(std::span<const uint8_t> bytes, size_t dim,
                      std::span<float> rows) const override {
    SYNCLINE_CHECK(dim > 0 && rows.size() % dim == 0, "Decode: rows are not whole");
    if (bytes.size() != rows.size() * element_bytes_) {
      return InvalidArgument("codec {}: {} rows of {} elements are {} bytes, not {}", name(),
                             rows.size() / dim, dim, rows.size() * element_bytes_, bytes.size());
    }
    DecodeElements(bytes.data(), rows);
    return absl::OkStatus();
  }

 protected:
  virtual void EncodeElements(std::span<const float> rows, uint8_t* out) const = 0;
  virtual void DecodeElements(const uint8_t* bytes, std::span<float> rows) const = 0;

 private:
  const size_t element_bytes_;
};

class Fp32Codec final : public ElementCodec {
 public:
  Fp32Codec() : ElementCodec(sizeof(float)) {}
  CodecId id() const override { return CodecId::kFp32; }
  std::string_view name() const override { return "fp32"; }

 private:
  void EncodeElements(std::span<const float> rows, uint8_t* out) const override {
    if (!rows.empty()) std::memcpy(out, rows.data(), rows.size_bytes());
  }
  void DecodeElements(const uint8_t* bytes, std::span<float> rows) const override {
    if (!rows.empty()) std::memcpy(rows.data(), bytes, rows.size_bytes());
  }
};

class Fp16Codec final : public ElementCodec {
 public:
  Fp16Codec() : ElementCodec(sizeof(uint16_t)) {}
  CodecId id() const override { return CodecId::kFp16; }
  std::string_view name() const override { return "fp16"; }

 private:
  void EncodeElements(std::span<const float> rows, uint8_t* out) const override {
    for (const float value : rows) {
      const uint16_t half = HalfFromFloat(value);
      std::memcpy(out, &half, sizeof(half));
      out += sizeof(half);
    }
  }
  void DecodeElements(const uint8_t* bytes, std::span<float> rows) const override {
    for (float& value : rows) {
      uint16_t half = 0;
      std::memcpy(&half, bytes, sizeof(half));
      value = FloatFromHalf(half);
      bytes += sizeof(half);
    }
  }
};

std::span<const Codec* const> AllCodecs() {
  static const Fp32Codec fp32;
  static const Fp16Codec fp16;
  static const std::array<const Codec*, 2> all = {&fp32, &fp16};
  return all;
}

}  // namespace

const Codec* FindCodec(uint32_t id) {
  for (const Codec* codec : AllCodecs()) {
    if (static_cast<uint32_t>(codec->id()) == id) return codec;
  }
  return nullptr;
}

const Codec* FindCodec(std::string_view name) {
  for (const Codec* codec : AllCodecs()) {
    if (codec->name() == name) return codec;
  }
  return nullptr;
}

}  // namespace syncline
