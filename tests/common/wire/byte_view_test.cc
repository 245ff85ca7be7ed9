#include "common/wire/byte_view.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/common/wire/random_frames.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(ByteViewTest, IsEmptyByDefault) {
  const ByteView view;
  std::vector<uint8_t> scratch;
  std::vector<uint64_t> numbers;
  EXPECT_TRUE(view.empty());
  EXPECT_TRUE(view.Contiguous(scratch).empty());
  EXPECT_TRUE(view.AsU64(numbers).empty());
}

TEST(ByteViewTest, ReadsTheSameBytesHoweverTheyAreCut) {
  const uint64_t seed = TestSeed(1);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  std::vector<uint8_t> bytes(500);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  for (int round = 0; round < 200; ++round) {
    const auto pieces = RandomCuts(bytes, random);
    const size_t offset = random.Below(pieces.front().size() + 1);
    const size_t size = random.Below(bytes.size() - offset + 1);
    const ByteView view(pieces, offset, size);
    const auto expected = ByteSpan(bytes).subspan(offset, size);

    std::vector<uint8_t> scratch;
    ASSERT_THAT(view.Contiguous(scratch), ElementsAreArray(expected));
    const size_t from = random.Below(size + 1);
    std::vector<uint8_t> part(random.Below(size - from + 1));
    view.CopyTo(from, part);
    ASSERT_THAT(part, ElementsAreArray(expected.subspan(from, part.size())));

    std::vector<uint32_t> numbers(size / 4);
    if (!numbers.empty()) std::memcpy(numbers.data(), expected.data(), numbers.size() * 4);
    std::vector<uint32_t> aligned;
    ASSERT_THAT(view.AsU32(aligned), ElementsAreArray(numbers));
    std::vector<uint32_t> one_by_one;
    view.ForEachU32([&](uint32_t n) {
      one_by_one.push_back(n);
      return true;
    });
    ASSERT_EQ(one_by_one, numbers);
  }
}

TEST(ByteViewTest, ReadsAlignedNumbersInPlace) {
  const std::vector<uint64_t> keys = {1, UINT64_MAX, 3};
  const ByteView view(ByteSpan(reinterpret_cast<const uint8_t*>(keys.data()), 24));
  std::vector<uint64_t> scratch;
  const auto numbers = view.AsU64(scratch);
  EXPECT_EQ(numbers.data(), keys.data());
  EXPECT_THAT(numbers, ElementsAreArray(keys));
}

TEST(ByteViewTest, CopiesUnalignedNumbers) {
  std::vector<uint64_t> room(4);
  auto* bytes = reinterpret_cast<uint8_t*>(room.data()) + 1;
  const uint64_t values[] = {5, 6};
  std::memcpy(bytes, values, sizeof(values));
  std::vector<uint64_t> scratch;
  EXPECT_THAT(ByteView(ByteSpan(bytes, sizeof(values))).AsU64(scratch), ElementsAre(5, 6));
}

TEST(ByteViewDeathTest, NeverReadsBeyondItsEnd) {
  const uint8_t bytes[4] = {};
  uint8_t out[4];
  const ByteView view{ByteSpan(bytes)};
  EXPECT_DEATH(view.CopyTo(1, out), "beyond the end");
}

}  // namespace
}  // namespace syncline
