#include "server/optimizer/factory.h"

#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/status/status.h"
#include "server/optimizer/adagrad.h"
#include "server/optimizer/adam.h"
#include "server/optimizer/arguments.h"
#include "server/optimizer/modifiers.h"
#include "server/optimizer/sgd.h"

namespace syncline {
namespace {

using OptimizerPtr = std::unique_ptr<Optimizer>;

constexpr std::string_view kLearningRate = "lr";

float AsFloat(double value) { return static_cast<float>(value); }

OptimizerPtr MakeSgd(ArgumentReader&) { return std::make_unique<Sgd>(); }

OptimizerPtr MakeMomentum(ArgumentReader& arguments) {
  const double mu = arguments.Take("mu", kUnitHalfOpen, 0.9);
  const double nesterov = arguments.Take("nesterov", kZeroOrOne, 0);
  return std::make_unique<Momentum>(Momentum::Options{AsFloat(mu), nesterov == 1});
}

AdagradOptions TakeAdagradOptions(ArgumentReader& arguments) {
  const double initial = arguments.Take("initial_accumulator", kAtLeastZero, 0.1);
  const double eps = arguments.Take("eps", kAboveZero, 1e-8);
  return {AsFloat(initial), AsFloat(eps)};
}

OptimizerPtr MakeAdagrad(ArgumentReader& arguments) {
  return std::make_unique<Adagrad>(TakeAdagradOptions(arguments));
}

OptimizerPtr MakeRowwiseAdagrad(ArgumentReader& arguments) {
  return std::make_unique<RowwiseAdagrad>(TakeAdagradOptions(arguments));
}

OptimizerPtr MakeAdam(ArgumentReader& arguments) {
  const double beta1 = arguments.Take("beta1", kUnitHalfOpen, 0.9);
  const double beta2 = arguments.Take("beta2", kUnitHalfOpen, 0.999);
  const double eps = arguments.Take("eps", kAboveZero, 1e-8);
  return std::make_unique<Adam>(Adam::Options{beta1, beta2, AsFloat(eps)});
}

struct Entry {
  std::string_view name;
  OptimizerPtr (*make)(ArgumentReader&);
};

constexpr Entry kOptimizers[] = {{"sgd", MakeSgd},
                                 {"momentum", MakeMomentum},
                                 {"adagrad", MakeAdagrad},
                                 {"rowwise_adagrad", MakeRowwiseAdagrad},
                                 {"adam", MakeAdam}};

std::string KnownNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kOptimizers) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Modifiers TakeModifiers(ArgumentReader& arguments) {
  const double weight_decay = arguments.Take("weight_decay", kAtLeastZero, 0);
  const double clip_norm = arguments.Take("clip_norm", kAtLeastZero, 0);
  return {.clip_norm = AsFloat(clip_norm), .weight_decay = AsFloat(weight_decay)};
}

absl::StatusOr<OptimizerPtr> MakeFrom(const Entry& entry, const OptimizerSpec& spec) {
  ArgumentReader arguments(spec);
  arguments.Take(kLearningRate, kAboveZero, std::nullopt);
  OptimizerPtr optimizer = entry.make(arguments);
  const Modifiers modifiers = TakeModifiers(arguments);
  RETURN_IF_ERROR(arguments.Finish());
  if (modifiers.clip_norm == 0 && modifiers.weight_decay == 0) return optimizer;
  return std::make_unique<ModifiedOptimizer>(std::move(optimizer), modifiers);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerSpec& spec) {
  for (const Entry& entry : kOptimizers) {
    if (entry.name == spec.name) return MakeFrom(entry, spec);
  }
  return InvalidArgument("optimizer '{}' is unknown; known are {}", spec.name, KnownNames());
}

float BaseLearningRate(const OptimizerSpec& spec) {
  return AsFloat(spec.arguments.at(std::string(kLearningRate)));
}

}  // namespace syncline
