// The core under lost, repeated and reordered messages, dying servers and dying coordinators.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/random.h"
#include "server/coordinator/coordinator_core.h"
#include "tests/server/coordinator/fake_cluster.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline::coordinator {
namespace {

using ::testing::IsEmpty;

constexpr int32_t kRanks = 3;
constexpr uint32_t kServers = 3;

// One client per rank that opens a session, beats, and opens another when told that it is over.
class Scenario {
 public:
  explicit Scenario(uint64_t seed) : dice_(seed), cluster_(kServers, seed + 1'000) {
    cluster_.RegisterAll();
    JobSpec job = MakeJob("job", kRanks);
    job.lease = std::chrono::milliseconds(2'000);
    EXPECT_OK(cluster_.CreateJob(job));
    clients_.resize(kRanks);
  }

  void RunFaults(int steps) {
    for (int i = 0; i < steps; ++i) {
      Step();
      CheckServers();
    }
  }

  // Faults stop; everything must come to rest with one live session a rank.
  void Heal() {
    for (int i = 0; i < 400; ++i) {
      cluster_.Settle();
      for (uint32_t s = 0; s < kServers; ++s) {
        if (!cluster_.core().ServerHeartbeat(ServerId(s), cluster_.server(s).boot(),
                                             cluster_.now())) {
          EXPECT_OK(cluster_.Register(s));
        }
      }
      for (size_t rank = 0; rank < clients_.size(); ++rank) Drive(rank);
      cluster_.Advance(kCoordinatorTick);
      CheckServers();
    }
  }

  void CheckHealed() {
    for (const Client& client : clients_) {
      ASSERT_TRUE(client.session.has_value());
      EXPECT_OK(cluster_.Beat(*client.session));
      for (FakeServer& server : cluster_.servers()) {
        ASSERT_TRUE(server.sessions.contains(client.session->session));
        EXPECT_EQ(server.clocks.at(client.session->session), client.session->clock);
      }
    }
    for (FakeServer& server : cluster_.servers()) {
      EXPECT_EQ(server.sessions.size(), clients_.size());
    }
  }

  size_t joins() const { return joins_; }

 private:
  struct Client {
    std::optional<RequestId> asked;
    std::optional<JoinResult> session;
    uint64_t nonce = 0;
  };

  void Step() {
    const uint64_t what = dice_.Below(100);
    if (what < 70) return cluster_.Shuffle(dice_);
    if (what < 80) return cluster_.Advance(kCoordinatorTick);
    if (what < 96) return Drive(dice_.Below(kRanks));
    if (what < 97) return cluster_.Advance(std::chrono::milliseconds(900));
    const auto server = static_cast<uint32_t>(dice_.Below(kServers));
    cluster_.server(server).min_clock = cluster_.server(server).min_clock + dice_.Below(3);
    if (what == 97 && dice_.Below(4) == 0) {
      cluster_.RestartServer(server);
      EXPECT_OK(cluster_.Register(server));
    } else if (what == 98 && dice_.Below(6) == 0) {
      cluster_.RestartCoordinator();
      for (Client& client : clients_) client.asked.reset();
    } else if (!cluster_.core().ServerHeartbeat(ServerId(server), cluster_.server(server).boot(),
                                                cluster_.now())) {
      EXPECT_OK(cluster_.Register(server));
    }
  }

  void Drive(size_t rank) {
    Client& client = clients_[rank];
    if (client.session) {
      if (!cluster_.Beat(*client.session).ok()) {
        client.session.reset();
        ++client.nonce;
      }
      return;
    }
    if (client.asked) {
      const auto answer = cluster_.AnswerTo(*client.asked);
      if (!answer) return;
      client.asked.reset();
      if (answer->ok()) {
        client.session = std::get<JoinResult>(**answer);
        last_token_ = std::max(last_token_, client.session->token);
        ++joins_;
      }
      return;
    }
    const int32_t number = static_cast<int32_t>(rank);
    JoinRequest join =
        Worker("job", number, std::to_string(rank) + "." + std::to_string(client.nonce));
    join.take_over = dice_.Below(8) == 0;
    client.asked = cluster_.Open(join);
  }

  void CheckServers() {
    for (FakeServer& server : cluster_.servers()) {
      ASSERT_THAT(server.violations, IsEmpty()) << server.name;
    }
  }

  SplitMix64 dice_;
  FakeCluster cluster_;
  std::vector<Client> clients_;
  Token last_token_;
  size_t joins_ = 0;
};

TEST(CoordinatorFaultsTest, OneLiveSessionPerRankWhateverHappensToMessagesAndProcesses) {
  const uint64_t first = TestSeed(1);
  size_t joins = 0;
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Scenario scenario(seed);
    scenario.RunFaults(800);
    scenario.Heal();
    scenario.CheckHealed();
    joins += scenario.joins();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(joins, 60u * kRanks);  // the faults did end sessions
}

// --- Numbering, on its own.

CommandReply Applied(uint64_t last, absl::Status result = absl::OkStatus()) {
  return {last, Clock(0), std::move(result)};
}

TEST(CommandQueuesTest, NumbersHaveNoGapsAndOnlyTheOldestIsOnItsWay) {
  CommandQueues queues(/*term=*/5);
  const ServerId server(0);
  const MonotonicTime now;
  queues.Start(server, 77, "h:1");
  std::vector<Dispatch> sent;
  EXPECT_EQ(queues.Add(server, FenceSession{}, now, sent), 1u);
  EXPECT_EQ(queues.Add(server, FenceSession{}, now, sent), 2u);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].command.number, 1u);
  EXPECT_EQ(sent[0].command.term, 5u);
  EXPECT_EQ(sent[0].command.boot, 77u);
  const Command first = sent[0].command;
  EXPECT_TRUE(queues.OnReply(server, first, Applied(1), now, sent));
  EXPECT_FALSE(queues.OnReply(server, first, Applied(1), now, sent));  // repeated
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].command.number, 2u);
}

