// Registers every optimizer of the factory with the conformance suite.
#include "tests/conformance/optimizer_suite.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "server/optimizer/factory.h"

namespace syncline {
namespace {

OptimizerCase Case(std::string test_name, std::string name, std::map<std::string, double> more) {
  more.emplace("lr", 0.1);
  OptimizerSpec spec{std::move(name), std::move(more)};
  return {std::move(test_name), [spec] { return MakeOptimizer(spec).value(); }};
}

INSTANTIATE_TEST_SUITE_P(
    Factory, OptimizerSuite,
    ::testing::Values(Case("Sgd", "sgd", {}), Case("Momentum", "momentum", {}),
                      Case("Nesterov", "momentum", {{"nesterov", 1}}),
                      Case("Adagrad", "adagrad", {}),
                      Case("AdagradFromZero", "adagrad", {{"initial_accumulator", 0}}),
                      Case("RowwiseAdagrad", "rowwise_adagrad", {}), Case("Adam", "adam", {}),
                      Case("Decayed", "sgd", {{"weight_decay", 0.1}}),
                      Case("Clipped", "adam", {{"clip_norm", 0.5}, {"weight_decay", 0.01}})),
    [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace syncline
