// Joining, leases, fences, the start barrier and reproducible jobs (C5, C6, C7, S1).
#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "server/coordinator/coordinator_core.h"
#include "tests/server/coordinator/fake_cluster.h"
#include "tests/support/status_matchers.h"

namespace syncline::coordinator {
namespace {

using ::std::chrono::milliseconds;
using ::std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest() {
    cluster_.RegisterAll();
    EXPECT_OK(cluster_.CreateJob(MakeJob("job", 3)));
    JobSpec exact = MakeJob("exact", 2);
    exact.reproducible = true;
    EXPECT_OK(cluster_.CreateJob(exact));
    cluster_.Settle();
  }
  ~SessionsTest() override {
    for (FakeServer& server : cluster_.servers()) EXPECT_THAT(server.violations, IsEmpty());
  }

  JobInfo Job(const std::string& name) {
    for (const JobInfo& job : cluster_.core().ListJobs()) {
      if (job.spec.name == name) return job;
    }
    return {};
  }
  // All joined sessions stay alive over `d`.
  void AdvanceAlive(milliseconds d, const std::vector<JoinResult>& alive) {
    for (; d.count() > 0; d -= milliseconds(500)) {
      for (const JoinResult& session : alive) EXPECT_OK(cluster_.Beat(session));
      cluster_.Advance(std::min(d, milliseconds(500)));
      cluster_.Settle();
    }
  }

