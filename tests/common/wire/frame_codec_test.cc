#include "common/wire/frame_codec.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/common/wire/bulk_kinds.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

constexpr int kRounds = 300;

template <typename Kind>
class FrameCodecTest : public ::testing::Test {};
TYPED_TEST_SUITE(FrameCodecTest, BulkKinds);

TYPED_TEST(FrameCodecTest, EncodesTheBytesOfTheGeneratedCode) {
  const uint64_t seed = TestSeed(1);
  SCOPED_TRACE(SeedTrace(seed));
  RandomFrames frames(seed);
  for (int i = 0; i < kRounds; ++i) {
    const auto message = TypeParam::Random(frames);
    v1::Frame frame;
    frame.set_request_id(frames.Number());
    TypeParam::Body(frame) = message;
    ASSERT_EQ(TextOf(EncodeMessage(StructOf(message))), message.SerializeAsString()) << i;
    ASSERT_EQ(TextOf(EncodeFrame(frame.request_id(), StructOf(message))), frame.SerializeAsString())
        << i;
  }
}

TYPED_TEST(FrameCodecTest, DecodesTheBytesOfTheGeneratedCodeHoweverTheyAreCut) {
  const uint64_t seed = TestSeed(2);
  SCOPED_TRACE(SeedTrace(seed));
  RandomFrames frames(seed);
  for (int i = 0; i < kRounds; ++i) {
    const auto message = TypeParam::Random(frames);
    v1::Frame frame;
    frame.set_request_id(frames.Number());
    TypeParam::Body(frame) = message;
    const std::string bare = message.SerializeAsString();
    const std::string whole = frame.SerializeAsString();
    const auto cuts =
        i % 5 == 0 ? OneBytePieces(SpanOf(bare)) : RandomCuts(SpanOf(bare), frames.random());
    ASSERT_OK_AND_ASSIGN(const auto decoded, TypeParam::DecodeMessage(cuts));
    ASSERT_EQ(MessageOf(decoded).SerializeAsString(), bare) << i;

    const auto frame_cuts = RandomCuts(SpanOf(whole), frames.random());
    ASSERT_OK_AND_ASSIGN(const FramePeek peek, PeekFrame(frame_cuts));
    ASSERT_EQ(peek.request_id, frame.request_id());
    ASSERT_TRUE(peek.Is(TypeParam::kBody));
    ASSERT_OK_AND_ASSIGN(const auto from_frame, TypeParam::DecodeFrame(frame_cuts));
    ASSERT_EQ(MessageOf(from_frame).SerializeAsString(), bare) << i;
  }
}

// Protobuf: messages written one after the other are one message, merged.
TYPED_TEST(FrameCodecTest, MergesRepeatedFieldsAsTheGeneratedParserDoes) {
  const uint64_t seed = TestSeed(3);
  SCOPED_TRACE(SeedTrace(seed));
  RandomFrames frames(seed);
  int accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::string bytes = TypeParam::Random(frames).SerializeAsString() +
                              TypeParam::Random(frames).SerializeAsString();
    typename TypeParam::Proto merged;
    ASSERT_TRUE(merged.ParseFromString(bytes));
    const ByteSpan piece = SpanOf(bytes);
    const auto decoded = TypeParam::DecodeMessage({&piece, 1});
    // Two consistent messages may make an inconsistent one (rows and bags).
    if (!decoded.ok()) {
      ASSERT_THAT(decoded, StatusIs(absl::StatusCode::kInvalidArgument));
      continue;
    }
    ++accepted;
    ASSERT_EQ(MessageOf(*decoded).SerializeAsString(), merged.SerializeAsString()) << i;
  }
  EXPECT_GT(accepted, kRounds / 10);
}

TYPED_TEST(FrameCodecTest, MergesTheSameBodyAndReplacesAnotherOne) {
  RandomFrames frames(4);
  for (int i = 0; i < kRounds; ++i) {
    v1::Frame first, other, second;
    TypeParam::Body(first) = TypeParam::Random(frames);
    TypeParam::Body(second) = TypeParam::Random(frames);
    other.mutable_ping()->mutable_header()->set_epoch(1);
    std::string bytes = first.SerializeAsString();
    if (i % 2 == 0) bytes += other.SerializeAsString();
    bytes += second.SerializeAsString();
    v1::Frame merged;
    ASSERT_TRUE(merged.ParseFromString(bytes));
    const ByteSpan piece = SpanOf(bytes);
    const auto decoded = TypeParam::DecodeFrame({&piece, 1});
    if (!decoded.ok()) continue;
    ASSERT_EQ(MessageOf(*decoded).SerializeAsString(), TypeParam::Body(merged).SerializeAsString());
  }
}

