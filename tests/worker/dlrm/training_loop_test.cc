#include "worker/dlrm/training_loop.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/limits.h"
#include "common/random.h"
#include "tests/support/status_matchers.h"
#include "worker/dlrm/single_learner.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Rows whose label follows their one dense feature; no categorical fields are needed to see it.
TrainingData Planted(uint32_t rows) {
  TrainingData data{
      .dataset = Dataset({.dense = {"x"}, .fields = {"id"}}), .split = {}, .model = {}};
  SplitMix64 random(5);
  for (uint32_t i = 0; i < rows; ++i) {
    const float x = static_cast<float>(random.Normal());
    data.dataset.Append({.label = x > 0 ? 1.0F : 0.0F, .dense = {x}, .bags = {{i % 7}}});
  }
  data.split = SplitRows(rows, 1);
  data.model.dense_count = 1;
  data.model.dim = 4;
  data.model.fields = {FieldConfig{.table = "emb.id"}};
  return data;
}

// Remembers what the loop asked for; predicts nothing useful.
class RecordingLearner final : public Learner {
 public:
  absl::StatusOr<StepResult> Step(const Batch& batch, std::string_view position) override {
    calls.push_back("step " + std::string(position));
    sizes.push_back(batch.size);
    for (float x : batch.dense) seen.insert(x);
    if (fail_at == sizes.size()) return MakeError(absl::StatusCode::kAborted, Detail::kNone, "no");
    return StepResult{.loss_sum = 0, .logits = std::vector<float>(batch.size)};
  }
  absl::StatusOr<std::vector<float>> Predict(const Batch& batch) override {
    calls.push_back("predict");
    return std::vector<float>(batch.size);
  }
  absl::Status Barrier() override {
    calls.push_back("barrier");
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    calls.push_back("finish");
    return absl::OkStatus();
  }
  LearnerStats Stats() const override { return {.clock = static_cast<int64_t>(sizes.size())}; }

  std::vector<std::string> calls;
  std::vector<size_t> sizes;
  std::multiset<float> seen;
  size_t fail_at = 0;
};

class RecordingReporter final : public ProgressReporter {
 public:
  void Step(const StepReport& report) override { steps.push_back(report); }
  void Evaluated(const EvaluationReport& report) override { evaluations.push_back(report); }
  void Summary(const SummaryReport& report) override { summaries.push_back(report); }

  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<SummaryReport> summaries;
};

TEST(TrainingLoopTest, CoversEachTrainingRowOncePerPassOverAllRanks) {
  const TrainingData data = Planted(500);  // 400 train
  std::multiset<float> seen;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    RecordingLearner learner;
    RecordingReporter reporter;
    ManualTimeSource time;
    TrainingLoop loop({.rank = rank, .ranks = 3, .passes = 1, .global_batch = 64}, data, learner,
                      reporter, time);
    ASSERT_OK(loop.Run(false));
    EXPECT_THAT(learner.sizes, SizeIs(7));  // ceil(400 / 64), the same for every rank
    seen.merge(learner.seen);
  }
  EXPECT_EQ(seen.size(), 400u);
  for (float x : seen) EXPECT_EQ(seen.count(x), 1u);
}

TEST(TrainingLoopTest, EvaluatesBetweenTwoBarriersAndOnlyOnRankZero) {
  const TrainingData data = Planted(500);
  for (uint32_t rank : {0u, 1u}) {
    RecordingLearner learner;
    RecordingReporter reporter;
    ManualTimeSource time;
    TrainingLoop loop({.rank = rank, .ranks = 2, .passes = 1, .global_batch = 400}, data, learner,
                      reporter, time);
    ASSERT_OK(loop.Run(false));
    if (rank == 0) {
      EXPECT_THAT(learner.calls,
                  ElementsAre("step 1:0", "barrier", "predict", "predict", "barrier", "finish"));
    } else {
      EXPECT_THAT(learner.calls, ElementsAre("step 1:0", "barrier", "barrier", "finish"));
    }
  }
}

// Leases whatever was not handed out; the pieces in `elsewhere` are held by another rank.
class FakePieces final : public PieceSource {
 public:
  explicit FakePieces(ManualTimeSource& time) : time_(time) {}

  absl::Status OpenPass(uint64_t pass, uint64_t pieces) override {
    calls.push_back(fmt::format("open {}", pass));
    open[pass] = pieces;
    return absl::OkStatus();
  }
  absl::StatusOr<Lease> LeasePiece(uint64_t pass) override {
    if (!open.contains(pass)) return absl::NotFoundError("not open");
    for (uint64_t piece = 0; piece < open[pass]; ++piece) {
      if (!elsewhere.contains(piece) && !reported.contains({pass, piece}))
        return Lease{false, piece};
    }
    return Lease{elsewhere.empty(), std::nullopt};
  }
  absl::StatusOr<bool> ReportPiece(uint64_t pass, uint64_t piece) override {
    reported.insert({pass, piece});
    return !forgets;
  }
  absl::Status Idle() override {
    ++idles;
    time_.Advance(std::chrono::seconds(1));
    if (idles == 3) elsewhere.clear();
    return absl::OkStatus();
  }

  std::vector<std::string> calls;
  std::map<uint64_t, uint64_t> open;
  std::set<uint64_t> elsewhere;
  std::set<std::pair<uint64_t, uint64_t>> reported;
  bool forgets = false;
  int idles = 0;