  FakeCluster cluster_{2};
};

// --- Joining (C5).

TEST_F(SessionsTest, StartsInTheGreatestClockThatAnyServerGaveAndSetsItEverywhere) {
  cluster_.server(0).min_clock = Clock(4);
  cluster_.server(1).min_clock = Clock(9);
  ASSERT_OK_AND_ASSIGN(const JoinResult joined, cluster_.Join(Worker("job", 0)));
  EXPECT_EQ(joined.clock, Clock(9));
  for (FakeServer& server : cluster_.servers()) {
    EXPECT_EQ(server.clocks.at(joined.session), Clock(9));
  }
}

TEST_F(SessionsTest, IsAnsweredOnlyWhenEveryServerHasSetTheClock) {
  cluster_.Silence(1);
  const RequestId request = cluster_.Open(Worker("job", 0));
  cluster_.Settle();
  EXPECT_EQ(cluster_.AnswerTo(request), std::nullopt);
  cluster_.Speak(1);
  cluster_.Advance(seconds(2));
  cluster_.Settle();
  EXPECT_OK(cluster_.Joined(request));
}

TEST_F(SessionsTest, TokensIncreaseAndIdsDiffer) {
  ASSERT_OK_AND_ASSIGN(const JoinResult a, cluster_.Join(Worker("job", 0)));
  ASSERT_OK_AND_ASSIGN(const JoinResult b, cluster_.Join(Worker("job", 1)));
  EXPECT_GT(b.token, a.token);
  EXPECT_NE(a.session, b.session);
  EXPECT_FALSE(a.session.IsNull());
  EXPECT_EQ(a.job.spec.ranks, 3);
  ASSERT_NE(a.map.map, nullptr);
}

TEST_F(SessionsTest, TheCoordinatorPicksTheLowestFreeRank) {
  ASSERT_OK(cluster_.Join(Worker("job", 1)));
  ASSERT_OK_AND_ASSIGN(const JoinResult a, cluster_.Join(Worker("job", -1)));
  ASSERT_OK_AND_ASSIGN(const JoinResult b, cluster_.Join(Worker("job", -1)));
  EXPECT_EQ(a.rank, Rank(0));
  EXPECT_EQ(b.rank, Rank(2));
  EXPECT_THAT(cluster_.Join(Worker("job", -1)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("3 ranks")));
}

TEST_F(SessionsTest, RanksOutsideTheDeclaredOnesAreRefused) {
  EXPECT_THAT(cluster_.Join(Worker("job", 3)), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(cluster_.Join(Worker("job", -2)), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(cluster_.Join(Worker("none", 0)), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(cluster_.CreateJob(MakeJob("eval", 0)));
  EXPECT_THAT(cluster_.Join(Worker("eval", 0)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("declares no ranks")));
}

TEST_F(SessionsTest, ClocklessSessionsNeedNoRank) {
  JoinRequest join = Worker("job", -1);
  join.clocked = false;
  ASSERT_OK_AND_ASSIGN(const JoinResult a, cluster_.Join(join));
  ASSERT_OK_AND_ASSIGN(const JoinResult b, cluster_.Join(join));
  EXPECT_EQ(a.rank, kNoRank);
  EXPECT_NE(a.session, b.session);
  EXPECT_EQ(Job("job").ranks_joined, 0);
}

TEST_F(SessionsTest, ARetryWithTheSameNonceGetsTheSameSession) {
  const RequestId first = cluster_.Open(Worker("job", 0, "n1"));
  const RequestId second = cluster_.Open(Worker("job", 0, "n1"));
  cluster_.Settle();
  const RequestId third = cluster_.Open(Worker("job", 0, "n1"));
  ASSERT_OK_AND_ASSIGN(const JoinResult a, cluster_.Joined(first));
  ASSERT_OK_AND_ASSIGN(const JoinResult b, cluster_.Joined(second));
  ASSERT_OK_AND_ASSIGN(const JoinResult c, cluster_.Joined(third));
  EXPECT_EQ(a.session, b.session);
  EXPECT_EQ(a.session, c.session);
  EXPECT_EQ(cluster_.server(0).installs, 1u);
}

TEST_F(SessionsTest, AHeldRankIsRefusedWithItsHolder) {
  ASSERT_OK(cluster_.Join(Worker("job", 0)));
  EXPECT_THAT(cluster_.Join(Worker("job", 0, "other")),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("worker 0"), HasSubstr("take_over"))));
}

TEST_F(SessionsTest, AJoinWithoutAllServersIsUnavailable) {
  FakeCluster cluster(2);
  ASSERT_OK(cluster.CreateJob(MakeJob("job", 1)));
  EXPECT_THAT(cluster.Joined(cluster.Open(Worker("job", 0))),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("0 of 2")));
}

TEST_F(SessionsTest, AJoinThatASilentServerHoldsUpIsAnsweredWithItsName) {
  cluster_.Silence(1);
  const RequestId request = cluster_.Open(Worker("job", 0, "n"));
  cluster_.Settle();
  cluster_.Advance(kServersAnswerTimeout + kCoordinatorTick);
  EXPECT_THAT(cluster_.Joined(request),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ps-1")));
  cluster_.Speak(1);
  const RequestId retry = cluster_.Open(Worker("job", 0, "n"));
  cluster_.Advance(seconds(2));
  cluster_.Settle();
  EXPECT_OK(cluster_.Joined(retry));
}

// --- Taking over and fences (S1, C6).

TEST_F(SessionsTest, TakingOverInstallsTheNewSessionOnlyAfterEveryServerFencedTheOld) {
  ASSERT_OK_AND_ASSIGN(const JoinResult old, cluster_.Join(Worker("job", 0)));
  cluster_.Silence(1);
  const RequestId request = cluster_.Open(TakeOver(Worker("job", 0, "new")));
  cluster_.Settle();
  EXPECT_FALSE(cluster_.server(0).sessions.contains(old.session));
  EXPECT_THAT(cluster_.server(0).sessions, IsEmpty());  // server 1 has not acknowledged
  EXPECT_THAT(cluster_.Beat(old), HasDetail(Detail::kFenced));
  cluster_.Speak(1);
  cluster_.Advance(seconds(2));
  cluster_.Settle();
  ASSERT_OK_AND_ASSIGN(const JoinResult joined, cluster_.Joined(request));
  EXPECT_EQ(joined.rank, Rank(0));
  EXPECT_NE(joined.session, old.session);
}

TEST_F(SessionsTest, ASecondTakeOverEndsTheFirstThatStillWaits) {
  ASSERT_OK(cluster_.Join(Worker("job", 0)));
  const RequestId first = cluster_.Open(TakeOver(Worker("job", 0, "b")));
  const RequestId second = cluster_.Open(TakeOver(Worker("job", 0, "c")));
  EXPECT_THAT(cluster_.Joined(first), HasDetail(Detail::kFenced));
  cluster_.Settle();
  EXPECT_OK(cluster_.Joined(second));
  EXPECT_THAT(cluster_.server(0).sessions, SizeIs(1));
}

TEST_F(SessionsTest, ASessionWithoutHeartbeatsIsFencedWhenItsLeaseEnds) {
  ASSERT_OK_AND_ASSIGN(const JoinResult dead, cluster_.Join(Worker("job", 0)));
  ASSERT_OK_AND_ASSIGN(const JoinResult alive, cluster_.Join(Worker("job", 1)));
  AdvanceAlive(kDefaultLease - milliseconds(500), {alive});
  EXPECT_TRUE(cluster_.server(0).sessions.contains(dead.session));
  AdvanceAlive(milliseconds(1'000), {alive});
  for (FakeServer& server : cluster_.servers()) {
    EXPECT_FALSE(server.sessions.contains(dead.session));
    EXPECT_TRUE(server.sessions.contains(alive.session));
  }
  EXPECT_THAT(cluster_.Beat(dead),
              AllOf(StatusIs(absl::StatusCode::kNotFound), HasDetail(Detail::kFenced)));
  EXPECT_OK(cluster_.Join(Worker("job", 0)));
  EXPECT_EQ(Job("job").state, JobState::kStarting);  // 2 of 3 have joined
}

TEST_F(SessionsTest, AnAbsenceOfTheCoordinatorGivesEveryLeaseAFullTerm) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0)));
  cluster_.Jump(kDefaultLease * 3);  // C7
  cluster_.Settle();
  cluster_.Advance(kDefaultLease / 2);
  EXPECT_OK(cluster_.Beat(session));
}

