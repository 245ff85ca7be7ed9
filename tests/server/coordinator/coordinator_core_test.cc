// Servers, map, jobs, tables and restarts of the coordinator's core.
#include "server/coordinator/coordinator_core.h"

#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/server/coordinator/fake_cluster.h"
#include "tests/support/status_matchers.h"

namespace syncline::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExists = absl::StatusCode::kAlreadyExists;

// --- Servers and the map.

TEST(CoordinatorMapTest, IsCompleteWhenTheExpectedServersHaveRegistered) {
  FakeCluster cluster(2);
  ASSERT_OK(cluster.Register(1));
  EXPECT_EQ(cluster.core().GetMap().map, nullptr);
  EXPECT_THAT(cluster.core().GetMap().servers, SizeIs(1));
  ASSERT_OK(cluster.Register(0));
  const MapView view = cluster.core().GetMap();
  ASSERT_NE(view.map, nullptr);
  EXPECT_EQ(view.map->epoch(), Epoch(1));
  EXPECT_THAT(view.map->SlotsOf(ServerId(0)), SizeIs(4));
  EXPECT_THAT(view.map->SlotsOf(ServerId(1)), SizeIs(4));
  EXPECT_FALSE(view.cluster.empty());
}

TEST(CoordinatorMapTest, GoesToEveryServer) {
  FakeCluster cluster(2);
  cluster.RegisterAll();
  for (FakeServer& server : cluster.servers()) {
    ASSERT_NE(server.map, nullptr);
    EXPECT_EQ(server.map->epoch(), Epoch(1));
  }
}

TEST(CoordinatorMapTest, RegisteringAgainChangesNothing) {
  FakeCluster cluster(2);
  cluster.RegisterAll();
  ASSERT_OK_AND_ASSIGN(const RegisterResult again, cluster.Register(1));
  EXPECT_EQ(again.server, ServerId(1));
  EXPECT_EQ(cluster.core().GetMap().map->At(SlotId(1)).incarnation, Incarnation(1));
  EXPECT_EQ(cluster.core().GetMap().map->epoch(), Epoch(1));
}

TEST(CoordinatorMapTest, AnotherBootRaisesTheIncarnationsOfItsSlotsAndNotTheEpoch) {
  FakeCluster cluster(2);
  cluster.RegisterAll();
  cluster.RestartServer(1);
  ASSERT_OK_AND_ASSIGN(const RegisterResult again, cluster.Register(1));
  EXPECT_EQ(again.server, ServerId(1));
  cluster.Settle();
  for (const auto& server : cluster.servers()) {
    ASSERT_NE(server.map, nullptr);
    EXPECT_EQ(server.map->epoch(), Epoch(1));
    EXPECT_EQ(server.map->At(SlotId(0)).incarnation, Incarnation(1));  // of server 0
    EXPECT_EQ(server.map->At(SlotId(1)).incarnation, Incarnation(2));  // of server 1
    EXPECT_EQ(server.map->FindServer(ServerId(1))->boot, cluster.server(1).boot());
  }
}

TEST(CoordinatorMapTest, AnotherEndpointRaisesTheEpoch) {
  FakeCluster cluster(2);
  cluster.RegisterAll();
  Effects effects;
  ASSERT_OK(cluster.core().RegisterServer({"ps-1", "elsewhere:9", cluster.server(1).boot(), "t"},
                                          cluster.now(), effects));
  EXPECT_EQ(cluster.core().GetMap().map->epoch(), Epoch(2));
  EXPECT_EQ(cluster.core().GetMap().map->At(SlotId(1)).incarnation, Incarnation(1));
  EXPECT_THAT(effects.commands, SizeIs(2));
}

TEST(CoordinatorServersTest, ANameInUseByALiveProcessIsRefusedUntilThatIsSilent) {
  FakeCluster cluster(1);
  cluster.RegisterAll();
  Effects effects;
  const RegisterRequest twin{"ps-0", "other:1", 77, "t"};
  EXPECT_THAT(cluster.core().RegisterServer(twin, cluster.now(), effects),
              StatusIs(kExists, HasSubstr("host0:1")));
  cluster.Advance(std::chrono::seconds(4));
  EXPECT_OK(cluster.core().RegisterServer(twin, cluster.now(), effects));
}

TEST(CoordinatorServersTest, AServerMoreThanExpectedIsRefusedByName) {
  FakeCluster cluster(1);
  cluster.RegisterAll();
  Effects effects;
  EXPECT_THAT(
      cluster.core().RegisterServer({"ps-9", "h:1", 5, "t"}, cluster.now(), effects),
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("ps-9"), HasSubstr("ps-0"))));
  EXPECT_THAT(cluster.core().RegisterServer({"", "h:1", 5, "t"}, cluster.now(), effects),
              StatusIs(kInvalid));
}

