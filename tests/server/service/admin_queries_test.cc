#include "server/service/admin_queries.h"

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "tests/server/service/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;

TEST(AdminQueriesTest, ARowIsShownAsStoredOrAsItWouldBeRead) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  TestStream(server).Ask(TestServer::Push(alice, 5, 2, 1));
  v1::GetRowRequest request;
  request.set_table(kTable.value());
  request.set_key(5);
  auto row = server.admin.GetRow(request);
  ASSERT_OK(row);
  EXPECT_TRUE(row->stored());
  EXPECT_THAT(row->weights(), ElementsAre(-2, -2));
  request.set_key(6);
  row = server.admin.GetRow(request);
  ASSERT_OK(row);
  EXPECT_FALSE(row->stored());
  EXPECT_THAT(row->weights(), ElementsAre(0, 0));
  request.set_table(9);
  EXPECT_THAT(server.admin.GetRow(request), HasDetail(Detail::kUnknownTable));
}

TEST(AdminQueriesTest, TheStateHashFollowsRowsAndNothingElse) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  TestStream stream(server);
  EXPECT_EQ(server.admin.StateHash().hash(), 0u);
  stream.Ask(TestServer::Push(alice, 5, 2, 1));
  const v1::StateHash before = server.admin.StateHash();
  EXPECT_EQ(before.rows(), 1u);
  stream.Ask(TestServer::Push(alice, 5, 2, 1));  // a duplicate
  EXPECT_EQ(server.admin.StateHash().hash(), before.hash());
  stream.Ask(TestServer::Push(alice, 5, 2, 2));
  EXPECT_NE(server.admin.StateHash().hash(), before.hash());
}

TEST(AdminQueriesTest, TheStatusPageNamesServerTablesJobsAndSlots) {
  TestServer server;
  server.SetUp();
  server.Join(0);
  const nlohmann::json page = nlohmann::json::parse(server.admin.StatusJson());
  EXPECT_EQ(page["server"]["name"], "test");
  EXPECT_EQ(page["server"]["ready"], true);
  EXPECT_EQ(page["tables"][0]["name"], "t");
  EXPECT_EQ(page["jobs"][0]["name"], "job");
  EXPECT_EQ(page["jobs"][0]["sessions"].size(), 1u);
  EXPECT_EQ(page["slots"].size(), kSlotCount);
}

TEST(AdminQueriesTest, SlotsAreListedWithTheirSessionsOnRequest) {
  TestServer server;
  server.SetUp();
  server.Join(0);
  v1::ListSlotsRequest request;
  request.add_slots(3);
  request.set_sessions(true);
  const v1::ListSlotsReply reply = server.admin.ListSlots(request);
  ASSERT_EQ(reply.slots_size(), 1);
  EXPECT_EQ(reply.slots(0).slot(), 3u);
  EXPECT_EQ(reply.slots(0).jobs(0).sessions_size(), 1);
  request.Clear();
  EXPECT_EQ(server.admin.ListSlots(request).slots_size(), static_cast<int>(kSlotCount));
}

}  // namespace
}  // namespace syncline
