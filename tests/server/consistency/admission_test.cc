#include "server/consistency/admission.h"

#include <algorithm>
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "common/random.h"
#include "common/status/status.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SessionId kAlice{0, 1};
constexpr SessionId kBob{0, 2};

ReadNeed MinClock(int64_t level, uint64_t sequence = 0) {
  return {ReadNeed::Gate::kMinClock, level, Sequence(sequence)};
}
ReadNeed OldestRound(int64_t level) { return {ReadNeed::Gate::kRound, level, Sequence(0)}; }
Progress At(int64_t min_clock, int64_t oldest_round = 0) {
  return {true, Clock(min_clock), Round(oldest_round)};
}

TEST(AdmissionTest, C3TheNeedOfAReadIsItsClockMinusTheStaleness) {
  const ConsistencyPolicy ssp{ConsistencyMode::kSsp, Staleness(3), ApplyMode::kImmediate};
  const ReadNeed need = NeedOf(ssp, true, Clock(10), Sequence(4));
  EXPECT_EQ(need.gate, ReadNeed::Gate::kMinClock);
  EXPECT_EQ(need.level, 7);
  EXPECT_EQ(need.sequence, Sequence(4));
  EXPECT_EQ(NeedOf(ssp, true, Clock(1), Sequence()).level, -2);
  EXPECT_EQ(NeedOf(ssp, false, Clock(10), Sequence()).gate, ReadNeed::Gate::kOpen);
  const ConsistencyPolicy bsp{ConsistencyMode::kBsp, Staleness(0), ApplyMode::kRound};
  EXPECT_EQ(NeedOf(bsp, true, Clock(10), Sequence()).gate, ReadNeed::Gate::kRound);
  EXPECT_EQ(NeedOf(bsp, true, Clock(10), Sequence()).level, 10);
  const ConsistencyPolicy async{ConsistencyMode::kAsync, Staleness(0), ApplyMode::kImmediate};
  EXPECT_EQ(NeedOf(async, true, Clock(10), Sequence()).gate, ReadNeed::Gate::kStart);
}

TEST(AdmissionTest, C2AJumpReleasesEverythingAtOrBelowTheNewLevels) {
  Admission reads;
  reads.Advance(At(0));
  ASSERT_THAT(reads.Ask(1, kAlice, Sequence(0), MinClock(4)), IsOkAndHolds(false));
  ASSERT_THAT(reads.Ask(2, kBob, Sequence(0), OldestRound(2)), IsOkAndHolds(false));
  ASSERT_THAT(reads.Ask(3, kAlice, Sequence(0), MinClock(6)), IsOkAndHolds(false));
  ASSERT_THAT(reads.Ask(4, kAlice, Sequence(0), MinClock(9)), IsOkAndHolds(false));
  EXPECT_THAT(reads.Advance(At(7, 7)), ElementsAre(1, 2, 3));
  EXPECT_THAT(reads.Advance(At(7, 7)), IsEmpty());
  EXPECT_THAT(reads.Advance(At(9, 7)), ElementsAre(4));
}

TEST(AdmissionTest, C5NothingWithAGateIsServedBeforeTheStart) {
  Admission reads;
  EXPECT_THAT(reads.Ask(1, kAlice, Sequence(0), MinClock(-5)), IsOkAndHolds(false));
  EXPECT_THAT(reads.Ask(2, kAlice, Sequence(0), {ReadNeed::Gate::kStart, 0, Sequence(0)}),
              IsOkAndHolds(false));
  EXPECT_THAT(reads.Ask(3, kBob, Sequence(0), {}), IsOkAndHolds(true));
  EXPECT_THAT(reads.Advance({false, Clock(9), Round(9)}), IsEmpty());
  EXPECT_THAT(reads.Advance(At(0)), ElementsAre(1, 2));
}

TEST(AdmissionTest, S6AReadMovesOnToItsGateWhenItsSequenceIsDecided) {
  Admission reads;
  reads.Advance(At(0));
  ASSERT_THAT(reads.Ask(1, kAlice, Sequence(2), MinClock(0, 3)), IsOkAndHolds(false));
  ASSERT_THAT(reads.Ask(2, kAlice, Sequence(2), MinClock(1, 4)), IsOkAndHolds(false));
  EXPECT_THAT(reads.Decide(kBob, Sequence(9)), IsEmpty());
  EXPECT_THAT(reads.Decide(kAlice, Sequence(3)), ElementsAre(1));
  EXPECT_THAT(reads.Decide(kAlice, Sequence(4)), IsEmpty());
  EXPECT_THAT(reads.Advance(At(1)), ElementsAre(2));
  EXPECT_EQ(reads.parked(), 0u);
}

