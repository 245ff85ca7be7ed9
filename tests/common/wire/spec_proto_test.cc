#include "common/wire/spec_proto.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TableSpec FullSpec() {
  TableSpec spec;
  spec.name = "users";
  spec.kind = TableKind::kDense;
  spec.dim = 16;
  spec.elements = 1'000;
  spec.optimizer = {"adam", {{"lr", 0.1}, {"beta1", 0.9}}};
  spec.initializer = {InitializerSpec::Kind::kTruncatedNormal, 0.5, 2, 42};
  spec.consistency = {ConsistencyMode::kAsync, Staleness(7), ApplyMode::kRound};
  spec.reduce = Reduce::kSum;
  spec.durability = Durability::kReplicated;
  spec.ids = {IdPolicy::Kind::kReject, 99};
  spec.allow_non_finite = true;
  return spec;
}

TEST(SpecProtoTest, EveryFieldRoundTrips) {
  ASSERT_OK_AND_ASSIGN(const TableSpec back, FromProto(ToProto(FullSpec())));
  EXPECT_EQ(DescribeDifference(back, FullSpec()), "");
  EXPECT_EQ(back, FullSpec());
}

TEST(SpecProtoTest, UnsetFieldsTakeTheDocumentedDefaults) {
  ASSERT_OK_AND_ASSIGN(const TableSpec spec, FromProto(v1::TableSpec()));
  EXPECT_EQ(spec, TableSpec());
}

TEST(SpecProtoTest, ApplyFollowsTheModeWhenUnset) {
  v1::TableSpec spec;
  spec.mutable_consistency()->set_mode(v1::ConsistencyPolicy::BSP);
  ASSERT_OK_AND_ASSIGN(const TableSpec bsp, FromProto(spec));
  EXPECT_EQ(bsp.consistency,
            (ConsistencyPolicy{ConsistencyMode::kBsp, Staleness(0), ApplyMode::kRound}));
  spec.mutable_consistency()->set_mode(v1::ConsistencyPolicy::SSP);
  ASSERT_OK_AND_ASSIGN(const TableSpec ssp, FromProto(spec));
  EXPECT_EQ(ssp.consistency,
            (ConsistencyPolicy{ConsistencyMode::kSsp, Staleness(0), ApplyMode::kImmediate}));
}

TEST(SpecProtoTest, UnknownEnumValuesAreRefusedAllAtOnce) {
  v1::TableSpec spec = ToProto(FullSpec());
  spec.set_dtype(static_cast<v1::DType>(9));
  spec.mutable_ids()->set_kind(static_cast<v1::IdPolicy::Kind>(-1));
  EXPECT_THAT(FromProto(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("dtype 9"), HasSubstr("ids.kind -1"))));
}

TEST(SpecProtoTest, TablesRoundTrip) {
  ASSERT_OK_AND_ASSIGN(const TableInfo back,
                       FromProto(ToProto(TableInfo{TableId(3), JobId(2), FullSpec()})));
  EXPECT_EQ(back.id, TableId(3));
  EXPECT_EQ(back.job, JobId(2));
  EXPECT_EQ(back.spec, FullSpec());
}

SlotMap SomeMap() {
  return SlotMap::Initial("c", 8,
                          {{ServerId(9), "b", "h:2", 12}, {ServerId(4), "a", "unix:/s", 11}})
      .value();
}

TEST(ClusterMapTest, RoundTrips) {
  const SlotMap map = SomeMap();
  ASSERT_OK_AND_ASSIGN(const SlotMap back, FromProto(ToProto(map)));
  EXPECT_EQ(back.cluster(), "c");
  EXPECT_EQ(back.epoch(), Epoch(1));
  EXPECT_THAT(back.servers(), ElementsAreArray(map.servers()));
  EXPECT_THAT(back.slots(), ElementsAreArray(map.slots()));
}

TEST(ClusterMapTest, AnIncompleteMapIsUnavailable) {
  v1::ClusterMap map = ToProto(SomeMap());
  map.set_epoch(0);
  map.set_servers_expected(5);
  EXPECT_THAT(FromProto(map), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("2 of 5")));
}

TEST(ClusterMapTest, ContradictionsAreRefused) {
  v1::ClusterMap map = ToProto(SomeMap());
  map.mutable_slots(0)->set_server(2);
  EXPECT_THAT(FromProto(map), StatusIs(absl::StatusCode::kInvalidArgument));
  map = ToProto(SomeMap());
  map.set_slot_count(4);
  EXPECT_THAT(FromProto(map), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace syncline