TEST_F(SessionsTest, ClosingForgetsTheSessionAndFreesTheRank) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0)));
  EXPECT_OK(cluster_.Close(session));
  EXPECT_OK(cluster_.Close(session));
  EXPECT_THAT(cluster_.Beat(session), HasDetail(Detail::kSessionUnknown));
  EXPECT_OK(cluster_.Join(Worker("job", 0)));
}

TEST_F(SessionsTest, ClosingWithoutALeaveEndsTheSessionOnEveryServer) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0)));
  ASSERT_OK(cluster_.Close(session));
  cluster_.Settle();
  for (FakeServer& server : cluster_.servers()) EXPECT_THAT(server.sessions, IsEmpty());
  EXPECT_THAT(cluster_.core().ListSessions(true, cluster_.now()),
              ElementsAre(Field(&SessionInfo::state, SessionState::kLeft)));
}

TEST_F(SessionsTest, AClosedSessionStaysClosedWhileAServerIsAway) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0)));
  cluster_.Silence(1);
  ASSERT_OK(cluster_.Close(session));
  cluster_.Settle();
  EXPECT_OK(cluster_.Close(session));
  EXPECT_THAT(cluster_.Beat(session), HasDetail(Detail::kSessionUnknown));
  EXPECT_THAT(cluster_.core().ListSessions(false, cluster_.now()), IsEmpty());
}

TEST_F(SessionsTest, ASessionIsBoundToItsPrincipalAndToken) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0)));
  SessionKey key = FakeCluster::KeyOf(session);
  key.principal.name = "mallory";
  EXPECT_THAT(cluster_.core().Heartbeat(key, {}, cluster_.now()),
              StatusIs(absl::StatusCode::kPermissionDenied));
  key = FakeCluster::KeyOf(session);
  key.token = Token(session.token.value() + 1);
  EXPECT_THAT(cluster_.core().Heartbeat(key, {}, cluster_.now()),
              HasDetail(Detail::kSessionUnknown));
}

// --- Restarting servers.

TEST_F(SessionsTest, AServersRestartLosesItsSessionsAndFencesThemElsewhere) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0)));
  cluster_.RestartServer(1);
  ASSERT_OK(cluster_.Register(1));
  EXPECT_THAT(cluster_.Beat(session), HasDetail(Detail::kSessionLost));
  cluster_.Settle();
  EXPECT_THAT(cluster_.server(0).sessions, IsEmpty());
  EXPECT_THAT(cluster_.server(1).sessions, IsEmpty());
  EXPECT_THAT(cluster_.Beat(session),
              AllOf(StatusIs(absl::StatusCode::kNotFound), HasDetail(Detail::kSessionLost)));
  EXPECT_OK(cluster_.Join(Worker("job", 0)));
}

