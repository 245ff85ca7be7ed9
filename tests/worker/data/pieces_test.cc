#include "worker/data/pieces.h"

#include <algorithm>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "tests/support/seed.h"

namespace syncline {
namespace {

using ::testing::IsEmpty;

// Row numbers that are not 0, 1, 2, ..., as a split's train part is not.
std::vector<uint32_t> Rows(uint32_t n) {
  std::vector<uint32_t> rows(n);
  for (uint32_t i = 0; i < n; ++i) rows[i] = 3 * i + 1;
  return rows;
}

std::vector<uint32_t> Copy(std::span<const uint32_t> rows) { return {rows.begin(), rows.end()}; }

TEST(StaticPiecesTest, APassCoversEachSampleOnceForAnyNumberOfRanks) {
  const uint64_t seed = TestSeed(11);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 200; ++i) {
    const auto n = static_cast<uint32_t>(random.Below(300));
    const auto batch = static_cast<uint32_t>(1 + random.Below(64));
    const auto ranks = static_cast<uint32_t>(1 + random.Below(9));
    StaticPieces pieces(Rows(n), batch, random());
    const uint64_t pass = random.Below(5);
    std::vector<uint32_t> seen;
    for (uint64_t round = 0; round < pieces.rounds_per_pass(); ++round) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const auto piece = pieces.Piece(pass, round, rank, ranks);
        seen.insert(seen.end(), piece.begin(), piece.end());
      }
    }
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen, Rows(n)) << n << " rows, batch " << batch << ", ranks " << ranks;
  }
}

TEST(StaticPiecesTest, RoundsPerPassAreTheBatchesRoundedUp) {
  EXPECT_EQ(StaticPieces(Rows(0), 8, 1).rounds_per_pass(), 0u);
  EXPECT_EQ(StaticPieces(Rows(1), 8, 1).rounds_per_pass(), 1u);
  EXPECT_EQ(StaticPieces(Rows(8), 8, 1).rounds_per_pass(), 1u);
  EXPECT_EQ(StaticPieces(Rows(9), 8, 1).rounds_per_pass(), 2u);
}

TEST(StaticPiecesTest, GlobalBatchesDoNotDependOnTheNumberOfRanks) {
  StaticPieces pieces(Rows(1000), 64, 5);
  for (uint64_t round = 0; round < pieces.rounds_per_pass(); ++round) {
    const std::vector<uint32_t> whole = Copy(pieces.Piece(2, round, 0, 1));
    for (const uint32_t ranks : {2u, 4u, 7u}) {
      std::vector<uint32_t> joined;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const auto piece = pieces.Piece(2, round, rank, ranks);
        joined.insert(joined.end(), piece.begin(), piece.end());
      }
      EXPECT_EQ(joined, whole);
    }
  }
}

TEST(StaticPiecesTest, APieceIsAPureFunctionHoweverOneGetsThere) {
  StaticPieces walked(Rows(500), 32, 9);
  for (uint64_t pass = 0; pass < 3; ++pass) {
    for (uint64_t round = 0; round < walked.rounds_per_pass(); ++round) {
      StaticPieces fresh(Rows(500), 32, 9);
      EXPECT_EQ(Copy(walked.Piece(pass, round, 1, 3)), Copy(fresh.Piece(pass, round, 1, 3)));
    }
  }
  StaticPieces fresh(Rows(500), 32, 9);
  EXPECT_EQ(Copy(walked.Piece(0, 4, 2, 3)), Copy(fresh.Piece(0, 4, 2, 3)));  // back to pass 0
}

TEST(StaticPiecesTest, PassesAndSeedsShuffleAnew) {
  StaticPieces pieces(Rows(200), 200, 1);
  StaticPieces other(Rows(200), 200, 2);
  const std::vector<uint32_t> first = Copy(pieces.GlobalBatch(0, 0));
  EXPECT_NE(first, Copy(pieces.GlobalBatch(1, 0)));
  EXPECT_NE(first, Copy(other.GlobalBatch(0, 0)));
  EXPECT_NE(first, Rows(200));
}

TEST(StaticPiecesTest, PiecesOfAGlobalBatchDifferByOneSampleAtMost) {
  StaticPieces pieces(Rows(103), 50, 3);
  for (uint64_t round = 0; round < pieces.rounds_per_pass(); ++round) {
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (uint32_t rank = 0; rank < 7; ++rank) {
      least = std::min(least, pieces.Piece(0, round, rank, 7).size());
      most = std::max(most, pieces.Piece(0, round, rank, 7).size());
    }
    EXPECT_LE(most - least, 1u);
  }
}

TEST(StaticPiecesTest, BeyondTheEndPiecesAreEmpty) {
  StaticPieces pieces(Rows(10), 8, 3);
  EXPECT_THAT(pieces.Piece(0, 2, 0, 1), IsEmpty());
  EXPECT_THAT(pieces.Piece(0, 1'000'000'000'000, 0, 1), IsEmpty());
  EXPECT_EQ(pieces.GlobalBatch(0, 1).size(), 2u);  // a short batch for more ranks than samples
  size_t total = 0;
  for (uint32_t rank = 0; rank < 4; ++rank) total += pieces.Piece(0, 1, rank, 4).size();
  EXPECT_EQ(total, 2u);
  StaticPieces none(Rows(0), 8, 3);
  EXPECT_THAT(none.Piece(0, 0, 0, 1), IsEmpty());
}

}  // namespace
}  // namespace syncline
