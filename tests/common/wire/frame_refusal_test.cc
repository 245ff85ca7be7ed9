// What the decoder refuses: contradicting contents, exceeded limits, bytes that are no message.
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "tests/common/wire/bulk_kinds.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNoMessage = absl::StatusCode::kDataLoss;

std::string U32s(std::initializer_list<uint32_t> numbers) {
  std::string out;
  for (uint32_t n : numbers) out.append(reinterpret_cast<const char*>(&n), 4);
  return out;
}

// Two keys, two bags; consistent.
v1::PushRequest BagsPush() {
  v1::PushRequest push;
  push.set_bag_count(2);
  push.set_bag_values(std::string(16, 'v'));
  v1::PushPart& part = *push.add_parts();
  part.set_keys(std::string(16, 'k'));
  part.set_bag_offsets(U32s({0, 2, 3}));
  part.set_bag_ids(U32s({0, 1, 1}));
  return push;
}

absl::Status DecodePush(const std::string& bytes) {
  const ByteSpan piece = SpanOf(bytes);
  return DecodePushMessage({&piece, 1}).status();
}
absl::Status DecodePush(const v1::PushRequest& push) {
  return DecodePush(push.SerializeAsString());
}

struct Case {
  std::string name;
  std::function<void(v1::PushRequest&)> spoil;
  std::string message;
};

class PushRefusalTest : public ::testing::TestWithParam<Case> {};

TEST_P(PushRefusalTest, NamesWhatIsWrong) {
  v1::PushRequest push = BagsPush();
  ASSERT_OK(DecodePush(push));
  GetParam().spoil(push);
  EXPECT_THAT(DecodePush(push), StatusIs(kInvalid, HasSubstr(GetParam().message)));
}