TEST(CommandQueuesTest, AnUnacknowledgedCommandIsSentAgain) {
  CommandQueues queues(1);
  const ServerId server(0);
  MonotonicTime now;
  queues.Start(server, 77, "h:1");
  std::vector<Dispatch> sent;
  queues.Add(server, FenceSession{}, now, sent);
  queues.OnTimer(now + kCommandResend - std::chrono::milliseconds(1), sent);
  EXPECT_EQ(sent.size(), 1u);
  now = now + kCommandResend;
  queues.OnTimer(now, sent);
  EXPECT_EQ(sent.size(), 2u);
  CommandReply refused;
  refused.status = MakeStatus(absl::StatusCode::kUnavailable, Detail::kNone, "no route");
  EXPECT_FALSE(queues.OnReply(server, sent[0].command, refused, now, sent));
  queues.OnTimer(now + kCommandRetry, sent);
  EXPECT_EQ(sent.size(), 3u);
}

TEST(CommandQueuesTest, AnErrorOfAnAppliedCommandIsItsResultAndDoesNotStopTheQueue) {
  CommandQueues queues(1);
  const ServerId server(0);
  const MonotonicTime now;
  queues.Start(server, 77, "h:1");
  std::vector<Dispatch> sent;
  queues.Add(server, FenceSession{}, now, sent);
  queues.Add(server, FenceSession{}, now, sent);
  const absl::Status refused =
      MakeStatus(absl::StatusCode::kFailedPrecondition, Detail::kNoOptimizer, "refused");
  EXPECT_TRUE(queues.OnReply(server, sent[0].command, Applied(1, refused), now, sent));
  EXPECT_EQ(sent.back().command.number, 2u);
}

TEST(CommandQueuesTest, AnotherBootStartsAgainAtOneAndDropsTheOldQueue) {
  CommandQueues queues(1);
  const ServerId server(0);
  const MonotonicTime now;
  std::vector<Dispatch> sent;
  queues.Start(server, 77, "h:1");
  queues.Add(server, FenceSession{}, now, sent);
  const Command old = sent[0].command;
  queues.Start(server, 78, "h:2");
  EXPECT_EQ(queues.Add(server, FenceSession{}, now, sent), 1u);
  EXPECT_FALSE(queues.OnReply(server, old, Applied(1), now, sent));
  EXPECT_EQ(sent.back().endpoint, "h:2");
  EXPECT_EQ(sent.back().command.boot, 78u);
}

}  // namespace
}  // namespace syncline::coordinator
