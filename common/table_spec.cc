#include "common/table_spec.h"

#include <cmath>
#include <string_view>

#include "fmt/format.h"

#include "common/limits.h"
#include "common/status/status.h"

namespace syncline {
namespace {

// Collects every problem, so that a user mends a spec in one go.
class Problems {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += "; ";
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

void CheckName(const std::string& name, Problems& problems) {
  if (name.empty()) problems.Add("name is empty");
  if (name.size() > kMaxNameBytes) {
    problems.Add("name has {} bytes, at most {} are allowed", name.size(), kMaxNameBytes);
  }
  for (char c : name) {
    if (!IsNameCharacter(c)) {
      problems.Add("name may hold only letters, digits, '_', '-' and '.'");
      break;
    }
  }
}

void CheckShape(const TableSpec& spec, Problems& problems) {
  if (spec.dim == 0 || spec.dim > kMaxDim) {
    problems.Add("dim is {}, must be 1 to {}", spec.dim, kMaxDim);
  }
  if (spec.kind == TableKind::kDense) {
    if (spec.elements == 0 || spec.elements > static_cast<uint64_t>(kMaxDenseElements)) {
      problems.Add("elements is {}, a dense table needs 1 to {}", spec.elements, kMaxDenseElements);
    }
    if (spec.ids != IdPolicy{}) problems.Add("a dense table takes no id policy");
  } else if (spec.elements != 0) {
    problems.Add("elements is for dense tables only");
  }
}

void CheckInitializer(const InitializerSpec& init, Problems& problems) {
  using Kind = InitializerSpec::Kind;
  if (!std::isfinite(init.a) || !std::isfinite(init.b)) {
    problems.Add("initializer arguments must be finite");
    return;
  }
  if (init.kind == Kind::kUniform && !(init.a < init.b)) {
    problems.Add("uniform initializer needs low < high, got {} and {}", init.a, init.b);
  }
  if ((init.kind == Kind::kNormal || init.kind == Kind::kTruncatedNormal) && !(init.b > 0)) {
    problems.Add("normal initializer needs a deviation above 0, got {}", init.b);
  }
  if (init.kind == Kind::kInverseSqrt && !(init.a >= 1)) {
    problems.Add("inverse_sqrt initializer needs a fan of at least 1, got {}", init.a);
  }
}

void CheckConsistency(const ConsistencyPolicy& policy, Problems& problems) {
  if (policy.staleness < Staleness(0) || policy.staleness > Staleness(kMaxStaleness)) {
    problems.Add("staleness is {}, must be 0 to {}", policy.staleness.value(), kMaxStaleness);
  }
  if (policy.mode == ConsistencyMode::kBsp) {
    if (policy.staleness != Staleness(0)) problems.Add("bsp has staleness 0");
    if (policy.apply != ApplyMode::kRound) problems.Add("bsp applies by rounds");
  }
}

absl::Status CheckSupported(const TableSpec& spec) {
  constexpr auto kCode = absl::StatusCode::kUnimplemented;
  if (spec.durability != Durability::kNone) {
    return MakeError(kCode, Detail::kUnsupported,
                     "table {}: only durability none is supported by this version", spec.name);
  }
  if (spec.consistency.mode == ConsistencyMode::kEssp) {
    return MakeError(kCode, Detail::kUnsupported,
                     "table {}: consistency essp is not supported by this version; use ssp",
                     spec.name);
  }
  if (spec.consistency.mode == ConsistencyMode::kAsync &&
      spec.consistency.apply == ApplyMode::kRound) {
    return MakeError(kCode, Detail::kUnsupported,
                     "table {}: async with rounds needs a quorum or a deadline that closes rounds, "
                     "which this version does not have",
                     spec.name);
  }
  return absl::OkStatus();
}

std::string Describe(const OptimizerSpec& spec) {
  std::string text = spec.name.empty() ? "none" : spec.name;
  for (const auto& [name, value] : spec.arguments) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string Describe(const InitializerSpec& spec) {
  return fmt::format("kind {} a={} b={} seed={}", static_cast<int>(spec.kind), spec.a, spec.b,
                     spec.seed);
}

std::string Describe(const ConsistencyPolicy& policy) {
  constexpr std::string_view kModes[] = {"?", "bsp", "ssp", "essp", "async"};
  return fmt::format("{}({}) {}", kModes[static_cast<size_t>(policy.mode)],
                     policy.staleness.value(),
                     policy.apply == ApplyMode::kRound ? "round" : "immediate");
}

std::string Describe(const IdPolicy& policy) {
  constexpr std::string_view kKinds[] = {"?", "accept", "zero", "reject"};
  return fmt::format("{} vocabulary={}", kKinds[static_cast<size_t>(policy.kind)],
                     policy.vocabulary);
}

}  // namespace

absl::Status ValidateTableSpec(const TableSpec& spec) {
  Problems problems;
  CheckName(spec.name, problems);
  CheckShape(spec, problems);
  CheckInitializer(spec.initializer, problems);
  CheckConsistency(spec.consistency, problems);
  if (spec.ids.kind != IdPolicy::Kind::kAccept && spec.ids.vocabulary == 0) {
    problems.Add("id policy zero and reject need a vocabulary bound");
  }
  for (const auto& [name, value] : spec.optimizer.arguments) {
    if (!std::isfinite(value)) problems.Add("optimizer argument {} is not finite", name);
  }
  if (!problems.empty()) {
    return InvalidArgument("table {}: {}", spec.name, problems.text());
  }
  return CheckSupported(spec);
}

std::string DescribeDifference(const TableSpec& here, const TableSpec& asked) {
  std::string text;
  auto add = [&text](std::string_view field, const std::string& a, const std::string& b) {
    if (a == b) return;
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {} here, {} asked", field, a, b);
  };
  auto number = [](auto n) { return fmt::format("{}", n); };
  add("name", here.name, asked.name);
  add("kind", number(static_cast<int>(here.kind)), number(static_cast<int>(asked.kind)));
  add("dim", number(here.dim), number(asked.dim));
  add("elements", number(here.elements), number(asked.elements));
  add("dtype", number(static_cast<int>(here.dtype)), number(static_cast<int>(asked.dtype)));
  add("optimizer", Describe(here.optimizer), Describe(asked.optimizer));
  add("initializer", Describe(here.initializer), Describe(asked.initializer));
  add("consistency", Describe(here.consistency), Describe(asked.consistency));
  add("reduce", number(static_cast<int>(here.reduce)), number(static_cast<int>(asked.reduce)));
  add("durability", number(static_cast<int>(here.durability)),
      number(static_cast<int>(asked.durability)));
  add("ids", Describe(here.ids), Describe(asked.ids));
  add("allow_non_finite", number(here.allow_non_finite), number(asked.allow_non_finite));
  return text;
}

}  // namespace syncline
