#include "worker/psctl/app.h"

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "common/hash.h"
#include "tests/worker/psctl/fake_admin.h"

namespace syncline::psctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AppTest : public ::testing::Test {
 protected:
  ExitCode Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    return RunPsctl(
        arguments,
        [this](const AdminClientOptions& options) -> absl::StatusOr<std::unique_ptr<AdminApi>> {
          options_ = options;
          if (!connect_error_.ok()) return connect_error_;
          return std::make_unique<FakeAdmin>(cluster_);
        },
        out_, err_);
  }

  // With endpoints and JSON; the command must succeed.
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-e", "a:1", "-o", "json"});
    EXPECT_EQ(Run(arguments), ExitCode::kOk) << err_.str();
    return nlohmann::json::parse(out_.str());
  }

  v1::SessionInfo& AddWorker(int32_t rank, int64_t clock) {
    v1::SessionInfo& session = *cluster_.sessions.add_sessions();
    session.set_job(1);
    session.set_job_name("train");
    session.set_rank(rank);
    session.set_clocked(true);
    session.set_state("live");
    session.mutable_report()->set_clock(clock);
    return session;
  }

  FakeCluster cluster_ = MakeFakeCluster();
  absl::Status connect_error_;
  AdminClientOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(AppTest, VersionAndHelpNeedNoCluster) {
  EXPECT_EQ(Run({"version"}), ExitCode::kOk);
  EXPECT_EQ(Run({"help", "exit-codes"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("5   the cluster is not healthy"));
  EXPECT_EQ(Run({"--help"}), ExitCode::kOk);
  EXPECT_EQ(Run({"help"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("worker"));
}

TEST_F(AppTest, AWrongCommandLineEndsWithTwoAndLeavesStdoutEmpty) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"cluster"},
      {"cluster", "wealth"},
      {"table", "list", "-e", "a:1", "-o", "yaml"},
      {"table", "list", "-e", "a:1", "--timeout", "5"},
      {"table", "list", "-e", "a:1", "--timeout", "0"},
      {"table", "describe", "-e", "a:1"},
      {"table", "list"},  // no endpoint
      {"key", "get", "users", "1.5", "-e", "a:1"},
      {"key", "get", "users", "18446744073709551616", "-e", "a:1"},
  };
  for (const auto& arguments : wrong) {
    EXPECT_EQ(Run(arguments), ExitCode::kUsage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(out_.str(), IsEmpty());
    EXPECT_FALSE(err_.str().empty());
  }
}

TEST_F(AppTest, EndpointsComeFromTheFlagOrTheEnvironment) {
  ::setenv("PSCTL_ENDPOINTS", "x:1,y:2", 1);
  EXPECT_EQ(Run({"table", "list", "--timeout", "250ms"}), ExitCode::kOk);
  EXPECT_THAT(options_.endpoints, ElementsAre("x:1", "y:2"));
  EXPECT_EQ(options_.timeout.count(), 250);
  EXPECT_EQ(Run({"-e", "z:3", "table", "list"}), ExitCode::kOk);
  EXPECT_THAT(options_.endpoints, ElementsAre("z:3"));
  ::unsetenv("PSCTL_ENDPOINTS");
}

TEST_F(AppTest, AClusterThatCannotBeReachedEndsWithThree) {
  connect_error_ = MakeStatus(absl::StatusCode::kUnavailable, Detail::kNone, "a:1 GetMap: refused");
  EXPECT_EQ(Run({"-e", "a:1", "cluster", "health"}), ExitCode::kCannotConnect);
  EXPECT_EQ(err_.str(), "psctl: a:1 GetMap: refused\n");
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(AppTest, HealthIsGoodWhenTheMapIsCompleteAndAllAreReady) {
  EXPECT_EQ(
      Json({"cluster", "health"}),
      nlohmann::json::parse(
          R"({"apiVersion": "psctl/v1", "kind": "ClusterHealth", "healthy": true, "problems": []})"));
}

TEST_F(AppTest, HealthEndsWithFiveAndNamesEachProblem) {
  cluster_.map.set_epoch(0);
  cluster_.servers.mutable_servers(0)->set_live(false);
  cluster_.by_endpoint["b:1"].status.set_ready(false);
  cluster_.by_endpoint["b:1"].status.set_not_ready_reason("waits for the map");
  EXPECT_EQ(Run({"-e", "a:1", "-o", "json", "cluster", "health"}), ExitCode::kUnhealthy);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["healthy"], false);
  EXPECT_THAT(json["problems"].get<std::vector<std::string>>(),
              ElementsAre(HasSubstr("map is not complete"), HasSubstr("server 0"),
                          HasSubstr("waits for the map")));
}

TEST_F(AppTest, AServerThatDoesNotAnswerIsUnhealthyAndListedAsUnreachable) {
  cluster_.by_endpoint["b:1"].error =
      MakeStatus(absl::StatusCode::kDeadlineExceeded, Detail::kNone, "b:1 GetServerStatus: late");
  EXPECT_EQ(Run({"-e", "a:1", "cluster", "health"}), ExitCode::kUnhealthy);
  const auto servers = Json({"server", "list"})["items"];
  EXPECT_EQ(servers[0]["state"], "ready");
  EXPECT_EQ(servers[1]["state"], "unreachable");
  EXPECT_TRUE(servers[1]["memory_bytes"].is_null());
}

TEST_F(AppTest, ClusterStatusAddsUpWhatServersHold) {
  cluster_.by_endpoint["a:1"].status.set_rows(3);
  cluster_.by_endpoint["b:1"].status.set_rows(4);
  AddWorker(0, 1);
  const auto json = Json({"cluster", "status"});
  EXPECT_EQ(json["rows"], 7);
  EXPECT_EQ(json["servers_ready"], 2);
  EXPECT_EQ(json["workers"], 1);
  EXPECT_EQ(json["cluster"], "demo");
}

TEST_F(AppTest, WorkerListMarksWhoHoldsTheClockBack) {
  AddWorker(0, 12).mutable_report()->set_step_seconds(0.02);
  AddWorker(1, 9);
  cluster_.sessions.mutable_sessions()->Add()->set_job_name("train");  // clockless
  const auto items = Json({"worker", "list"})["items"];
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0]["lag"], 0);
  EXPECT_EQ(items[0]["step_seconds"], 0.02);
  EXPECT_EQ(items[1]["lag"], 3);
  EXPECT_EQ(items[1]["holds_back"], true);
  EXPECT_EQ(Json({"worker", "list", "--all"})["items"].size(), 3u);
  EXPECT_EQ(Json({"worker", "list", "--job", "other"})["items"].size(), 0u);
}