TEST(CoordinatorServersTest, HeartbeatsKeepAServerLiveAndAskStrangersToRegister) {
  FakeCluster cluster(1);
  EXPECT_FALSE(cluster.core().ServerHeartbeat(ServerId(0), 1, cluster.now()));
  cluster.RegisterAll();
  const uint64_t boot = cluster.server(0).boot();
  EXPECT_FALSE(cluster.core().ServerHeartbeat(ServerId(0), boot + 1, cluster.now()));
  cluster.Advance(std::chrono::seconds(2));
  EXPECT_TRUE(cluster.core().ServerHeartbeat(ServerId(0), boot, cluster.now()));
  cluster.Advance(std::chrono::seconds(2));
  EXPECT_TRUE(cluster.core().ListServers(cluster.now())[0].live);
  cluster.Advance(std::chrono::seconds(2));
  EXPECT_FALSE(cluster.core().ListServers(cluster.now())[0].live);
}

// --- Jobs.

TEST(CoordinatorJobsTest, CreatingAnEqualJobGivesTheSameOne) {
  FakeCluster cluster(1);
  ASSERT_OK_AND_ASSIGN(const JobInfo first, cluster.CreateJob(MakeJob("a", 2)));
  ASSERT_OK_AND_ASSIGN(const JobInfo again, cluster.CreateJob(MakeJob("a", 2)));
  ASSERT_OK_AND_ASSIGN(const JobInfo other, cluster.CreateJob(MakeJob("b", 2)));
  EXPECT_EQ(first.id, again.id);
  EXPECT_NE(first.id, other.id);
  EXPECT_EQ(first.state, JobState::kStarting);
}

TEST(CoordinatorJobsTest, AnotherSpecUnderTheNameIsRefusedWithTheDifference) {
  FakeCluster cluster(1);
  ASSERT_OK(cluster.CreateJob(MakeJob("a", 2)));
  const auto other = cluster.CreateJob(MakeJob("a", 3));
  EXPECT_THAT(other, StatusIs(kExists, HasSubstr("ranks: 2 here, 3 asked")));
  EXPECT_THAT(other, HasDetail(Detail::kSpecDiffers));
}

TEST(CoordinatorJobsTest, AllProblemsOfASpecAreNamedAtOnce) {
  FakeCluster cluster(1);
  JobSpec spec = MakeJob("no spaces", -1);
  spec.lease = std::chrono::milliseconds(1);
  EXPECT_THAT(cluster.CreateJob(spec),
              StatusIs(kInvalid, AllOf(HasSubstr("name"), HasSubstr("ranks"), HasSubstr("lease"))));
}

// --- Tables.

class CoordinatorTablesTest : public ::testing::Test {
 protected:
  CoordinatorTablesTest() {
    cluster_.RegisterAll();
    EXPECT_OK(cluster_.CreateJob(MakeJob("job", 2)));
    cluster_.Settle();
  }
  absl::StatusOr<TableInfo> Create(const TableSpec& spec, const std::string& job = "job") {
    const RequestId request = cluster_.CreateTable(job, spec);
    cluster_.Settle();
    return cluster_.TableOf(request);
  }

  FakeCluster cluster_{2};
};

TEST_F(CoordinatorTablesTest, ATableIsAnsweredWhenEveryServerKnowsIt) {
  const RequestId request = cluster_.CreateTable("job", MakeTable("emb"));
  EXPECT_EQ(cluster_.AnswerTo(request), std::nullopt);
  cluster_.Settle();
  ASSERT_OK_AND_ASSIGN(const TableInfo info, cluster_.TableOf(request));
  for (FakeServer& server : cluster_.servers()) EXPECT_TRUE(server.tables.contains(info.id));
}

TEST_F(CoordinatorTablesTest, CreatingAnEqualTableGivesTheSameOne) {
  ASSERT_OK_AND_ASSIGN(const TableInfo first, Create(MakeTable("emb")));
  ASSERT_OK_AND_ASSIGN(const TableInfo again, Create(MakeTable("emb")));
  ASSERT_OK_AND_ASSIGN(const TableInfo other, Create(MakeTable("emb2")));
  EXPECT_EQ(first.id, again.id);
  EXPECT_NE(first.id, other.id);
}

TEST_F(CoordinatorTablesTest, ADifferentSpecIsRefusedWithEachDifference) {
  ASSERT_OK(Create(MakeTable("emb", 16)));
  TableSpec other = MakeTable("emb", 32);
  other.reduce = Reduce::kSum;
  const auto refused = Create(other);
  EXPECT_THAT(refused,
              StatusIs(kExists, AllOf(HasSubstr("dim: 16 here, 32 asked"), HasSubstr("reduce"))));
  EXPECT_THAT(refused, HasDetail(Detail::kSpecDiffers));
}

