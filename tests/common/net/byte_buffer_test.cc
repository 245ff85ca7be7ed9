#include "common/net/byte_buffer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/wire/frame_codec.h"
#include "tests/common/wire/random_frames.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

std::string TextOf(const ReceivedBytes& bytes) {
  return bytes.size() == 0 ? std::string() : TextOf(ByteView(bytes.pieces(), 0, bytes.size()));
}

TEST(ByteBufferTest, CarriesFramesUnchanged) {
  const uint64_t seed = TestSeed(1);
  SCOPED_TRACE(SeedTrace(seed));
  RandomFrames frames(seed);
  for (int i = 0; i < 200; ++i) {
    const v1::PullReply message = frames.Reply();
    const EncodedFrame frame = EncodeFrame(9, StructOf(message));
    const std::shared_ptr<const void> owner =
        i % 2 == 0 ? std::make_shared<int>(1) : std::shared_ptr<int>();
    const grpc::ByteBuffer buffer = ToByteBuffer(frame, owner);
    ASSERT_EQ(buffer.Length(), frame.size());
    const ReceivedBytes received(buffer);
    ASSERT_EQ(TextOf(received), TextOf(frame));
    ASSERT_OK_AND_ASSIGN(const PullReplyFrame back, DecodePullReplyFrame(received.pieces()));
    ASSERT_EQ(MessageOf(back).SerializeAsString(), message.SerializeAsString());
  }
}

TEST(ByteBufferTest, SendsBulkInPlaceAndKeepsItsOwnerUntilTheLastSliceIsGone) {
  auto values = std::make_shared<std::string>(100'000, 'v');
  std::weak_ptr<std::string> watch = values;
  grpc::ByteBuffer buffer;
  const uint8_t* address = SpanOf(*values).data();
  {
    PullReplyFrame reply;
    reply.parts.emplace_back().values = ViewOf(*values);
    buffer = ToByteBuffer(EncodeMessage(reply), values);
  }
  values.reset();
  EXPECT_FALSE(watch.expired());
  {
    const ReceivedBytes received(buffer);
    EXPECT_EQ(received.pieces().back().data(), address);
    buffer.Clear();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(ByteBufferTest, CopiesBulkThatHasNoOwner) {
  grpc::ByteBuffer buffer;
  {
    const std::string values(100'000, 'v');
    PullReplyFrame reply;
    reply.bag_values = ViewOf(values);
    buffer = ToByteBuffer(EncodeMessage(reply), nullptr);
  }
  EXPECT_THAT(TextOf(ReceivedBytes(buffer)), ::testing::EndsWith(std::string(100'000, 'v')));
}

TEST(ReceivedBytesTest, JoinsMessagesThatCameInVerySmallPieces) {
  std::vector<grpc::Slice> slices(5'000, grpc::Slice("xy", 2));
  const ReceivedBytes small(grpc::ByteBuffer(slices.data(), slices.size()));
  EXPECT_EQ(small.pieces().size(), 1u);
  EXPECT_EQ(small.size(), 10'000u);
  const std::vector<grpc::Slice> large(5, grpc::Slice(std::string(8'192, 'z')));
  EXPECT_EQ(ReceivedBytes(grpc::ByteBuffer(large.data(), large.size())).pieces().size(), 5u);
}

TEST(ReceivedBytesTest, StaysValidWhenMoved) {
  const grpc::Slice slices[] = {grpc::Slice("short", 5), grpc::Slice(std::string(500, 'l'))};
  ReceivedBytes first(grpc::ByteBuffer(slices, 2));
  const ReceivedBytes second = std::move(first);
  EXPECT_EQ(TextOf(second), "short" + std::string(500, 'l'));
}

TEST(ReceivedBytesTest, AnInvalidBufferIsAnEmptyMessage) {
  const ReceivedBytes received{grpc::ByteBuffer()};
  EXPECT_EQ(received.size(), 0u);
  v1::PingRequest ping;
  EXPECT_OK(received.ParseTo(ping));
}

TEST(ReceivedBytesTest, ParsesGeneratedMessages) {
  v1::Frame frame;
  frame.set_request_id(5);
  frame.mutable_tick()->set_clock(-3);
  const ReceivedBytes received(ToByteBuffer(frame));
  v1::Frame back;
  ASSERT_OK(received.ParseTo(back));
  EXPECT_EQ(back.SerializeAsString(), frame.SerializeAsString());
  const grpc::Slice bad("\x0f", 1);
  EXPECT_THAT(ReceivedBytes(grpc::ByteBuffer(&bad, 1)).ParseTo(back),
              StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace syncline