TEST(AdmissionTest, ADroppedOrCancelledReadNeverComesBack) {
  Admission reads;
  reads.Advance(At(0));
  ASSERT_THAT(reads.Ask(1, kAlice, Sequence(0), MinClock(1)), IsOkAndHolds(false));
  ASSERT_THAT(reads.Ask(2, kAlice, Sequence(0), MinClock(0, 5)), IsOkAndHolds(false));
  ASSERT_THAT(reads.Ask(3, kBob, Sequence(0), MinClock(1)), IsOkAndHolds(false));
  ASSERT_THAT(reads.Ask(4, kBob, Sequence(0), MinClock(0, 5)), IsOkAndHolds(false));
  EXPECT_THAT(reads.Drop(kAlice), ElementsAre(1, 2));
  reads.Cancel(3);
  reads.Cancel(4);
  reads.Cancel(4);
  EXPECT_THAT(reads.Advance(At(9)), IsEmpty());
  EXPECT_THAT(reads.Decide(kBob, Sequence(9)), IsEmpty());
  EXPECT_EQ(reads.parked(), 0u);
}

TEST(AdmissionTest, ASessionParksOnlySoManyReads) {
  Admission reads;
  reads.Advance(At(0));
  for (ReadId id = 0; id < kMaxParkedReadsPerSession; ++id) {
    ASSERT_THAT(reads.Ask(id, kAlice, Sequence(0), MinClock(1)), IsOkAndHolds(false));
  }
  EXPECT_THAT(reads.Ask(99, kAlice, Sequence(0), MinClock(1)), HasDetail(Detail::kOverloaded));
  EXPECT_THAT(reads.Ask(99, kAlice, Sequence(0), MinClock(0)), IsOkAndHolds(true));
  reads.Cancel(0);
  EXPECT_THAT(reads.Ask(99, kAlice, Sequence(0), MinClock(1)), IsOkAndHolds(false));
  EXPECT_EQ(reads.DropAll().size(), kMaxParkedReadsPerSession);
}

// Every read comes back exactly once, at the first moment at which its need is met.
TEST(AdmissionTest, RandomReadsComeBackOnceAndOnTime) {
  const uint64_t seed = TestSeed(20'240);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  struct Waiting {
    SessionId reader;
    ReadNeed need;
  };
  for (int run = 0; run < 50; ++run) {
    Admission reads;
    Progress progress = At(0);
    reads.Advance(progress);
    uint64_t decided[2] = {0, 0};
    std::map<ReadId, Waiting> waiting;
    const auto met = [&](const Waiting& w) {
      const bool round = w.need.gate == ReadNeed::Gate::kRound;
      const int64_t level = round ? progress.oldest_round.value() : progress.min_clock.value();
      return level >= w.need.level && decided[w.reader.low - 1] >= w.need.sequence.value();
    };
    const auto expect = [&](const std::vector<ReadId>& released) {
      std::set<ReadId> due;
      for (const auto& [id, w] : waiting) {
        if (met(w)) due.insert(id);
      }
      EXPECT_TRUE(std::is_sorted(released.begin(), released.end()));  // ids ascend with arrival
      EXPECT_EQ(due, std::set<ReadId>(released.begin(), released.end()));
      for (ReadId id : released) waiting.erase(id);
    };
    for (ReadId id = 0; id < 200; ++id) {
      const auto who = static_cast<size_t>(random.Below(2));
      switch (random.Below(4)) {
        case 0:
          progress.min_clock = progress.min_clock + static_cast<int64_t>(random.Below(3));
          progress.oldest_round = progress.oldest_round + static_cast<int64_t>(random.Below(3));
          expect(reads.Advance(progress));
          break;
        case 1:
          decided[who] += random.Below(3);
          expect(reads.Decide({0, who + 1}, Sequence(decided[who])));
          break;
        default: {
          Waiting w{{0, who + 1}, {}};
          w.need.gate = random.Below(2) == 0 ? ReadNeed::Gate::kMinClock : ReadNeed::Gate::kRound;
          w.need.level = progress.min_clock.value() - 3 + static_cast<int64_t>(random.Below(8));
          w.need.sequence = Sequence(decided[who] + random.Below(3));
          const auto served = reads.Ask(id, w.reader, Sequence(decided[who]), w.need);
          if (!served.ok()) break;  // capped
          EXPECT_EQ(*served, met(w));
          if (!*served) waiting.emplace(id, w);
        }
      }
      EXPECT_EQ(reads.parked(), waiting.size());
    }
  }
}

}  // namespace
}  // namespace syncline
