#include "worker/psctl/lag.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace syncline::psctl {
namespace {

using ::testing::ElementsAre;

void AddSession(v1::ListSessionsReply& reply, uint32_t job, int32_t rank, int64_t clock,
                const std::string& state = "live", bool clocked = true) {
  v1::SessionInfo& session = *reply.add_sessions();
  session.set_job(job);
  session.set_rank(rank);
  session.set_state(state);
  session.set_clocked(clocked);
  session.mutable_report()->set_clock(clock);
}

std::vector<int64_t> LagNumbers(const v1::ListSessionsReply& reply) {
  std::vector<int64_t> lags;
  for (const WorkerLag& worker : LagsOf(reply)) lags.push_back(worker.lag);
  return lags;
}

std::vector<bool> HoldsBack(const v1::ListSessionsReply& reply) {
  std::vector<bool> holds;
  for (const WorkerLag& worker : LagsOf(reply)) holds.push_back(worker.holds_back);
  return holds;
}

TEST(Lag, IsTheDistanceToTheFastestOfTheJob) {
  v1::ListSessionsReply reply;
  AddSession(reply, 1, 0, 10);
  AddSession(reply, 1, 1, 7);
  AddSession(reply, 1, 2, 9);
  EXPECT_THAT(LagNumbers(reply), ElementsAre(0, 3, 1));
  EXPECT_THAT(HoldsBack(reply), ElementsAre(false, true, false));
}

TEST(Lag, SeveralMayHoldTheClockBackTogether) {
  v1::ListSessionsReply reply;
  AddSession(reply, 1, 0, 5);
  AddSession(reply, 1, 1, 4);
  AddSession(reply, 1, 2, 4);
  EXPECT_THAT(HoldsBack(reply), ElementsAre(false, true, true));
}

TEST(Lag, NobodyHoldsBackWhenAllAreEqualOrAlone) {
  v1::ListSessionsReply reply;
  AddSession(reply, 1, 0, 5);
  AddSession(reply, 1, 1, 5);
  AddSession(reply, 2, 0, 1);
  EXPECT_THAT(HoldsBack(reply), ElementsAre(false, false, false));
}

TEST(Lag, JobsDoNotSeeEachOther) {
  v1::ListSessionsReply reply;
  AddSession(reply, 2, 0, 100);
  AddSession(reply, 1, 0, 1);
  AddSession(reply, 2, 1, 98);
  EXPECT_THAT(LagNumbers(reply), ElementsAre(0, 0, 2));
}

TEST(Lag, EndedOpeningAndClocklessSessionsDoNotCount) {
  v1::ListSessionsReply reply;
  AddSession(reply, 1, -1, 0, "live", false);
  AddSession(reply, 1, 0, 3, "left");
  AddSession(reply, 1, 0, 0, "opening");
  AddSession(reply, 1, 1, 8);
  AddSession(reply, 1, 2, 20, "fenced");
  EXPECT_THAT(LagNumbers(reply), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(HoldsBack(reply), ElementsAre(false, false, false, false, false));
}

TEST(Lag, ASessionBeingFencedStillHoldsBack) {
  v1::ListSessionsReply reply;
  AddSession(reply, 1, 0, 8);
  AddSession(reply, 1, 1, 6, "fencing");
  EXPECT_THAT(HoldsBack(reply), ElementsAre(false, true));
}

TEST(Lag, RowsAreSortedByJobAndRank) {
  v1::ListSessionsReply reply;
  AddSession(reply, 1, 2, 1);
  AddSession(reply, 1, 0, 1);
  AddSession(reply, 1, 1, 1);
  std::vector<int32_t> ranks;
  for (const WorkerLag& worker : LagsOf(reply)) ranks.push_back(worker.session.rank());
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace syncline::psctl
