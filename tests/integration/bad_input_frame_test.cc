// Frames of Exchange.
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/integration/raw_server.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

constexpr int kLastKind = 21;  // of Frame's body

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// A length-delimited field; `claimed` may be more than there is.
std::string Field(int number, const std::string& content, uint64_t claimed) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(claimed) + content;
}
std::string Field(int number, const std::string& content) {
  return Field(number, content, content.size());
}

// A frame of a kind, after Hello; the stream must live on when it was answered by a reply.
BadCase After(std::string name, std::string frame, std::string expected) {
  return {std::move(name),
          [frame](RawServer& server) -> std::string {
            RawStream stream(server);
            if (!stream.SayHello()) return "no hello";
            stream.Write(BytesOf(frame));
            std::string answer = stream.Answer();
            if (answer.rfind("stream: ", 0) == 0) return answer;
            v1::Frame ping;
            ping.mutable_ping();
            v1::Frame reply;
            const bool lives = stream.Write(ping) && stream.Read(reply) && reply.has_ping_reply();
            return lives ? answer : answer + ", then the stream was dead";
          },
          std::move(expected)};
}

BadCase First(std::string name, std::string frame, std::string expected) {
  return {std::move(name),
          [frame](RawServer& server) {
            RawStream stream(server);
            stream.Write(BytesOf(frame));
            return stream.Answer();
          },
          std::move(expected)};
}

std::string FrameOf(const v1::PushRequest& push) {
  v1::Frame frame;
  frame.set_request_id(1);
  *frame.mutable_push() = push;
  return frame.SerializeAsString();
}

TEST(BadInputFrames, AnyKindBeforeHelloEndsTheStream) {
  std::vector<BadCase> cases;
  for (int kind = 3; kind <= kLastKind; ++kind) {
    cases.push_back(
        First("kind " + std::to_string(kind), Field(kind, ""), "stream: FAILED_PRECONDITION"));
  }
  cases.push_back(First("an empty frame", "", "stream: FAILED_PRECONDITION"));
  v1::Frame hello;
  hello.mutable_hello()->set_version_min(7);
  hello.mutable_hello()->set_version_max(9);
  cases.push_back(
      First("versions of later", hello.SerializeAsString(), "stream: UNIMPLEMENTED/UNSUPPORTED"));
  cases.push_back(First("no versions", Field(2, ""), "stream: UNIMPLEMENTED/UNSUPPORTED"));
  Judge(cases);
}

TEST(BadInputFrames, KindsThatAServerDoesNotTakeAreRefusedAndTheStreamLives) {
  std::vector<BadCase> cases;
  for (const int kind : {3, 5, 7, 9, 11, 13, 15, 16, 17, 18, 19, 20, 21, 22, 1'000}) {
    cases.push_back(
        After("kind " + std::to_string(kind), Field(kind, ""), "error: UNIMPLEMENTED/UNSUPPORTED"));
  }
  cases.push_back(After("an empty frame", "", "error: UNIMPLEMENTED/UNSUPPORTED"));
  Judge(cases);
}

TEST(BadInputFrames, BytesThatAreNoFrameEndTheStream) {
  std::vector<BadCase> cases;
  for (int kind = 2; kind <= kLastKind; ++kind) {
    cases.push_back(After("kind " + std::to_string(kind) + " of garbage",
                          Field(kind, std::string(9, '\xff')), "stream: DATA_LOSS"));
    cases.push_back(After("kind " + std::to_string(kind) + " cut short",
                          Field(kind, "abc", 4'000'000'000), "stream: DATA_LOSS"));
    cases.push_back(After("kind " + std::to_string(kind) + " as a number",
                          Varint(static_cast<uint64_t>(kind) << 3) + "\x01", "stream: DATA_LOSS"));
  }
  cases.push_back(After("a varint without end", std::string(11, '\xff'), "stream: DATA_LOSS"));
  Judge(cases);
}

TEST(BadInputFrames, ContentsAreJudgedAsInUnaryCalls) {
  v1::PushRequest push = TheServer().Push();
  push.mutable_parts(0)->mutable_keys()->append(push.parts(0).keys());  // twice the same key
  push.mutable_parts(0)->mutable_values()->append(push.parts(0).values());
  v1::PushRequest gap = TheServer().Push();
  gap.mutable_parts(0)->set_sequence(60);
  v1::PushRequest stranger = TheServer().Push();
  stranger.mutable_header()->set_session_low(1);
  v1::PushRequest half = TheServer().Push();
  half.mutable_parts(0)->mutable_keys()->pop_back();
  v1::Frame tick;
  *tick.mutable_tick() = TheServer().Tick();
  tick.mutable_tick()->add_slots(1);
  v1::Frame leave;
  *leave.mutable_leave() = TheServer().Leave();
  leave.mutable_leave()->mutable_header()->set_session_low(1);
  v1::Frame resume;
  resume.mutable_resume()->mutable_header()->set_session_low(1);
  resume.mutable_resume()->add_parts()->set_slot(1);
  v1::Frame pull;
  *pull.mutable_pull() = TheServer().Pull();
  pull.mutable_pull()->set_table(77'777);
  Judge({
      After("a push with a gap", FrameOf(gap), "RETRY_OUT_OF_ORDER/OUT_OF_ORDER"),
      After("a push of nobody", FrameOf(stranger), "GONE_SESSION_UNKNOWN/SESSION_UNKNOWN"),
      After("a push with half a key", FrameOf(half), "INVALID_ARGUMENT"),
      After("a tick with lists of different lengths", tick.SerializeAsString(), "INVALID_ARGUMENT"),
      After("a leave of nobody", leave.SerializeAsString(), "GONE_SESSION_UNKNOWN/SESSION_UNKNOWN"),
      After("a resume of nobody", resume.SerializeAsString(),
            "GONE_SESSION_UNKNOWN/SESSION_UNKNOWN"),
      After("a pull from no table", pull.SerializeAsString(), "NOT_FOUND/UNKNOWN_TABLE"),
  });
}

// Whatever is in it: the server answers or ends the stream, and goes on.
TEST(BadInputFrames, DamagedFramesHarmNobody) {
  const uint64_t seed = TestSeed(3);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  RawServer& server = TheServer();
  v1::PushRequest push = server.Push();
  push.mutable_header()->set_session_low(1);  // of nobody: never applied
  const uint64_t hash = server.StateHash();
  for (int i = 0; i < 150; ++i) {
    std::string frame = FrameOf(push);
    for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
      frame[random.Below(frame.size())] = static_cast<char>(random.Below(256));
    }
    RawStream stream(server);
    ASSERT_TRUE(stream.SayHello());
    stream.Write(BytesOf(frame));
    const std::string answer = stream.Answer();
    ASSERT_EQ(answer.find("CANCELLED"), std::string::npos) << "no answer came: " << answer;
  }
  EXPECT_TRUE(server.process().running());
  EXPECT_EQ(server.StateHash(), hash);
}

}  // namespace
}  // namespace syncline
