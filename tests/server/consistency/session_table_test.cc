#include "server/consistency/session_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "common/status/status.h"
#include "tests/support/status_matchers.h"

namespace syncline {
namespace {

SessionDeclaration Declaration(uint64_t id) {
  return {SessionId{0, id}, Token(id), JobId(1), Rank(0), true, {"worker"}};
}
Caller CallerOf(uint64_t id) { return {SessionId{0, id}, Token(id), {"worker"}}; }

TEST(SessionTableTest, S1OnlyInstalledSessionsAreFound) {
  SessionTable sessions(Incarnation(2));
  EXPECT_EQ(sessions.Find(CallerOf(1), Incarnation(2)).gone, Outcome::kGoneSessionUnknown);
  EXPECT_EQ(sessions.Find(CallerOf(1), Incarnation(0)).gone, Outcome::kGoneSessionUnknown);
  EXPECT_EQ(sessions.Find(CallerOf(1), Incarnation(1)).gone, Outcome::kGoneSessionLost);
  EXPECT_EQ(sessions.size(), 0u);
  ASSERT_NE(sessions.Install(Declaration(1)), nullptr);
  EXPECT_EQ(sessions.Install(Declaration(1)), nullptr);
  EXPECT_NE(sessions.Find(CallerOf(1), Incarnation(2)).session, nullptr);
}

TEST(SessionTableTest, C6AFencedSessionIsAnsweredSoEvenWhenTheFenceCameFirst) {
  SessionTable sessions(Incarnation(1));
  sessions.Remove(SessionId{0, 1}, SessionTable::End::kFenced);
  EXPECT_EQ(sessions.Install(Declaration(1)), nullptr);
  const auto found = sessions.Find(CallerOf(1), Incarnation(1));
  EXPECT_EQ(found.gone, Outcome::kGoneFenced);
  EXPECT_THAT(found.error, HasDetail(Detail::kFenced));
}

TEST(SessionTableTest, S4ASessionThatLeftIsUnknownAndStaysSo) {
  SessionTable sessions(Incarnation(1));
  sessions.Install(Declaration(1));
  sessions.Remove(SessionId{0, 1}, SessionTable::End::kLeft);
  sessions.Remove(SessionId{0, 1}, SessionTable::End::kFenced);
  EXPECT_EQ(sessions.Find(CallerOf(1), Incarnation(1)).gone, Outcome::kGoneSessionUnknown);
}

TEST(SessionTableTest, EndedSessionsAreRememberedUpToACap) {
  SessionTable sessions(Incarnation(1));
  for (uint64_t id = 1; id <= kMaxEndedSessionsPerSlot + 1; ++id) {
    sessions.Install(Declaration(id));
    sessions.Remove(SessionId{0, id}, SessionTable::End::kFenced);
  }
  EXPECT_EQ(sessions.ended(), kMaxEndedSessionsPerSlot);
  EXPECT_EQ(sessions.size(), 0u);
  EXPECT_EQ(sessions.Find(CallerOf(1), Incarnation(1)).gone, Outcome::kGoneSessionUnknown);
  EXPECT_EQ(sessions.Find(CallerOf(2), Incarnation(1)).gone, Outcome::kGoneFenced);
}

TEST(OutcomeLogTest, S2NumbersAreDenseFromOne) {
  OutcomeLog log;
  EXPECT_EQ(log.PlaceOf(Sequence(0)), OutcomeLog::Place::kGap);
  EXPECT_EQ(log.PlaceOf(Sequence(1)), OutcomeLog::Place::kNext);
  EXPECT_EQ(log.PlaceOf(Sequence(2)), OutcomeLog::Place::kGap);
  log.Record(Outcome::kOk, absl::OkStatus());
  EXPECT_EQ(log.PlaceOf(Sequence(0)), OutcomeLog::Place::kGap);
  EXPECT_EQ(log.PlaceOf(Sequence(1)), OutcomeLog::Place::kDecided);
  EXPECT_EQ(log.PlaceOf(Sequence(2)), OutcomeLog::Place::kNext);
}

TEST(OutcomeLogTest, S4TheWindowHolds64OutcomesWithTheirReasons) {
  OutcomeLog log;
  const auto reason = [](uint64_t n) { return InvalidArgument("number {}", n); };
  for (uint64_t n = 1; n <= 3 * kOutcomeWindow; ++n) {
    const bool bad = n % 3 == 0;
    log.Record(bad ? Outcome::kInvalid : Outcome::kOk, bad ? reason(n) : absl::OkStatus());
  }
  const uint64_t last = 3 * kOutcomeWindow;
  EXPECT_EQ(log.PlaceOf(Sequence(last - kOutcomeWindow)), OutcomeLog::Place::kForgotten);
  for (uint64_t n = last - kOutcomeWindow + 1; n <= last; ++n) {
    const Sequence sequence(n);
    ASSERT_EQ(log.PlaceOf(sequence), OutcomeLog::Place::kDecided);
    EXPECT_EQ(log.OutcomeOf(sequence), n % 3 == 0 ? Outcome::kInvalid : Outcome::kOk);
    EXPECT_EQ(log.ReasonOf(sequence), n % 3 == 0 ? reason(n) : absl::OkStatus());
  }
}

TEST(OutcomeLogDeathTest, S3OnlyFinalOutcomesUseUpANumber) {
  OutcomeLog log;
  EXPECT_DEATH(log.Record(Outcome::kRetryNotReady, absl::OkStatus()), "only final outcomes");
}

}  // namespace
}  // namespace syncline
