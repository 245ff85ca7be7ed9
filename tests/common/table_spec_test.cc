#include "common/table_spec.h"

#include <cmath>

#include "gtest/gtest.h"

#include "common/status/status.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TableSpec Embedding() {
  TableSpec spec;
  spec.name = "user";
  spec.dim = 16;
  spec.optimizer = {.name = "sgd", .arguments = {{"lr", 0.1}}};
  return spec;
}

TEST(TableSpecTest, AcceptsAPlainEmbedding) { EXPECT_OK(ValidateTableSpec(Embedding())); }

TEST(TableSpecTest, NamesEveryProblemAtOnce) {
  TableSpec spec = Embedding();
  spec.name = "no spaces";
  spec.dim = 0;
  spec.initializer = {.kind = InitializerSpec::Kind::kUniform, .a = 1, .b = 1};
  spec.consistency.staleness = Staleness(-1);
  EXPECT_THAT(ValidateTableSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("letters"), HasSubstr("dim is 0"), HasSubstr("low < high"),
                             HasSubstr("staleness is -1"))));
}

TEST(TableSpecTest, RefusesNonFiniteArguments) {
  TableSpec spec = Embedding();
  spec.optimizer.arguments["lr"] = std::nan("");
  EXPECT_THAT(ValidateTableSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lr is not finite")));
}

TEST(TableSpecTest, RefusesWhatThisVersionDoesNotHaveByName) {
  TableSpec spec = Embedding();
  spec.durability = Durability::kSync;
  EXPECT_THAT(ValidateTableSpec(spec), HasDetail(Detail::kUnsupported));
  spec = Embedding();
  spec.consistency.mode = ConsistencyMode::kEssp;
  EXPECT_THAT(ValidateTableSpec(spec), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(TableSpecTest, DenseTablesNeedASize) {
  TableSpec spec = Embedding();
  spec.kind = TableKind::kDense;
  EXPECT_THAT(ValidateTableSpec(spec), StatusIs(absl::StatusCode::kInvalidArgument));
  spec.elements = 33;
  EXPECT_OK(ValidateTableSpec(spec));
  EXPECT_EQ(spec.DenseRows(), 3u);  // 16 + 16 + 1
}

TEST(TableSpecTest, DescribesExactlyWhatDiffers) {
  TableSpec asked = Embedding();
  EXPECT_THAT(DescribeDifference(Embedding(), asked), IsEmpty());
  asked.dim = 32;
  asked.optimizer.arguments["lr"] = 0.2;
  EXPECT_EQ(DescribeDifference(Embedding(), asked),
            "dim: 16 here, 32 asked; optimizer: sgd lr=0.1 here, sgd lr=0.2 asked");
}

}  // namespace
}  // namespace syncline
