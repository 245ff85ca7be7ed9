#include "server/table/initializer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "common/hash.h"
#include "common/status/status.h"
#include "server/table/inverse_normal.h"

namespace syncline {
namespace {

using Kind = InitializerSpec::Kind;

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
constexpr double kMaxFloat = 3.4028234663852886e38;
// P(Z <= -2).
constexpr double kBelowMinusTwo = 0.022750131948179195;
// Above |InverseNormal(2^-53)|, the furthest draw.
constexpr double kFurthestDraw = 8.3;

double HalfOpen(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }
double Open(uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52; }

float Uniform(double low, double high, uint64_t bits) {
  const float value = static_cast<float>(low + (high - low) * HalfOpen(bits));
  return value < high ? value : std::nextafter(static_cast<float>(high), -INFINITY);
}

double LargestMagnitude(const InitializerSpec& spec) {
  switch (spec.kind) {
    case Kind::kZeros:
    case Kind::kInverseSqrt:
      return 0;
    case Kind::kConstant:
      return std::abs(spec.a);
    case Kind::kUniform:
      return std::max(std::abs(spec.a), std::abs(spec.b));
    case Kind::kNormal:
    case Kind::kTruncatedNormal:
      return std::abs(spec.a) + kFurthestDraw * std::abs(spec.b);
  }
  return INFINITY;
}

bool ArgumentsMakeSense(const InitializerSpec& spec) {
  switch (spec.kind) {
    case Kind::kZeros:
    case Kind::kConstant:
      return true;
    case Kind::kUniform:
      return spec.a < spec.b;
    case Kind::kNormal:
    case Kind::kTruncatedNormal:
      return spec.b > 0;
    case Kind::kInverseSqrt:
      return spec.a >= 1;
  }
  return false;
}

InitializerSpec Resolve(InitializerSpec spec) {
  if (spec.kind == Kind::kInverseSqrt) {
    const double bound = 1 / std::sqrt(spec.a);
    spec.kind = Kind::kUniform;
    spec.a = -bound;
    spec.b = bound;
  }
  return spec;
}

}  // namespace

Initializer::Initializer(const InitializerSpec& spec, TableId table)
    : spec_(Resolve(spec)), table_(table) {}

void Initializer::Fill(Key key, std::span<float> out) const {
  if (spec_.kind == Kind::kZeros || spec_.kind == Kind::kConstant) {
    const double value = spec_.kind == Kind::kZeros ? 0 : spec_.a;
    std::fill(out.begin(), out.end(), static_cast<float>(value));
    return;
  }
  const uint64_t row = Mix64(StableHash(table_, key) ^ Mix64(spec_.seed + kGolden));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = Element(Mix64(Mix64(row + (i + 1) * kGolden) ^ row));
  }
}

float Initializer::Element(uint64_t bits) const {
  if (spec_.kind == Kind::kUniform) return Uniform(spec_.a, spec_.b, bits);
  double p = Open(bits);
  if (spec_.kind == Kind::kTruncatedNormal) p = kBelowMinusTwo + (1 - 2 * kBelowMinusTwo) * p;
  return static_cast<float>(spec_.a + spec_.b * InverseNormal(p));
}

absl::Status Initializer::Validate(const InitializerSpec& spec) {
  if (!ArgumentsMakeSense(spec)) {
    return InvalidArgument(
        "initializer kind {} with a={} and b={}: uniform needs a < b, normal kinds b above 0, "
        "inverse_sqrt a of at least 1",
        static_cast<int>(spec.kind), spec.a, spec.b);
  }
  if (!(LargestMagnitude(spec) <= kMaxFloat)) {
    return InvalidArgument("initializer kind {} with a={} and b={} gives values beyond the floats",
                           static_cast<int>(spec.kind), spec.a, spec.b);
  }
  return absl::OkStatus();
}

}  // namespace syncline