 private:
  ManualTimeSource& time_;
};

TEST(TrainingLoopTest, LeasedPiecesCoverEachRowOnceAndEndWithoutABarrier) {
  const TrainingData data = Planted(500);  // 400 train
  RecordingLearner learner;
  RecordingReporter reporter;
  ManualTimeSource time;
  FakePieces pieces(time);
  TrainingLoop loop({.ranks = 2, .passes = 1, .global_batch = 20}, data, learner, reporter, time,
                    &pieces);
  ASSERT_OK(loop.Run(false));
  EXPECT_THAT(pieces.calls, ElementsAre("open 1"));
  EXPECT_EQ(pieces.open[1], 5u);  // of 8 clocks with 10 samples each
  EXPECT_THAT(learner.sizes, SizeIs(40));
  EXPECT_EQ(std::set<float>(learner.seen.begin(), learner.seen.end()).size(), 400u);
  EXPECT_EQ(std::count(learner.calls.begin(), learner.calls.end(), "barrier"), 0);
  EXPECT_THAT(reporter.evaluations, SizeIs(1));
}

TEST(TrainingLoopTest, AWorkerWithoutAPieceIdlesUntilThePassCloses) {
  const TrainingData data = Planted(500);
  RecordingLearner learner;
  RecordingReporter reporter;
  ManualTimeSource time;
  FakePieces pieces(time);
  pieces.open[1] = 5;
  pieces.elsewhere = {0, 1, 2, 3};
  TrainingLoop loop({.rank = 1, .ranks = 2, .passes = 1, .global_batch = 20}, data, learner,
                    reporter, time, &pieces);
  ASSERT_OK(loop.Run(false));
  EXPECT_EQ(pieces.idles, 3);
  EXPECT_THAT(pieces.reported, SizeIs(5));  // the others came back
  EXPECT_THAT(reporter.evaluations, SizeIs(0));
}

TEST(TrainingLoopTest, APassThatRankZeroNeverOpensIsOpenedByAnotherAfterAWhile) {
  const TrainingData data = Planted(500);
  RecordingLearner learner;
  RecordingReporter reporter;
  ManualTimeSource time;
  FakePieces pieces(time);
  TrainingLoop loop({.rank = 1, .ranks = 2, .passes = 1, .global_batch = 20}, data, learner,
                    reporter, time, &pieces);
  ASSERT_OK(loop.Run(false));
  EXPECT_EQ(std::chrono::seconds(pieces.idles), kPassOpenTimeout);
  EXPECT_THAT(pieces.calls, ElementsAre("open 1"));
}

TEST(TrainingLoopTest, PiecesThatDoNotCountAreToldInTheSummary) {
  const TrainingData data = Planted(500);
  RecordingLearner learner;
  RecordingReporter reporter;
  ManualTimeSource time;
  FakePieces pieces(time);
  pieces.forgets = true;
  TrainingLoop loop({.passes = 1, .global_batch = 20}, data, learner, reporter, time, &pieces);
  ASSERT_OK(loop.Run(false));
  ASSERT_THAT(reporter.summaries, SizeIs(1));
  EXPECT_EQ(reporter.summaries[0].pieces_repeated, 3u);  // 400 rows, pieces of 160
}

TEST(TrainingLoopTest, AStopFinishesTheLearnerAndSaysInterrupted) {
  const TrainingData data = Planted(500);
  RecordingLearner learner;
  RecordingReporter reporter;
  ManualTimeSource time;
  TrainingLoop loop({.global_batch = 64}, data, learner, reporter, time);
  ASSERT_OK(loop.Run(true));
  EXPECT_THAT(learner.calls, ElementsAre("finish"));
  ASSERT_THAT(reporter.summaries, SizeIs(1));
  EXPECT_TRUE(reporter.summaries[0].interrupted);
}

TEST(TrainingLoopTest, ReturnsTheLearnersErrorWithoutASummary) {
  const TrainingData data = Planted(500);
  RecordingLearner learner;
  learner.fail_at = 2;
  RecordingReporter reporter;
  ManualTimeSource time;
  TrainingLoop loop({.global_batch = 64}, data, learner, reporter, time);
  EXPECT_THAT(loop.Run(false), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(reporter.summaries, SizeIs(0));
}

TEST(TrainingLoopTest, ASingleProcessLearnsAPlantedRuleAndReportsItsBestPass) {
  const TrainingData data = Planted(4000);
  SingleOptimizer optimizer;
  optimizer.learning_rate = 0.1F;
  ASSERT_OK_AND_ASSIGN(auto trainer, SingleTrainer::Create(data.model, optimizer));
  SingleLearner learner(std::move(trainer));
  RecordingReporter reporter;
  ManualTimeSource time;
  TrainingLoop loop({.passes = 3, .global_batch = 64}, data, learner, reporter, time);
  ASSERT_OK(loop.Run(false));
  ASSERT_THAT(reporter.summaries, SizeIs(1));
  const SummaryReport& summary = reporter.summaries[0];
  ASSERT_TRUE(summary.test.auc.has_value());
  EXPECT_GT(*summary.test.auc, 0.95);
  EXPECT_EQ(summary.samples, 3u * 3200u);
  EXPECT_THAT(reporter.evaluations, SizeIs(3));
}

}  // namespace
}  // namespace syncline
