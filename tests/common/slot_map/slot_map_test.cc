#include "common/slot_map/slot_map.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::vector<ServerEntry> Servers(std::initializer_list<uint32_t> ids) {
  std::vector<ServerEntry> servers;
  for (uint32_t id : ids) servers.push_back({ServerId(id), "s" + std::to_string(id), "h:1", id});
  return servers;
}

TEST(SlotMapTest, IsEmptyByDefault) {
  const SlotMap map;
  EXPECT_EQ(map.slot_count(), 0u);
  EXPECT_EQ(map.epoch(), Epoch(0));
}

TEST(SlotMapTest, DealsTheFirstMapRoundRobin) {
  ASSERT_OK_AND_ASSIGN(const SlotMap map, SlotMap::Initial("c", 8, Servers({7, 3, 5})));
  EXPECT_EQ(map.epoch(), Epoch(1));
  EXPECT_THAT(map.SlotsOf(ServerId(7)), ElementsAre(SlotId(0), SlotId(3), SlotId(6)));
  EXPECT_THAT(map.SlotsOf(ServerId(3)), ElementsAre(SlotId(1), SlotId(4), SlotId(7)));
  EXPECT_THAT(map.SlotsOf(ServerId(5)), ElementsAre(SlotId(2), SlotId(5)));
  EXPECT_THAT(map.SlotsOf(ServerId(1)), ElementsAre());
  for (const SlotEntry& slot : map.slots()) EXPECT_EQ(slot.incarnation, Incarnation(1));
}

TEST(SlotMapTest, FindsServersById) {
  ASSERT_OK_AND_ASSIGN(const SlotMap map, SlotMap::Initial("c", 4, Servers({7, 3, 5})));
  ASSERT_NE(map.FindServer(ServerId(5)), nullptr);
  EXPECT_EQ(map.FindServer(ServerId(5))->name, "s5");
  EXPECT_EQ(map.FindServer(ServerId(4)), nullptr);
  EXPECT_EQ(map.FindServer(ServerId(8)), nullptr);
}

TEST(SlotMapTest, PutsARowWhereTheStableHashSays) {
  ASSERT_OK_AND_ASSIGN(const SlotMap map, SlotMap::Initial("c", 256, Servers({0})));
  EXPECT_EQ(map.SlotOfRow(TableId(1), 0), SlotId(184));  // tests/golden/hash_vectors.json
}

TEST(SlotMapTest, RefusesSlotCountsThatAreNoPowerOfTwo) {
  for (uint32_t count : {0u, 3u, 257u, 2 * kMaxSlotCount, UINT32_MAX}) {
    EXPECT_THAT(SlotMap::Initial("c", count, Servers({0})), StatusIs(kInvalid)) << count;
  }
  EXPECT_OK(SlotMap::Initial("c", 1, Servers({0})));
  EXPECT_OK(SlotMap::Initial("c", kMaxSlotCount, Servers({0})));
}

TEST(SlotMapTest, RefusesServersListedTwiceOrNotAtAll) {
  EXPECT_THAT(SlotMap::Initial("c", 2, Servers({1, 2, 1})),
              StatusIs(kInvalid, HasSubstr("server 1 is listed twice")));
  EXPECT_THAT(SlotMap::Initial("c", 2, {}), StatusIs(kInvalid));
  EXPECT_THAT(SlotMap::Make("c", Epoch(2), Servers({1}), {{ServerId(2), Incarnation(1)}}),
              StatusIs(kInvalid, HasSubstr("slot 0 belongs to server 2")));
}

}  // namespace
}  // namespace syncline