TYPED_TEST(FrameCodecTest, SkipsFieldsOfALaterVersion) {
  RandomFrames frames(5);
  const auto message = TypeParam::Random(frames);
  const std::string bare = message.SerializeAsString();
  // Field 1000 as varint 5, fixed64, "ab" and fixed32.
  const std::string unknown(
      "\xc0\x3e\x05\xc1\x3e"
      "12345678\xc2\x3e\x02"
      "ab\xc5\x3e"
      "1234",
      24);
  const std::string bytes = unknown + bare + unknown;
  const auto pieces = OneBytePieces(SpanOf(bytes));
  ASSERT_OK_AND_ASSIGN(const auto decoded, TypeParam::DecodeMessage(pieces));
  EXPECT_EQ(MessageOf(decoded).SerializeAsString(), bare);
}

TYPED_TEST(FrameCodecTest, RefusesTheBodyOfAnotherKind) {
  v1::Frame frame;
  frame.mutable_ping();
  const std::string bytes = frame.SerializeAsString();
  const ByteSpan piece = SpanOf(bytes);
  EXPECT_THAT(TypeParam::DecodeFrame({&piece, 1}), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(TypeParam::DecodeFrame({}), StatusIs(absl::StatusCode::kDataLoss));
}

TYPED_TEST(FrameCodecTest, KeepsTheGoldenBytes) {
  RandomFrames frames(2026);
  v1::Frame frame;
  frame.set_request_id(7);
  do {
    TypeParam::Body(frame) = TypeParam::Random(frames);
  } while (frame.ByteSizeLong() < 300 || frame.ByteSizeLong() > 1500);
  const std::string path = std::string(std::getenv("SYNCLINE_SOURCE_DIR")) +
                           "/tests/golden/frame_" + TypeParam::kName + ".bin";
  if (std::getenv("SYNCLINE_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary)
        << TextOf(EncodeFrame(7, StructOf(TypeParam::Body(frame))));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(TextOf(EncodeFrame(7, StructOf(TypeParam::Body(frame)))), golden);
  v1::Frame parsed;
  ASSERT_TRUE(parsed.ParseFromString(golden));
  EXPECT_EQ(parsed.SerializeAsString(), golden);
}

TEST(EncodedFrameTest, RefersToBulkBytesAndCopiesShortOnes) {
  const std::string keys(64, 'k');
  const std::string values(8'000, 'v');
  PushFrame push;
  PushPart& part = push.parts.emplace_back();
  part.keys = ViewOf(keys);
  part.values = ViewOf(values);
  const EncodedFrame frame = EncodeFrame(1, push);
  ASSERT_EQ(frame.piece_count(), 2u);
  EXPECT_FALSE(frame.is_borrowed(0));
  EXPECT_TRUE(frame.is_borrowed(1));
  EXPECT_EQ(frame.piece(1).data(), SpanOf(values).data());
  EXPECT_EQ(frame.size(), frame.Flatten().size());
}

TEST(EncodedFrameTest, KeepsItsBytesWhenMoved) {
  const std::string values(1'000, 'v');
  PullReplyFrame reply;
  reply.parts.emplace_back().values = ViewOf(values);
  reply.epoch = Epoch(3);
  EncodedFrame frame = EncodeFrame(1, reply);
  const std::string before = TextOf(frame);
  const EncodedFrame moved = std::move(frame);
  EXPECT_EQ(TextOf(moved), before);
}

TEST(PeekFrameTest, FindsTheBodyOfEveryKind) {
  v1::Frame frame;
  frame.set_request_id(UINT64_MAX);
  frame.mutable_tick();
  const std::string bytes = frame.SerializeAsString();
  const ByteSpan piece = SpanOf(bytes);
  ASSERT_OK_AND_ASSIGN(const FramePeek peek, PeekFrame({&piece, 1}));
  EXPECT_EQ(peek.request_id, UINT64_MAX);
  EXPECT_EQ(peek.body, static_cast<uint32_t>(v1::Frame::kTick));
}

TEST(PeekFrameTest, ReportsAMissingBodyAsNone) {
  ASSERT_OK_AND_ASSIGN(const FramePeek peek, PeekFrame({}));
  EXPECT_EQ(peek.body, 0u);
}

}  // namespace
}  // namespace syncline
