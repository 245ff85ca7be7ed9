#include "worker/client/key_plan.h"

#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/hash.h"
#include "common/random.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

TEST(KeyPlanTest, PutsDistinctKeysInOrderOfSlotAndKeyAndRemembersWhereEachCameFrom) {
  const uint64_t seed = TestSeed(11);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const TableId table(3);
    std::vector<Key> keys(random.Below(200));
    for (Key& key : keys) key = random.Below(60) * 0x0123456789abcdefu;
    const KeyPlan plan = PlanKeys(table, keys, 8);

    EXPECT_EQ(std::set<Key>(plan.keys.begin(), plan.keys.end()),
              std::set<Key>(keys.begin(), keys.end()));
    ASSERT_EQ(plan.starts.size(), plan.keys.size() + 1);
    std::vector<int> seen(keys.size());
    for (size_t u = 0; u < plan.keys.size(); ++u) {
      ASSERT_LT(plan.starts[u], plan.starts[u + 1]);
      for (uint32_t i = plan.starts[u]; i < plan.starts[u + 1]; ++i) {
        EXPECT_EQ(keys[plan.order[i]], plan.keys[u]);
        ++seen[plan.order[i]];
      }
    }
    EXPECT_THAT(seen, ::testing::Each(1));
    size_t next = 0;
    for (const auto& range : plan.slots) {
      EXPECT_EQ(range.begin, next);
      next = range.end;
      for (size_t u = range.begin; u < range.end; ++u) {
        EXPECT_EQ(SlotOf(table, plan.keys[u], 8), range.slot);
        if (u > range.begin) {
          EXPECT_LT(plan.keys[u - 1], plan.keys[u]);
        }
      }
    }
    EXPECT_EQ(next, plan.keys.size());
  }
}

TEST(KeyPlanTest, NoKeysGiveAnEmptyPlan) {
  const KeyPlan plan = PlanKeys(TableId(1), {}, 4);
  EXPECT_TRUE(plan.keys.empty());
  EXPECT_TRUE(plan.slots.empty());
}

}  // namespace
}  // namespace syncline
