// IEEE 754 binary16 in portable scalar code.
#ifndef SYNCLINE_COMMON_CODEC_HALF_H_
#define SYNCLINE_COMMON_CODEC_HALF_H_

#include <bit>
#include <cstdint>

namespace syncline {

// Rounds to nearest, ties to even. From 65,520 up (half a step above the greatest half, 65,504) the
// result is infinity; below 2^-25 and at it, zero; the sign is kept. NaN stays NaN: quiet, with the
// top bits of its payload.
constexpr uint16_t HalfFromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65,520
  if (magnitude >= 0x38800000u) {                                              // 2^-14: normal
    // The exponent is rebased by 127 - 15; a carry out of the mantissa raises it, as it must.
    const uint32_t rebased = magnitude - (112u << 23);
    const uint32_t odd = (rebased >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((rebased + 0xfffu + odd) >> 13));
  }
  if (magnitude <= 0x33000000u) return static_cast<uint16_t>(sign);  // 2^-25 ties to zero
  // Subnormal: the mantissa in units of 2^-24.
  const uint32_t exponent = magnitude >> 23;
  const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t shift = 126u - exponent;  // 14 to 24
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  uint32_t units = mantissa >> shift;
  if (rest > half || (rest == half && (units & 1u) != 0)) ++units;
  return static_cast<uint16_t>(sign | units);
}

// Exact. A signalling NaN keeps its payload.
constexpr float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  uint32_t mantissa = half & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent > 0) {
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  }
  if (mantissa == 0) return std::bit_cast<float>(sign);
  // Subnormal: shift the leading one to its place.
  const auto shift = static_cast<uint32_t>(std::countl_zero(mantissa)) - 21u;
  mantissa = (mantissa << shift) & 0x3ffu;
  return std::bit_cast<float>(sign | ((113u - shift) << 23) | (mantissa << 13));
}

}  // namespace syncline

#endif  // SYNCLINE_COMMON_CODEC_HALF_H_
