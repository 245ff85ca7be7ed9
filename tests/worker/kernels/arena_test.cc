#include "worker/kernels/arena.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

TEST(ArenaTest, AllocationsAreAlignedAndDoNotOverlap) {
  Arena arena(1024);
  ASSERT_OK_AND_ASSIGN(const auto first, arena.Allocate<float>(3));
  ASSERT_OK_AND_ASSIGN(const auto second, arena.Allocate<double>(5));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % Arena::kAlignment, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second.data()) % Arena::kAlignment, 0u);
  EXPECT_GE(reinterpret_cast<uintptr_t>(second.data()),
            reinterpret_cast<uintptr_t>(first.data() + first.size()));
}

TEST(ArenaTest, ExhaustionIsAnErrorThatTakesNothing) {
  Arena arena(128);
  ASSERT_OK(arena.Allocate<float>(16));
  EXPECT_THAT(arena.Allocate<float>(17), StatusIs(absl::StatusCode::kResourceExhausted,
                                                  ::testing::HasSubstr("64 of 128 bytes")));
  EXPECT_EQ(arena.used(), 64u);
  EXPECT_OK(arena.Allocate<float>(16));
}

TEST(ArenaTest, AnAbsurdCountDoesNotWrapAround) {
  Arena arena(128);
  EXPECT_THAT(arena.Allocate<double>(SIZE_MAX / 4), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(ArenaTest, ResetGivesTheSameMemoryAgain) {
  Arena arena(64);
  ASSERT_OK_AND_ASSIGN(const auto first, arena.Allocate<float>(16));
  arena.Reset();
  ASSERT_OK_AND_ASSIGN(const auto again, arena.Allocate<float>(16));
  EXPECT_EQ(first.data(), again.data());
}

TEST(ArenaTest, AnEmptyAllocationTakesNothing) {
  Arena arena(0);
  ASSERT_OK_AND_ASSIGN(const auto nothing, arena.Allocate<float>(0));
  EXPECT_TRUE(nothing.empty());
}

}  // namespace
}  // namespace syncline
