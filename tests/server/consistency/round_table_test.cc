#include "server/consistency/round_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr TableId kTable{1};
constexpr Contributor kRank0{Rank(0), 7};
constexpr Contributor kRank1{Rank(1), 3};
constexpr size_t kRowBytes = 8 + 4;

class RoundTableTest : public ::testing::Test {
 protected:
  RoundTableTest() { rounds_.AddTable(Staleness(1)); }
  void Add(Contributor who, int64_t round, std::vector<Key> keys, std::vector<float> gradients,
           TableId table = kTable) {
    rounds_.Add(who, Round(round), table, 1, keys, gradients);
  }
  void End(Contributor who, int64_t round, uint64_t samples = 1) {
    rounds_.EndRound(who, Round(round), samples);
  }

  RoundMemory memory_;
  RoundTable rounds_{memory_};
};

TEST_F(RoundTableTest, R1AddsByKeyInRankOrderAndSumsTheSamples) {
  Add(kRank1, 0, {2, 5}, {-1e8f, 3});
  Add(kRank0, 0, {2}, {1e8f});
  Add(kRank0, 0, {1, 2}, {7, 1});  // a second push of the same rank: after its first
  End(kRank1, 0, 4);
  End(kRank0, 0, 2);
  const auto closed = rounds_.CloseNext(Round(1));
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->samples, 6u);
  ASSERT_THAT(closed->tables, SizeIs(1));
  EXPECT_THAT(closed->tables[0].keys, ElementsAre(1, 2, 5));
  EXPECT_THAT(closed->tables[0].sums, ElementsAre(7, (1e8f + 1.0f) - 1e8f, 3));
}

TEST_F(RoundTableTest, R1TwoLivesOfARankFollowTheOrderOfTheirInstallation) {
  Add({Rank(0), 9}, 0, {1}, {-1e8f});
  Add({Rank(0), 2}, 0, {1}, {1e8f});
  Add({Rank(0), 2}, 0, {1}, {1.0f});
  End({Rank(0), 9}, 0);
  End({Rank(0), 2}, 0);
  EXPECT_THAT(rounds_.CloseNext(Round(1))->tables[0].sums, ElementsAre((1e8f + 1.0f) - 1e8f));
}

TEST_F(RoundTableTest, R2ACloseTakesExactlyWhoHasTicked) {
  Add(kRank0, 0, {1}, {5});
  Add(kRank1, 0, {1}, {3});
  End(kRank1, 0, 2);
  const auto closed = rounds_.CloseNext(Round(1));
  EXPECT_EQ(closed->samples, 2u);
  EXPECT_THAT(closed->tables[0].sums, ElementsAre(3));
  EXPECT_EQ(memory_.used, 0u);
}

TEST_F(RoundTableTest, R2RoundsCloseInOrderAndEmptyOnesAreSkipped) {
  End(kRank0, 1);
  End(kRank0, 3);
  EXPECT_EQ(rounds_.CloseNext(Round(3))->round, Round(1));
  EXPECT_EQ(rounds_.oldest(), Round(2));
  EXPECT_EQ(rounds_.CloseNext(Round(3)), std::nullopt);
  EXPECT_EQ(rounds_.oldest(), Round(3));
  EXPECT_EQ(rounds_.last_ticked(), Round(3));
  EXPECT_EQ(rounds_.CloseNext(Round(0)), std::nullopt);
  EXPECT_EQ(rounds_.oldest(), Round(3));  // never back
}

TEST_F(RoundTableTest, R3TheWindowReachesStalenessPlusOneBeyondTheOldest) {
  rounds_.CloseNext(Round(10));
  EXPECT_EQ(rounds_.PlaceOf(Round(9)), RoundTable::Place::kClosed);
  EXPECT_EQ(rounds_.PlaceOf(Round(10)), RoundTable::Place::kOpen);
  EXPECT_EQ(rounds_.PlaceOf(Round(12)), RoundTable::Place::kOpen);
  EXPECT_EQ(rounds_.PlaceOf(Round(13)), RoundTable::Place::kBeyondWindow);
  EXPECT_EQ(rounds_.PlaceOf(Round(-5)), RoundTable::Place::kClosed);
}

TEST_F(RoundTableTest, C6AFenceDiscardsEverythingAndALeaveOnlyWhatIsNotTicked) {
  for (Contributor who : {kRank0, kRank1}) {
    Add(who, 0, {1}, {1});
    End(who, 0);
    Add(who, 1, {1}, {1});
  }
  rounds_.Fence(kRank0);
  rounds_.Leave(kRank1);
  EXPECT_EQ(memory_.used, kRowBytes);
  EXPECT_THAT(rounds_.CloseNext(Round(9))->tables[0].sums, ElementsAre(1));
  EXPECT_EQ(rounds_.CloseNext(Round(9)), std::nullopt);
}

TEST_F(RoundTableTest, TheMemoryOfOpenRoundsIsCountedOverAllJobs) {
  memory_.cap = 3 * kRowBytes;
  RoundTable other(memory_);
  Add(kRank0, 0, {1, 2}, {1, 1});
  EXPECT_TRUE(other.HasRoomFor(1, 1));
  EXPECT_FALSE(other.HasRoomFor(2, 1));
  other.Add(kRank0, Round(0), kTable, 1, std::vector<Key>{1}, std::vector<float>{1});
  EXPECT_FALSE(rounds_.HasRoomFor(1, 1));
  rounds_.Clear();
  EXPECT_EQ(memory_.used, kRowBytes);
}

TEST_F(RoundTableTest, TablesOfOneRoundAreSummedApart) {
  Add(kRank0, 0, {1}, {1}, TableId(2));
  Add(kRank0, 0, {1}, {2}, TableId(1));
  End(kRank0, 0);
  const auto closed = rounds_.CloseNext(Round(1));
  ASSERT_THAT(closed->tables, SizeIs(2));
  EXPECT_EQ(closed->tables[0].table, TableId(1));
  EXPECT_THAT(closed->tables[0].sums, ElementsAre(2));
  EXPECT_THAT(closed->tables[1].sums, ElementsAre(1));
}

TEST(RoundTableWithoutTablesTest, TicksFarAheadAreNotKept) {
  RoundMemory memory;
  RoundTable rounds(memory);
  for (int64_t round = 0; round < 10'000; ++round) rounds.EndRound(kRank0, Round(round), 1);
  EXPECT_EQ(rounds.open_rounds(), kOutcomeWindow);
  EXPECT_THAT(rounds.CloseNext(Round(10'000))->tables, IsEmpty());
}

}  // namespace
}  // namespace syncline