TEST_F(CoordinatorTablesTest, EachJobHasANamespaceOfItsOwn) {
  ASSERT_OK(cluster_.CreateJob(MakeJob("other", 1)));
  ASSERT_OK_AND_ASSIGN(const TableInfo here, Create(MakeTable("emb", 4)));
  ASSERT_OK_AND_ASSIGN(const TableInfo there, Create(MakeTable("emb", 8), "other"));
  EXPECT_NE(here.id, there.id);
  EXPECT_THAT(cluster_.core().DescribeTable("job", "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("emb")));
  EXPECT_THAT(Create(MakeTable("t"), "nobody"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CoordinatorTablesTest, BadSpecsAndUnknownOptimizersAreRefused) {
  EXPECT_THAT(Create(MakeTable("emb", 0)), StatusIs(kInvalid, HasSubstr("dim")));
  TableSpec spec = MakeTable("emb");
  spec.optimizer.name = "sgdd";
  EXPECT_THAT(Create(spec), StatusIs(kInvalid, HasSubstr("sgdd")));
  EXPECT_THAT(cluster_.core().ListTables(), IsEmpty());
}

TEST_F(CoordinatorTablesTest, AReproducibleJobTakesBspTablesOnly) {
  JobSpec job = MakeJob("exact", 2);
  job.reproducible = true;
  ASSERT_OK(cluster_.CreateJob(job));
  EXPECT_THAT(Create(MakeTable("emb"), "exact"), StatusIs(kInvalid, HasSubstr("bsp")));
  TableSpec spec = MakeTable("emb");
  spec.consistency = {ConsistencyMode::kBsp, Staleness(0), ApplyMode::kRound};
  EXPECT_OK(Create(spec, "exact"));
}

TEST_F(CoordinatorTablesTest, AnOptimizerIsSetOnceAndKnownEverywhere) {
  ASSERT_OK_AND_ASSIGN(const TableInfo table, Create(MakeTable("emb")));
  const OptimizerSpec sgd{"sgd", {{"lr", 0.5}}};
  RequestId request = cluster_.SetOptimizer("job", "emb", sgd);
  cluster_.Settle();
  EXPECT_OK(cluster_.TableOf(request));
  for (FakeServer& server : cluster_.servers()) {
    EXPECT_EQ(server.tables.at(table.id).spec.optimizer, sgd);
  }
  request = cluster_.SetOptimizer("job", "emb", sgd);
  cluster_.Settle();
  EXPECT_OK(cluster_.TableOf(request));
  request = cluster_.SetOptimizer("job", "emb", {"sgd", {{"lr", 0.1}}});
  EXPECT_THAT(cluster_.TableOf(request), StatusIs(kExists));
  // A worker that comes late and asks for the table as it was made still gets it.
  EXPECT_OK(Create(MakeTable("emb")));
}

TEST_F(CoordinatorTablesTest, ALearningRateNeedsAnOptimizerAndAPositiveNumber) {
  ASSERT_OK(Create(MakeTable("emb")));
  EXPECT_THAT(cluster_.TableOf(cluster_.ChangeRate("job", "emb", Clock(3), 0.1)),
              HasDetail(Detail::kNoOptimizer));
  cluster_.SetOptimizer("job", "emb", {"sgd", {}});
  cluster_.Settle();
  EXPECT_THAT(cluster_.TableOf(cluster_.ChangeRate("job", "emb", Clock(3), -1)),
              StatusIs(kInvalid));
  const RequestId request = cluster_.ChangeRate("job", "emb", Clock(3), 0.1);
  cluster_.Settle();
  EXPECT_OK(cluster_.TableOf(request));
  for (FakeServer& server : cluster_.servers()) {
    ASSERT_THAT(server.rates, SizeIs(1));
    EXPECT_EQ(server.rates[0].from_clock, Clock(3));
  }
}

TEST_F(CoordinatorTablesTest, ASilentServerIsNamedAndTheTableComesWhenItSpeaks) {
  cluster_.Silence(1);
  const RequestId request = cluster_.CreateTable("job", MakeTable("emb"));
  cluster_.Settle();
  cluster_.Advance(kServersAnswerTimeout + kCoordinatorTick);
  EXPECT_THAT(cluster_.TableOf(request),
              StatusIs(kUnavailable, AllOf(HasSubstr("ps-1"), HasSubstr("host1:1"))));
  cluster_.Speak(1);
  cluster_.Advance(std::chrono::seconds(2));
  cluster_.Settle();
  EXPECT_THAT(cluster_.server(1).tables, SizeIs(1));
  EXPECT_OK(Create(MakeTable("emb")));
}

TEST_F(CoordinatorTablesTest, WhatAServerRefusesIsToldWithItsNameAndStopsNothing) {
  cluster_.server(1).table_result =
      MakeStatus(absl::StatusCode::kResourceExhausted, Detail::kOverloaded, "no memory");
  EXPECT_THAT(Create(MakeTable("emb")), StatusIs(absl::StatusCode::kResourceExhausted,
                                                 AllOf(HasSubstr("ps-1"), HasSubstr("no memory"))));
  cluster_.server(1).table_result = absl::OkStatus();
  EXPECT_OK(Create(MakeTable("emb2")));
}

TEST_F(CoordinatorTablesTest, ARestartedServerIsTaughtEverything) {
  ASSERT_OK(Create(MakeTable("emb")));
  cluster_.SetOptimizer("job", "emb", {"sgd", {}});
  cluster_.ChangeRate("job", "emb", Clock(7), 0.25);
  cluster_.Settle();
  cluster_.RestartServer(0);
  ASSERT_OK(cluster_.Register(0));
  cluster_.Settle();
  EXPECT_THAT(cluster_.server(0).tables, SizeIs(1));
  EXPECT_THAT(cluster_.server(0).rates, SizeIs(1));
  EXPECT_THAT(cluster_.server(0).violations, IsEmpty());
}

TEST(CoordinatorTablesWithoutServersTest, ATableWaitsForTheServersToRegister) {
  FakeCluster cluster(2);
  ASSERT_OK(cluster.CreateJob(MakeJob("job", 1)));
  ASSERT_OK(cluster.Register(0));
  EXPECT_THAT(cluster.TableOf(cluster.CreateTable("job", MakeTable("emb"))),
              StatusIs(kUnavailable, HasSubstr("1 of 2")));
}

// --- Restarts.

TEST(CoordinatorRestartTest, KeepsIdsJobsTablesAndTheMapUnderAHigherTerm) {
  FakeCluster cluster(2);
  cluster.RegisterAll();
  ASSERT_OK_AND_ASSIGN(const JobInfo job, cluster.CreateJob(MakeJob("job", 2)));
  const RequestId request = cluster.CreateTable("job", MakeTable("emb"));
  cluster.Settle();
  ASSERT_OK_AND_ASSIGN(const TableInfo table, cluster.TableOf(request));
  const uint64_t term = cluster.core().term();
  const std::string name = cluster.core().cluster();

  cluster.RestartCoordinator();
  EXPECT_GT(cluster.core().term(), term);
  EXPECT_EQ(cluster.core().cluster(), name);
  ASSERT_OK_AND_ASSIGN(const JobInfo same_job, cluster.CreateJob(MakeJob("job", 2)));
  EXPECT_EQ(same_job.id, job.id);
  ASSERT_OK_AND_ASSIGN(const TableInfo same, cluster.core().DescribeTable("job", "emb"));
  EXPECT_EQ(same.id, table.id);
  ASSERT_NE(cluster.core().GetMap().map, nullptr);

  ASSERT_OK_AND_ASSIGN(const RegisterResult registered, cluster.Register(1));
  EXPECT_EQ(registered.server, ServerId(1));
  ASSERT_OK(cluster.Register(0));
  cluster.Settle();
  EXPECT_EQ(cluster.core().GetMap().map->At(SlotId(0)).incarnation, Incarnation(1));
  ASSERT_OK_AND_ASSIGN(const JobInfo next_job, cluster.CreateJob(MakeJob("next", 1)));
  EXPECT_GT(next_job.id, job.id);
}

TEST(CoordinatorRestartTest, ServersThatWereAwayOfItAreAskedToRegister) {
  FakeCluster cluster(1);
  cluster.RegisterAll();
  const uint64_t boot = cluster.server(0).boot();
  cluster.RestartCoordinator();
  EXPECT_FALSE(cluster.core().ServerHeartbeat(ServerId(0), boot, cluster.now()));
}

TEST(CoordinatorRestartTest, AnotherSlotCountOrNameIsRefused) {
  FakeCluster cluster(1);
  cluster.config().slot_count = 16;
  Effects effects;
  EXPECT_THAT(cluster.TryStart(effects),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("8 slots")));
  cluster.config().slot_count = 7;
  EXPECT_THAT(cluster.TryStart(effects), StatusIs(kInvalid));
}

TEST(CoordinatorRestartTest, ADamagedRecordIsNamed) {
  EXPECT_THAT(DecodeRecords({{"job/0000000001", "\xff\xff\xff"}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("job/0000000001")));
}

}  // namespace
}  // namespace syncline::coordinator