const Case kCases[] = {
    {"KeysNotWhole", [](auto& p) { p.mutable_parts(0)->set_keys("123456789"); }, "keys has 9"},
    {"ValuesWithBags", [](auto& p) { p.mutable_parts(0)->set_values("12"); }, "in a request of"},
    {"OffsetsMissing", [](auto& p) { p.mutable_parts(0)->clear_bag_offsets(); }, "bag_offsets"},
    {"OffsetsTooMany",
     [](auto& p) {
       p.mutable_parts(0)->set_bag_offsets(U32s({0, 1, 2, 3}));
     },
     "need 12 bytes"},
    {"OffsetsDescend",
     [](auto& p) {
       p.mutable_parts(0)->set_bag_offsets(U32s({0, 3, 2}));
     },
     "ascend"},
    {"OffsetsStartLate",
     [](auto& p) {
       p.mutable_parts(0)->set_bag_offsets(U32s({1, 2, 3}));
     },
     "ascend"},
    {"OffsetsEndEarly",
     [](auto& p) {
       p.mutable_parts(0)->set_bag_offsets(U32s({0, 1, 2}));
     },
     "ascend"},
    {"OffsetsBeyondIds",
     [](auto& p) {
       p.mutable_parts(0)->set_bag_offsets(U32s({0, 9, 3}));
     },
     "ascend"},
    {"IdsNotWhole", [](auto& p) { p.mutable_parts(0)->mutable_bag_ids()->append("x"); },
     "bag_ids has 13"},
    {"IdTooGreat",
     [](auto& p) {
       p.mutable_parts(0)->set_bag_ids(U32s({0, 1, 2}));
     },
     "bag id 2"},
    {"BagValuesNotDivisible", [](auto& p) { p.set_bag_values("123"); }, "do not divide"},
    {"BagCountAboveLimit", [](auto& p) { p.set_bag_count(kMaxBagsPerFrame + 1); }, "the limit is"},
    {"BagCountHuge", [](auto& p) { p.set_bag_count(1u << 31); }, "the limit is"},
    {"BagFieldsWithoutBags",
     [](auto& p) {
       p.clear_bag_count();
       p.clear_bag_values();
     },
     "bag_count 0"},
    {"BagValuesWithoutBags",
     [](auto& p) {
       p.clear_bag_count();
       p.clear_parts();
     },
     "bag_count 0"},
    {"ValuesWithoutKeys",
     [](auto& p) {
       p.Clear();
       p.add_parts()->set_values("v");
     },
     "without keys"},
    {"ValuesNotDivisible",
     [](auto& p) {
       p.Clear();
       p.add_parts()->set_keys(std::string(16, 'k'));
       p.mutable_parts(0)->set_values("123");
     },
     "values has 3"},
    {"PlaceholderWithContent", [](auto& p) { p.mutable_parts(0)->set_placeholder(v1::DROPPED); },
     "no content"},
    {"PlaceholderNotFinal",
     [](auto& p) {
       p.mutable_parts(0)->Clear();
       p.mutable_parts(0)->set_placeholder(v1::RETRY_NOT_READY);
     },
     "no final outcome"},
    {"PlaceholderUnknown",
     [](auto& p) {
       p.mutable_parts(0)->Clear();
       p.mutable_parts(0)->set_placeholder(static_cast<v1::Outcome>(257));
     },
     "no final outcome"},
    {"KeysAboveLimit",
     [](auto& p) {
       p.Clear();
       p.add_parts()->set_keys(std::string(8 * (kMaxKeysPerFrame / 2 + 1), 'k'));
       p.add_parts()->set_keys(std::string(8 * (kMaxKeysPerFrame / 2), 'k'));
     },
     "keys in one request"},
    {"TooManyParts",
     [](auto& p) {
       for (size_t i = 0; i < kMaxSlotPartsPerFrame; ++i) p.add_parts();
     },
     "slot parts"},
    {"FrameAboveLimit", [](auto& p) { p.set_bag_values(std::string(kMaxFrameBytes, 'v')); },
     "the limit is"},
};
INSTANTIATE_TEST_SUITE_P(All, PushRefusalTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(FrameRefusalTest, ChecksBagsOfPullsToo) {
  v1::PullRequest pull;
  pull.set_bag_count(1);
  pull.add_parts()->set_keys(std::string(8, 'k'));
  pull.mutable_parts(0)->set_bag_offsets(U32s({0, 1}));
  pull.mutable_parts(0)->set_bag_ids(U32s({1}));
  const std::string bytes = pull.SerializeAsString();
  const auto pieces = OneBytePieces(SpanOf(bytes));
  EXPECT_THAT(DecodePullMessage(pieces), StatusIs(kInvalid, HasSubstr("bag id 1")));
}

TEST(FrameRefusalTest, RefusesBytesThatAreNoMessage) {
  const std::string cases[] = {
      std::string("\x10", 1),                      // a tag without its value
      std::string("\x00\x00", 2),                  // field 0
      std::string("\x12\x01x", 3),                 // table as bytes
      std::string("\x28\x01", 2),                  // parts as a number
      std::string("\x2a\x05\x08\x01", 4),          // a part longer than the message
      std::string("\x2a\x02\x22\x05", 4),          // keys longer than their part
      std::string("\x2a\xff\xff\xff\xff\x07", 6),  // 2 GiB claimed
      std::string("\x0a\x02\x08\x01", 4),          // session as a varint
      std::string("\xc3\x3e\xc4\x3e", 4),          // a group
      std::string("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12),  // varint of 11 bytes
  };
  for (const std::string& bytes : cases) {
    EXPECT_THAT(DecodePush(bytes), StatusIs(kNoMessage)) << ::testing::PrintToString(bytes);
  }
}

TEST(FrameRefusalTest, RefusesEveryTruncation) {
  RandomFrames frames(9);
  for (int i = 0; i < 20; ++i) {
    v1::Frame frame;
    frame.set_request_id(300);
    *frame.mutable_push() = frames.Push();
    const std::string bytes = frame.SerializeAsString();
    for (size_t n = 0; n < bytes.size(); ++n) {
      const ByteSpan piece = SpanOf(bytes).first(n);
      ASSERT_THAT(DecodePushFrame({&piece, 1}), StatusIs(kNoMessage)) << n;
    }
  }
}

template <typename Kind>
class MutationTest : public ::testing::Test {};
TYPED_TEST_SUITE(MutationTest, BulkKinds);

void Mutate(std::string& bytes, SplitMix64& random) {
  for (uint64_t n = 1 + random.Below(4); n > 0 && !bytes.empty(); --n) {
    const size_t at = random.Below(bytes.size());
    switch (random.Below(4)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes.resize(at);
        break;
      default:
        bytes.insert(at, bytes, random.Below(bytes.size()), random.Below(16));
    }
  }
}

TYPED_TEST(MutationTest, NeverCrashesAndAcceptsNothingThatTheGeneratedParserRefuses) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  const uint64_t seed = TestSeed(6);
  SCOPED_TRACE(SeedTrace(seed));
  RandomFrames frames(seed);
  int accepted = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string bytes = TypeParam::Random(frames).SerializeAsString();
    Mutate(bytes, frames.random());
    const auto pieces = RandomCuts(SpanOf(bytes), frames.random());
    const auto decoded = TypeParam::DecodeMessage(pieces);
    if (!decoded.ok()) {
      ASSERT_THAT(decoded, ::testing::AnyOf(StatusIs(kInvalid), StatusIs(kNoMessage)));
      continue;
    }
    ++accepted;
    typename TypeParam::Proto parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes)) << i;
    parsed.DiscardUnknownFields();
    if constexpr (requires { parsed.mutable_header(); }) parsed.mutable_header();
    if (MessageOf(*decoded).SerializeAsString() != parsed.SerializeAsString()) {
      // Only an error's unknown code or empty ErrorInfo may read differently.
      ASSERT_TRUE((std::is_same_v<TypeParam, PullReplyKind>)) << i;
    }
  }
  EXPECT_GT(accepted, 100);
}

TYPED_TEST(MutationTest, PeeksAtAnyBytesWithoutCrashing) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  const uint64_t seed = TestSeed(7);
  SCOPED_TRACE(SeedTrace(seed));
  RandomFrames frames(seed);
  for (int i = 0; i < 1'000; ++i) {
    v1::Frame frame;
    frame.set_request_id(frames.Number());
    TypeParam::Body(frame) = TypeParam::Random(frames);
    std::string bytes = frame.SerializeAsString();
    Mutate(bytes, frames.random());
    const auto pieces = RandomCuts(SpanOf(bytes), frames.random());
    const auto peek = PeekFrame(pieces);
    const auto decoded = TypeParam::DecodeFrame(pieces);
    if (!decoded.ok()) continue;
    ASSERT_TRUE(peek.ok() && peek->Is(TypeParam::kBody));
  }
}

}  // namespace
}  // namespace syncline