TEST_F(SessionsTest, ARestartDuringAJoinAnswersUnavailableAndTheRetryJoins) {
  cluster_.Silence(1);
  const RequestId request = cluster_.Open(Worker("job", 0, "n"));
  cluster_.Settle();
  cluster_.RestartServer(1);
  cluster_.Speak(1);
  ASSERT_OK(cluster_.Register(1));
  EXPECT_THAT(cluster_.Joined(request),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ps-1")));
  EXPECT_OK(cluster_.Join(Worker("job", 0, "n")));
  EXPECT_THAT(cluster_.server(0).sessions, SizeIs(1));
  EXPECT_THAT(cluster_.server(1).sessions, SizeIs(1));
}

TEST_F(SessionsTest, AServersRestartPutsTheStartBarrierBack) {
  for (int rank = 0; rank < 3; ++rank) ASSERT_OK(cluster_.Join(Worker("job", rank)));
  EXPECT_EQ(Job("job").state, JobState::kRunning);
  cluster_.RestartServer(0);
  ASSERT_OK(cluster_.Register(0));
  cluster_.Settle();
  EXPECT_EQ(Job("job").state, JobState::kStarting);
  EXPECT_EQ(Job("job").ranks_joined, 0);
}

TEST_F(SessionsTest, AFenceIsDeliveredAfterACoordinatorsRestart) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0)));
  cluster_.Silence(1);
  cluster_.Advance(kDefaultLease + kCoordinatorTick);
  cluster_.RestartCoordinator();
  cluster_.Speak(1);
  cluster_.RegisterAll();
  EXPECT_FALSE(cluster_.server(1).sessions.contains(session.session));
  EXPECT_OK(cluster_.Join(Worker("job", 0)));
}

TEST_F(SessionsTest, LiveSessionsOutliveTheCoordinatorWithAFullLease) {
  ASSERT_OK_AND_ASSIGN(const JoinResult session, cluster_.Join(Worker("job", 0, "n")));
  cluster_.Advance(kDefaultLease - seconds(1));
  cluster_.RestartCoordinator();
  cluster_.RegisterAll();
  cluster_.Advance(kDefaultLease - seconds(1));
  EXPECT_OK(cluster_.Beat(session));
  ASSERT_OK_AND_ASSIGN(const JoinResult again, cluster_.Join(Worker("job", 0, "n")));
  EXPECT_EQ(again.session, session.session);
  ASSERT_OK_AND_ASSIGN(const JoinResult next, cluster_.Join(Worker("job", 1)));
  EXPECT_GT(next.token, session.token);
}

TEST_F(SessionsTest, AJoinUnderWayAtACoordinatorsRestartIsFencedEverywhere) {
  cluster_.Silence(1);
  cluster_.Open(Worker("job", 0, "n"));
  cluster_.Settle();
  EXPECT_THAT(cluster_.server(0).sessions, SizeIs(1));
  cluster_.RestartCoordinator();
  cluster_.Speak(1);
  cluster_.RegisterAll();
  EXPECT_THAT(cluster_.server(0).sessions, IsEmpty());
  EXPECT_OK(cluster_.Join(Worker("job", 0, "n")));
}

// --- The start barrier and reproducible jobs.

TEST_F(SessionsTest, AJobRunsOnceEveryDeclaredRankHasJoined) {
  ASSERT_OK(cluster_.Join(Worker("job", 0)));
  ASSERT_OK(cluster_.Join(Worker("job", 2)));
  EXPECT_EQ(Job("job").state, JobState::kStarting);
  EXPECT_EQ(Job("job").ranks_joined, 2);
  ASSERT_OK(cluster_.Join(Worker("job", 1)));
  EXPECT_EQ(Job("job").state, JobState::kRunning);
}

TEST_F(SessionsTest, MissingRanksFailTheJobByNameAfterTheStartTimeout) {
  ASSERT_OK_AND_ASSIGN(const JoinResult a, cluster_.Join(Worker("job", 1)));
  AdvanceAlive(kDefaultStartTimeout - seconds(1), {a});
  EXPECT_EQ(Job("job").state, JobState::kStarting);
  AdvanceAlive(seconds(2), {a});
  EXPECT_EQ(Job("job").state, JobState::kFailed);
  EXPECT_THAT(Job("job").failure, HasSubstr(": 0 2"));
  EXPECT_THAT(cluster_.server(0).failed, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const HeartbeatResult beat, cluster_.Beat(a));
  EXPECT_THAT(beat.job_error, HasDetail(Detail::kJobFailed));
  EXPECT_THAT(cluster_.Join(Worker("job", 0)),
              AllOf(StatusIs(absl::StatusCode::kAborted), HasDetail(Detail::kJobFailed)));
}

