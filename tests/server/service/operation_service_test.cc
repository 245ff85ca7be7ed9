#include "server/service/operation_service.h"

#include "gmock/gmock.h"

#include "tests/server/service/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(OperationServiceTest, APushIsReadBackOverTheSameStream) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  TestStream stream(server);
  const v1::PushReply pushed = stream.Ask(TestServer::Push(alice, 5, 0.25f, 1));
  ASSERT_THAT(pushed.parts(), SizeIs(1));
  EXPECT_EQ(pushed.parts(0).outcome(), v1::OK);
  EXPECT_EQ(pushed.epoch(), 1u);
  const v1::PullReply pulled = stream.Ask(TestServer::Pull(alice, 5, 1));
  ASSERT_THAT(pulled.parts(), SizeIs(1));
  EXPECT_THAT(FloatsOf(pulled.parts(0).values()), ElementsAre(-0.25f, -0.25f));
  EXPECT_EQ(pulled.parts(0).sequence(), 1u);
}

TEST(OperationServiceTest, TheFirstFrameMustBeHello) {
  TestServer server;
  server.SetUp();
  TestStream stream(server, /*greet=*/false);
  v1::Frame ping;
  ping.mutable_ping();
  EXPECT_THAT(stream.stream->OnFrame(Received(ping)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(stream.sink->empty());
}

TEST(OperationServiceTest, AClientWithoutACommonVersionIsTurnedAway) {
  TestServer server;
  TestStream stream(server, /*greet=*/false);
  v1::Frame hello;
  hello.mutable_hello()->set_version_min(2);
  hello.mutable_hello()->set_version_max(3);
  EXPECT_THAT(stream.stream->OnFrame(Received(hello)), HasDetail(Detail::kUnsupported));
}

TEST(OperationServiceTest, AnUndecodableFrameEndsTheStream) {
  TestServer server;
  TestStream stream(server);
  EXPECT_THAT(stream.stream->OnFrame(Received("\x0b\xff\xff")),
              StatusIs(absl::StatusCode::kDataLoss));
  v1::Frame frame;
  frame.mutable_tick();
  std::string torn = frame.SerializeAsString() + "\x42\x05\x08";  // a tick of 5 bytes, 1 there
  EXPECT_THAT(stream.stream->OnFrame(Received(torn)), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(OperationServiceTest, UnsupportedKindsAreRefusedAndTheStreamLives) {
  TestServer server;
  server.SetUp();
  TestStream stream(server);
  v1::Frame frame;
  frame.set_request_id(9);
  frame.mutable_subscribe();
  const v1::Frame reply = stream.Ask(frame);
  EXPECT_EQ(reply.request_id(), 9u);
  EXPECT_EQ(reply.error().code(), static_cast<int>(absl::StatusCode::kUnimplemented));
  v1::Frame ping;
  ping.mutable_ping();
  EXPECT_EQ(stream.Ask(ping).ping_reply().boot(), kBoot);
}

TEST(OperationServiceTest, ContradictingPushesAndPullsAreRefusedWhole) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  TestStream stream(server);
  v1::PushRequest push = TestServer::Push(alice, 5, 1, 1);
  push.mutable_parts(0)->set_keys("12345");
  EXPECT_EQ(stream.Ask(push).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  v1::PullRequest pull = TestServer::Pull(alice, 5, 0);
  pull.set_bag_count(1u << 30);
  EXPECT_EQ(stream.Ask(pull).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  pull = TestServer::Pull(alice, 5, 0);
  pull.set_codec(99);
  EXPECT_EQ(stream.Ask(pull).error().detail(), v1::UNSUPPORTED);
  pull = TestServer::Pull(alice, 5, 0);
  pull.set_table(12);
  EXPECT_EQ(stream.Ask(pull).error().detail(), v1::UNKNOWN_TABLE);
  EXPECT_EQ(stream.Ask(TestServer::Push(alice, 5, 1, 1)).parts(0).outcome(), v1::OK);
}

TEST(OperationServiceTest, AnUnknownSessionIsToldSoAndLeavesNoTrace) {
  TestServer server;
  server.SetUp();
  v1::OperationHeader stranger;
  stranger.set_session_high(123);
  TestStream stream(server);
  EXPECT_EQ(stream.Ask(TestServer::Push(stranger, 5, 1, 1)).parts(0).outcome(),
            v1::GONE_SESSION_UNKNOWN);
  EXPECT_EQ(stream.Ask(TestServer::Pull(stranger, 5, 0)).error().detail(), v1::SESSION_UNKNOWN);
  EXPECT_THAT(stream.Ask(TestServer::Tick(stranger, 1, 1)).parts(), SizeIs(kSlotCount));
  EXPECT_EQ(server.admin.Status().sessions(), 0u);
}

TEST(OperationServiceTest, TicksWithUnevenArraysOrBadOutcomesAreRefused) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  TestStream stream(server);
  v1::TickRequest tick = TestServer::Tick(alice, 1, 1);
  tick.mutable_sequences()->RemoveLast();
  EXPECT_EQ(stream.Ask(tick).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  tick = TestServer::Tick(alice, 1, 1);
  for (uint32_t i = 0; i < kSlotCount; ++i) tick.add_told(v1::RETRY_UNAVAILABLE);
  EXPECT_EQ(stream.Ask(tick).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  const v1::TickReply ticked = stream.Ask(TestServer::Tick(alice, 1, 1));
  for (const v1::PartOutcome& part : ticked.parts()) {
    EXPECT_EQ(part.outcome(), v1::OK);
  }
}

TEST(OperationServiceTest, MorePartsThanSlotsAreRefusedWhole) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader header = server.Join(0);
  TestStream stream(server);
  v1::PushRequest push = TestServer::Push(header, 7, 1, 1);
  v1::PullRequest pull = TestServer::Pull(header, 7, 0);
  v1::TickRequest tick = TestServer::Tick(header, 1, 1);
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    push.add_parts();
    pull.add_parts();
  }
  tick.add_slots(0);
  tick.add_incarnations(1);
  tick.add_sequences(2);
  const auto kInvalid = static_cast<uint32_t>(absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stream.Ask(push).error().code(), kInvalid);
  EXPECT_EQ(stream.Ask(pull).error().code(), kInvalid);
  EXPECT_EQ(stream.Ask(tick).error().code(), kInvalid);
  // Nothing used up a number.
  EXPECT_EQ(stream.Ask(TestServer::Push(header, 7, 1, 1)).parts(0).outcome(), v1::OK);
}

TEST(OperationServiceTest, TheBytesOfParkedPullsAreBounded) {
  TestServer server;
  server.SetUp(/*ranks=*/2);
  const v1::OperationHeader header = server.Join(0);  // rank 1 never joins: no read is served
  TestStream stream(server);
  v1::Frame frame;
  *frame.mutable_pull() = TestServer::Pull(header, 7, 0);
  frame.mutable_pull()->mutable_parts(0)->set_keys(
      KeyBytes(std::vector<Key>(kMaxKeysPerFrame, Key{7})));
  const std::string text = frame.SerializeAsString();
  const size_t fit = kMaxParkedBytesPerStream / text.size();
  ASSERT_LT(fit, kMaxParkedReadsPerSession);
  for (size_t i = 0; i < fit; ++i) ASSERT_OK(stream.stream->OnFrame(Received(text)));
  EXPECT_TRUE(stream.sink->empty());
  EXPECT_EQ(stream.Ask(frame).pull_reply().error().detail(), v1::OVERLOADED);
  EXPECT_EQ(stream.sink->parked(), static_cast<int>(fit));
}

TEST(OperationServiceTest, AControlFrameAboveItsBoundIsRefusedUnparsed) {
  TestServer server;
  server.SetUp();
  TestStream stream(server);
  v1::Frame frame;
  frame.mutable_tick()->set_reader_position(std::string(kMaxControlFrameBytes + 1, 'x'));
  EXPECT_EQ(stream.Ask(frame).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST(OperationServiceTest, LeaveAndResumeAnswerPerSlot) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  TestStream stream(server);
  v1::Frame resume;
  *resume.mutable_resume()->mutable_header() = alice;
  resume.mutable_resume()->add_parts()->set_incarnation(1);
  EXPECT_EQ(stream.Ask(resume).resume_reply().parts(0).outcome(), v1::OK);
  v1::Frame leave;
  *leave.mutable_leave()->mutable_header() = alice;
  leave.mutable_leave()->add_slots(3);
  leave.mutable_leave()->add_incarnations(1);
  leave.mutable_leave()->add_sequences(1);
  EXPECT_EQ(stream.Ask(leave).leave_reply().parts(0).outcome(), v1::OK);
}

TEST(OperationServiceTest, APullParksUntilTheOthersTickAndIsCancelledWithItsStream) {
  TestServer server;
  server.SetUp(/*ranks=*/2);
  v1::OperationHeader alice = server.Join(0);
  const v1::OperationHeader bob = server.Join(1);
  TestStream stream(server);
  stream.Ask(TestServer::Tick(alice, 1, 1));
  alice.set_clock(1);
  v1::Frame pull;
  pull.set_request_id(42);
  *pull.mutable_pull() = TestServer::Pull(alice, 5, 1);
  ASSERT_OK(stream.stream->OnFrame(Received(pull)));
  EXPECT_TRUE(stream.sink->empty());
  EXPECT_EQ(stream.sink->parked(), 1);
  {
    TestStream other(server);
    ASSERT_OK(other.stream->OnFrame(Received(pull)));
    EXPECT_EQ(server.host.parked_reads(), 2u);
    other.stream->OnClosed();
    EXPECT_NE(other.sink->Next().pull_reply().error().code(), 0);
    EXPECT_EQ(server.host.parked_reads(), 1u);
  }
  TestStream second(server);
  second.Ask(TestServer::Tick(bob, 1, 1));
  const v1::Frame reply = stream.sink->Next();
  EXPECT_EQ(reply.request_id(), 42u);
  EXPECT_EQ(reply.pull_reply().error().code(), 0);
  EXPECT_EQ(reply.pull_reply().parts(0).min_clock(), 1);
  EXPECT_EQ(stream.sink->parked(), 0);
}

TEST(OperationServiceTest, BeforeTheMapAndWhileStoppingRequestsAreToBeRetried) {
  TestServer server;
  TestStream stream(server);
  EXPECT_EQ(stream.Ask(TestServer::Push({}, 5, 1, 1)).error().code(),
            static_cast<int>(absl::StatusCode::kUnavailable));
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  server.state.BeginStop();
  EXPECT_EQ(stream.Ask(TestServer::Push(alice, 5, 1, 1)).error().code(),
            static_cast<int>(absl::StatusCode::kUnavailable));
}

// --- Simple clients.

absl::StatusOr<std::string> Flat(absl::StatusOr<OutgoingBytes> answer) {
  if (!answer.ok()) return answer.status();
  const std::vector<uint8_t> bytes = answer->frame.Flatten();
  return std::string(bytes.begin(), bytes.end());
}

TEST(OperationServiceTest, KeysOfASimplePushAreSortedAndAddedUp) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  std::vector<Key> keys;  // two keys of one slot
  for (Key key = 0; keys.size() < 2; ++key) {
    if (TestServer::SlotOfKey(key) == 0) keys.push_back(key);
  }
  v1::PushRequest push = TestServer::Push(alice, keys[0], 1, 1);
  push.mutable_parts(0)->set_keys(KeyBytes({keys[1], keys[0], keys[1]}));
  push.mutable_parts(0)->set_values(FloatBytes({1, 2, 10, 20, 100, 200}));
  absl::StatusOr<std::string> answer;
  server.operations.Push(Principal{"anonymous"}, Received(push),
                         [&](absl::StatusOr<OutgoingBytes> got) { answer = Flat(std::move(got)); });
  ASSERT_OK(answer);
  v1::PushReply reply;
  ASSERT_TRUE(reply.ParseFromString(*answer));
  ASSERT_EQ(reply.parts(0).outcome(), v1::OK) << reply.parts(0).error().message();

  v1::PullRequest pull = TestServer::Pull(alice, keys[0], 1);
  pull.mutable_parts(0)->set_keys(KeyBytes({keys[1], keys[0], keys[1]}));
  server.operations.Pull(Principal{"anonymous"}, Received(pull),
                         [&](absl::StatusOr<OutgoingBytes> got) { answer = Flat(std::move(got)); });
  ASSERT_OK(answer);
  v1::PullReply pulled;
  ASSERT_TRUE(pulled.ParseFromString(*answer));
  EXPECT_THAT(FloatsOf(pulled.parts(0).values()), ElementsAre(-101, -202, -10, -20, -101, -202));
}

TEST(OperationServiceTest, BagListsOfRepeatedKeysAreJoined) {
  TestServer server;
  server.SetUp();
  const v1::OperationHeader alice = server.Join(0);
  v1::PushRequest push = TestServer::Push(alice, 7, 1, 1);
  push.set_bag_count(2);
  push.set_bag_values(FloatBytes({1, 1, 10, 10}));
  push.mutable_parts(0)->clear_values();
  push.mutable_parts(0)->set_keys(KeyBytes({7, 7}));
  push.mutable_parts(0)->set_bag_offsets(NumberBytes({0, 1, 3}));
  push.mutable_parts(0)->set_bag_ids(NumberBytes({1, 0, 0}));
  absl::StatusOr<std::string> answer;
  server.operations.Push(Principal{"anonymous"}, Received(push),
                         [&](absl::StatusOr<OutgoingBytes> got) { answer = Flat(std::move(got)); });
  ASSERT_OK(answer);
  v1::GetRowRequest row;
  row.set_table(kTable.value());
  row.set_key(7);
  EXPECT_THAT(server.admin.GetRow(row)->weights(), Each(-12.0f));  // 10 + 1 + 1
}

TEST(OperationServiceTest, ASimpleRequestThatIsRefusedEndsWithItsStatus) {
  TestServer server;
  server.SetUp();
  absl::StatusOr<std::string> answer;
  const auto keep = [&](absl::StatusOr<OutgoingBytes> got) { answer = Flat(std::move(got)); };
  server.operations.Push(Principal{"anonymous"}, Received("\x0b\xff"), keep);
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kDataLoss));
  server.operations.Pull(Principal{"anonymous"}, Received(TestServer::Pull({}, 5, 0)), keep);
  EXPECT_THAT(answer, HasDetail(Detail::kSessionUnknown));
}

}  // namespace
}  // namespace syncline
