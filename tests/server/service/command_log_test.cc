#include "server/service/command_log.h"

#include "gmock/gmock.h"

#include "tests/server/service/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

v1::Command Numbered(v1::Command command, uint64_t term, uint64_t number) {
  command.set_term(term);
  command.set_number(number);
  command.set_boot(kBoot);
  return command;
}

v1::Command Fence() {
  v1::Command command;
  command.mutable_fence()->set_session_high(1);
  return command;
}

TEST(CommandLogTest, CommandsAreAppliedOnceAndInOrder) {
  TestServer server;
  EXPECT_THAT(server.commands.Execute(Numbered(Fence(), 1, 2)),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(server.commands.Execute(Numbered(Fence(), 1, 0)),
              StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK(server.commands.Execute(Numbered(TestServer::MapCommand(), 1, 1)));
  EXPECT_EQ(server.host.epoch(), Epoch(1));
  EXPECT_EQ(server.commands.last(), 1u);
  // The same number again, whatever it says now, is not applied.
  ASSERT_OK(server.commands.Execute(Numbered(TestServer::MapCommand(5, 5), 1, 1)));
  EXPECT_EQ(server.host.epoch(), Epoch(1));
}

TEST(CommandLogTest, ARepeatedCommandGetsItsStoredAnswer) {
  TestServer server;
  server.SetUp();
  v1::Command install;
  install.mutable_install()->set_session_high(1);
  install.mutable_install()->set_job(1);
  install.mutable_install()->set_clocked(true);
  install.mutable_install()->set_clock(7);
  const uint64_t next = server.commands.last() + 1;
  EXPECT_EQ(server.commands.Execute(Numbered(install, 1, next))->clock(), 7);
  install.mutable_install()->set_clock(50);
  EXPECT_EQ(server.commands.Execute(Numbered(install, 1, next))->clock(), 7);
}

TEST(CommandLogTest, AnotherStartOfTheServerOrAnOlderTermIsRefused) {
  TestServer server;
  v1::Command command = Numbered(Fence(), 3, 1);
  command.set_boot(kBoot + 1);
  EXPECT_THAT(server.commands.Execute(command), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(server.commands.Execute(Numbered(Fence(), 3, 1)));
  EXPECT_THAT(server.commands.Execute(Numbered(Fence(), 2, 2)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(server.commands.Execute(Numbered(Fence(), 4, 1)));  // a new term counts from 1
}

TEST(CommandLogTest, WhatTheSlotsRefuseIsInTheAnswer) {
  TestServer server;
  server.SetUp();
  v1::Command command;
  command.mutable_set_optimizer()->set_id(kTable.value());
  command.mutable_set_optimizer()->mutable_spec()->mutable_optimizer()->set_name("no such");
  const auto reply = server.commands.Execute(Numbered(command, 1, server.commands.last() + 1));
  ASSERT_OK(reply);
  EXPECT_NE(reply->error().code(), 0);
  const auto empty = server.commands.Execute(Numbered({}, 1, server.commands.last() + 1));
  EXPECT_EQ(empty->error().detail(), v1::UNSUPPORTED);
}

// Slots that come with a later map take what was declared before; nothing of it may abort them.
TEST(CommandLogTest, WhatNoSlotCouldTakeIsRefusedBeforeTheFirstMap) {
  TestServer server;
  std::vector<v1::Command> commands(4);
  v1::TableInfo& flat = *commands[0].mutable_create_table();
  flat.set_id(1);
  flat.mutable_spec()->set_name("flat");  // dim 0
  v1::TableInfo& strange = *commands[1].mutable_create_table();
  strange.set_id(2);
  strange.mutable_spec()->set_name("strange");
  strange.mutable_spec()->set_dim(kDim);
  strange.mutable_spec()->mutable_optimizer()->set_name("no such");
  commands[2].mutable_set_optimizer()->set_id(3);
  commands[2].mutable_set_optimizer()->mutable_spec()->mutable_optimizer()->set_name("no such");
  commands[3].mutable_declare_job()->mutable_spec()->set_ranks(1u << 31);
  for (const v1::Command& command : commands) {
    const auto reply = server.commands.Execute(Numbered(command, 1, server.commands.last() + 1));
    ASSERT_OK(reply);
    EXPECT_NE(reply->error().code(), 0) << command.ShortDebugString();
  }
  const auto mapped =
      server.commands.Execute(Numbered(TestServer::MapCommand(), 1, server.commands.last() + 1));
  ASSERT_OK(mapped);
  EXPECT_EQ(mapped->error().code(), 0) << mapped->error().message();
  EXPECT_TRUE(server.host.Tables().empty());
}

TEST(CommandLogTest, AServerKnowsItselfInTheMapByItsBoot) {
  TestServer server;
  EXPECT_THAT(server.state.NotReadyReason(), ::testing::Not(""));
  v1::Command map = TestServer::MapCommand();
  map.mutable_map()->mutable_servers(0)->set_id(6);
  const auto reply = server.commands.Execute(Numbered(map, 1, 1));
  ASSERT_OK(reply);
  EXPECT_EQ(reply->error().code(), 0) << reply->error().message();
  EXPECT_EQ(server.state.server(), ServerId(6));
  EXPECT_EQ(server.state.NotReadyReason(), "");
  EXPECT_EQ(server.host.Snapshot().size(), kSlotCount);
}

}  // namespace
}  // namespace syncline