TEST_F(SessionsTest, NobodyWaitsInAJobThatNobodyJoined) {
  cluster_.Advance(kDefaultStartTimeout * 2);
  EXPECT_EQ(Job("job").state, JobState::kStarting);
}

TEST_F(SessionsTest, ALostRankFailsAReproducibleJobByName) {
  ASSERT_OK(cluster_.Join(Worker("exact", 0)));
  ASSERT_OK_AND_ASSIGN(const JoinResult alive, cluster_.Join(Worker("exact", 1)));
  AdvanceAlive(kDefaultLease + seconds(1), {alive});
  EXPECT_EQ(Job("exact").state, JobState::kFailed);
  EXPECT_THAT(Job("exact").failure, AllOf(HasSubstr("rank 0"), HasSubstr("lease")));
  for (FakeServer& server : cluster_.servers()) EXPECT_THAT(server.failed, SizeIs(1));
}

TEST_F(SessionsTest, ARankThatLeftIsNotLost) {
  ASSERT_OK_AND_ASSIGN(const JoinResult a, cluster_.Join(Worker("exact", 0)));
  ASSERT_OK_AND_ASSIGN(const JoinResult b, cluster_.Join(Worker("exact", 1)));
  ASSERT_OK(cluster_.Close(a));
  AdvanceAlive(kDefaultLease + seconds(1), {b});
  EXPECT_EQ(Job("exact").state, JobState::kRunning);
}

TEST_F(SessionsTest, AReproducibleJobsWorkersBringTheirRank) {
  EXPECT_THAT(cluster_.Join(Worker("exact", -1)), StatusIs(absl::StatusCode::kInvalidArgument));
}

// --- Pieces.

TEST_F(SessionsTest, PiecesOfAFencedSessionGoToAnother) {
  ASSERT_OK_AND_ASSIGN(const JoinResult dead, cluster_.Join(Worker("job", 0)));
  ASSERT_OK_AND_ASSIGN(const JoinResult alive, cluster_.Join(Worker("job", 1)));
  CoordinatorCore& core = cluster_.core();
  ASSERT_OK(core.OpenPass("job", 0, 1));
  ASSERT_OK_AND_ASSIGN(const PieceLease held, core.LeasePiece("job", 0, dead.session));
  EXPECT_EQ(held.piece, 0u);
  ASSERT_OK_AND_ASSIGN(PieceLease none, core.LeasePiece("job", 0, alive.session));
  EXPECT_EQ(none.piece, std::nullopt);
  AdvanceAlive(kDefaultLease + seconds(1), {alive});
  ASSERT_OK_AND_ASSIGN(const PieceLease again, core.LeasePiece("job", 0, alive.session));
  EXPECT_EQ(again.piece, 0u);
  EXPECT_THAT(core.ReportPiece("job", 0, 0, dead.session), HasDetail(Detail::kFenced));
  EXPECT_OK(core.ReportPiece("job", 0, 0, alive.session));
}

TEST_F(SessionsTest, PiecesAreForSessionsOfTheJob) {
  ASSERT_OK_AND_ASSIGN(const JoinResult other, cluster_.Join(Worker("exact", 0)));
  ASSERT_OK(cluster_.core().OpenPass("job", 0, 1));
  EXPECT_THAT(cluster_.core().LeasePiece("job", 0, other.session),
              HasDetail(Detail::kSessionUnknown));
  EXPECT_THAT(cluster_.core().OpenPass("exact", 0, 1),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(SessionsTest, ListsShowStatesAndEndedSessionsOnRequest) {
  ASSERT_OK_AND_ASSIGN(const JoinResult a, cluster_.Join(Worker("job", 0)));
  ASSERT_OK(cluster_.Join(Worker("job", 1)));
  ASSERT_OK(cluster_.Close(a));
  EXPECT_THAT(cluster_.core().ListSessions(false, cluster_.now()), SizeIs(1));
  const auto all = cluster_.core().ListSessions(true, cluster_.now());
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].state, SessionState::kLive);
  EXPECT_GT(all[0].lease_left.count(), 0);
  EXPECT_EQ(all[1].state, SessionState::kLeft);
  EXPECT_EQ(all[1].job_name, "job");
}

}  // namespace
}  // namespace syncline::coordinator