TEST_F(AppTest, TableStatsAddUpServers) {
  for (const char* endpoint : {"a:1", "b:1"}) {
    v1::TableStats& stats = *cluster_.by_endpoint[endpoint].stats.add_tables();
    stats.set_table(7);
    stats.set_rows(10);
    stats.set_memory_bytes(1000);
  }
  const auto items = Json({"table", "stats", "users"})["items"];
  EXPECT_EQ(items[0]["rows"], 20);
  EXPECT_EQ(items[0]["memory_bytes"], 2000);
}

TEST_F(AppTest, TableStatsFailRatherThanLeaveAServerOut) {
  cluster_.by_endpoint["b:1"].error =
      MakeStatus(absl::StatusCode::kUnavailable, Detail::kNone, "b:1 is away");
  EXPECT_EQ(Run({"-e", "a:1", "table", "stats"}), ExitCode::kCannotConnect);
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(AppTest, ANameThatIsNotThereEndsWithSix) {
  EXPECT_EQ(Run({"-e", "a:1", "table", "describe", "nobody"}), ExitCode::kNotFound);
  EXPECT_THAT(err_.str(), HasSubstr("no table 'nobody'"));
  EXPECT_EQ(Run({"-e", "a:1", "table", "list", "--job", "nobody"}), ExitCode::kNotFound);
}

TEST_F(AppTest, ATableNameInTwoJobsNeedsTheJob) {
  v1::JobInfo& job = *cluster_.jobs.add_jobs();
  job.set_id(2);
  job.mutable_spec()->set_name("other");
  v1::TableInfo& table = *cluster_.tables.add_tables();
  table = cluster_.tables.tables(0);
  table.set_id(8);
  table.set_job(2);
  EXPECT_EQ(Run({"-e", "a:1", "table", "describe", "users"}), ExitCode::kConflict);
  EXPECT_EQ(Json({"table", "describe", "users", "--job", "other"})["id"], 8);
}

TEST_F(AppTest, DescribeShowsTheWholeSpec) {
  v1::TableSpec& spec = *cluster_.tables.mutable_tables(0)->mutable_spec();
  spec.mutable_consistency()->set_mode(v1::ConsistencyPolicy::SSP);
  spec.mutable_consistency()->set_staleness(4);
  spec.mutable_optimizer()->set_name("adagrad");
  (*spec.mutable_optimizer()->mutable_arguments())["lr"] = 0.05;
  const auto json = Json({"table", "describe", "users"});
  EXPECT_EQ(json["kind"], "embedding");
  EXPECT_EQ(json["consistency"], "ssp(4)");
  EXPECT_EQ(json["optimizer"], "adagrad(lr=0.05)");
  EXPECT_TRUE(json["elements"].is_null());
}

TEST_F(AppTest, KeyGetAsksTheOwnerOfTheKeysSlot) {
  for (const Key key : {Key{0}, Key{1} << 24, (Key{1} << 53) + 1, UINT64_MAX}) {
    const uint32_t slot = SlotOf(TableId(7), key, 4).value();
    const std::string owner = slot % 2 == 0 ? "a:1" : "b:1";
    cluster_.by_endpoint[owner].row.clear_weights();
    cluster_.by_endpoint[owner].row.add_weights(0.25f);
    const auto json = Json({"key", "get", "users", std::to_string(key)});
    EXPECT_EQ(cluster_.asked_endpoint, owner);
    EXPECT_EQ(cluster_.asked_row, std::pair(TableId(7), key));
    EXPECT_EQ(json["key"], std::to_string(key));
    EXPECT_EQ(json["slot"], slot);
    EXPECT_EQ(json["stored"], false);
    EXPECT_EQ(json["weights"], nlohmann::json::array({0.25}));
  }
}

TEST_F(AppTest, KeysMayBeHexadecimal) {
  EXPECT_EQ(Json({"key", "get", "users", "0xffffffffffffffff"})["key"], "18446744073709551615");
}

TEST_F(AppTest, SlotsOfAllServersAreListedInOrder) {
  for (const uint32_t slot : {3u, 1u})
    cluster_.by_endpoint["b:1"].slots.add_slots()->set_slot(slot);
  for (const uint32_t slot : {0u, 2u})
    cluster_.by_endpoint["a:1"].slots.add_slots()->set_slot(slot);
  const auto items = Json({"slot", "list"})["items"];
  ASSERT_EQ(items.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(items[i]["slot"], i);
    EXPECT_EQ(items[i]["server"], i % 2);
  }
}

}  // namespace
}  // namespace syncline::psctl
