#include "server/optimizer/factory.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(FactoryTest, AnUnknownNameListsTheKnownOnes) {
  EXPECT_THAT(
      MakeOptimizer({"lamb", {{"lr", 1}}}),
      StatusIs(kInvalid, AllOf(HasSubstr("'lamb'"),
                               HasSubstr("sgd, momentum, adagrad, rowwise_adagrad, adam"))));
}

TEST(FactoryTest, AnUnknownArgumentIsNamedWithWhatIsAccepted) {
  EXPECT_THAT(MakeOptimizer({"adagrad", {{"lr", 1}, {"beta1", 0.9}}}),
              StatusIs(kInvalid, AllOf(HasSubstr("argument beta1 is unknown"),
                                       HasSubstr("initial_accumulator (at least 0, default 0.1)"),
                                       HasSubstr("lr (above 0, required)"), HasSubstr("clip_norm"),
                                       HasSubstr("weight_decay"))));
}

TEST(FactoryTest, TheLearningRateIsRequired) {
  EXPECT_THAT(MakeOptimizer({"sgd", {}}), StatusIs(kInvalid, HasSubstr("argument lr is missing")));
}

TEST(FactoryTest, AllProblemsAreInOneMessage) {
  EXPECT_THAT(
      MakeOptimizer({"adam", {{"lr", -1}, {"beta1", 1}, {"mu", 0.5}}}),
      StatusIs(kInvalid, AllOf(HasSubstr("argument lr is -1"), HasSubstr("argument beta1 is 1"),
                               HasSubstr("argument mu is unknown"))));
}

TEST(FactoryTest, ValuesOutsideTheirRangeAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<OptimizerSpec> specs = {
      {"sgd", {{"lr", 0}}},
      {"sgd", {{"lr", nan}}},
      {"sgd", {{"lr", infinity}}},
      {"sgd", {{"lr", 1e39}}},   // no float
      {"sgd", {{"lr", 1e-60}}},  // 0 as a float
      {"sgd", {{"lr", 1}, {"weight_decay", -0.1}}},
      {"sgd", {{"lr", 1}, {"clip_norm", -1}}},
      {"sgd", {{"lr", 1}, {"clip_norm", nan}}},
      {"momentum", {{"lr", 1}, {"mu", 1}}},
      {"momentum", {{"lr", 1}, {"mu", -0.1}}},
      {"momentum", {{"lr", 1}, {"nesterov", 0.5}}},
      {"adagrad", {{"lr", 1}, {"eps", 0}}},
      {"adagrad", {{"lr", 1}, {"initial_accumulator", -1}}},
      {"rowwise_adagrad", {{"lr", 1}, {"eps", 1e-60}}},
      {"adam", {{"lr", 1}, {"beta2", 1}}},
      {"adam", {{"lr", 1}, {"beta2", 1 - 1e-12}}},  // 1 as a float
      {"adam", {{"lr", 1}, {"eps", 0}}},
  };
  for (const OptimizerSpec& spec : specs) {
    EXPECT_THAT(MakeOptimizer(spec), StatusIs(kInvalid, HasSubstr("must be")))
        << spec.name << " " << spec.arguments.rbegin()->first;
  }
}

TEST(FactoryTest, TheBaseLearningRateIsTheSpecs) {
  EXPECT_EQ(BaseLearningRate({"sgd", {{"lr", 0.1}}}), 0.1f);
}

}  // namespace
}  // namespace syncline
