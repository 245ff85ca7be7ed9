#include "server/coordinator/piece_ledger.h"

#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "common/random.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline::coordinator {
namespace {

constexpr JobId kJob{1};

SessionId Reader(uint64_t n) { return {n + 1, 0}; }

TEST(PieceLedgerTest, TheOpenPiecesOfAllJobsAreBounded) {
  PieceLedger ledger;
  const uint64_t passes = kMaxOpenPieces / kMaxPiecesPerPass;
  for (uint64_t pass = 0; pass < passes; ++pass) {
    ASSERT_OK(ledger.Open(JobId(static_cast<uint32_t>(pass % 3 + 1)), pass, kMaxPiecesPerPass));
  }
  EXPECT_THAT(ledger.Open(kJob, passes, 1), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(ledger.Open(kJob, 0, kMaxPiecesPerPass));  // known already
}

TEST(PieceLedgerTest, EveryPieceIsReadOnceByWhoeverAsks) {
  const uint64_t seed = TestSeed(3);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  PieceLedger ledger;
  ASSERT_OK(ledger.Open(kJob, 0, 100));
  std::multiset<uint64_t> done;
  for (;;) {
    const SessionId reader = Reader(random.Below(4));
    ASSERT_OK_AND_ASSIGN(const PieceLease lease, ledger.Lease(kJob, 0, reader));
    if (lease.closed) break;
    if (lease.piece && random.Below(2) == 0) {
      ASSERT_OK(ledger.Report(kJob, 0, *lease.piece, reader));
      done.insert(*lease.piece);
    }
  }
  EXPECT_EQ(done.size(), 100u);
  EXPECT_EQ((std::set<uint64_t>(done.begin(), done.end()).size()), 100u);
}

TEST(PieceLedgerTest, AskingAgainBeforeReportingGivesTheSamePiece) {
  PieceLedger ledger;
  ASSERT_OK(ledger.Open(kJob, 0, 5));
  ASSERT_OK_AND_ASSIGN(const PieceLease first, ledger.Lease(kJob, 0, Reader(0)));
  ASSERT_OK_AND_ASSIGN(const PieceLease again, ledger.Lease(kJob, 0, Reader(0)));
  EXPECT_EQ(first.piece, again.piece);
}

TEST(PieceLedgerTest, ReturnedPiecesComeFirstAndTheOldReadersReportIsRefused) {
  PieceLedger ledger;
  ASSERT_OK(ledger.Open(kJob, 0, 3));
  ASSERT_OK(ledger.Lease(kJob, 0, Reader(0)));
  ledger.Return(Reader(0));
  ASSERT_OK_AND_ASSIGN(const PieceLease lease, ledger.Lease(kJob, 0, Reader(1)));
  EXPECT_EQ(lease.piece, 0u);
  EXPECT_THAT(ledger.Report(kJob, 0, 0, Reader(0)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(ledger.Report(kJob, 0, 0, Reader(1)));
  EXPECT_OK(ledger.Report(kJob, 0, 0, Reader(1)));
}

TEST(PieceLedgerTest, OpeningIsIdempotentForTheSameCut) {
  PieceLedger ledger;
  ASSERT_OK(ledger.Open(kJob, 7, 3));
  EXPECT_OK(ledger.Open(kJob, 7, 3));
  EXPECT_THAT(ledger.Open(kJob, 7, 4), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(ledger.Open(kJob, 8, 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ledger.Open(kJob, 8, kMaxPiecesPerPass + 1),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ledger.Lease(kJob, 9, Reader(0)), StatusIs(absl::StatusCode::kNotFound));
}

TEST(PieceLedgerTest, PassesOfAJobAreBounded) {
  PieceLedger ledger;
  for (uint64_t pass = 0; pass < kMaxPassesPerJob; ++pass) ASSERT_OK(ledger.Open(kJob, pass, 1));
  EXPECT_THAT(ledger.Open(kJob, kMaxPassesPerJob, 1),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(ledger.Open(JobId(2), 0, 1));
}

TEST(PieceLedgerTest, APieceBeyondThePassIsNotHeld) {
  PieceLedger ledger;
  ASSERT_OK(ledger.Open(kJob, 0, 2));
  EXPECT_THAT(ledger.Report(kJob, 0, 2, Reader(0)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace syncline::coordinator
