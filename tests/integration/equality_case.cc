#include "tests/integration/equality_case.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <thread>

#include "common/status/status.h"
#include "common/time_source.h"
#include "tests/support/reference_dlrm.h"
#include "tests/support/test_cluster.h"
#include "worker/client/ps_client.h"
#include "worker/data/pieces.h"
#include "worker/data/synthetic.h"
#include "worker/dlrm/cluster_learner.h"

namespace syncline {
namespace {

constexpr double kSgdRate = 0.1;
constexpr double kAdagradRate = 0.05;
constexpr uint64_t kIds = 40;

OptimizerSpec OptimizerOf(const EqualityCase& test) {
  if (!test.adagrad) return {.name = "sgd", .arguments = {{"lr", kSgdRate}}};
  return {.name = "adagrad",
          .arguments = {{"lr", kAdagradRate}, {"initial_accumulator", 0.1}, {"eps", 1e-8}}};
}

ClusterLearnerOptions LearnerOptions(const EqualityCase& test) {
  ClusterLearnerOptions options{.model = EqualityModel(test.seed)};
  options.tables.consistency = {
      .mode = ConsistencyMode::kBsp, .staleness = Staleness(0), .apply = ApplyMode::kRound};
  options.tables.dense_optimizer = OptimizerOf(test);
  options.tables.embedding_optimizer = OptimizerOf(test);
  return options;
}

std::vector<uint32_t> AllRows(const Dataset& data) {
  std::vector<uint32_t> rows(data.size());
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

absl::StatusOr<std::unique_ptr<PsClient>> Connect(const TestCluster& cluster, uint32_t ranks,
                                                  Rank rank) {
  ClientOptions options;
  options.coordinator = cluster.coordinator();
  options.job = {.name = "equality", .ranks = ranks, .reproducible = true};
  options.clocked = rank != kNoRank;
  options.rank = rank;
  return PsClient::Connect(options);
}

// Reads everything through a clockless session. The tables must exist.
absl::StatusOr<Parameters> ReadAll(PsClient& client, const DlrmConfig& model) {
  Parameters found;
  for (const DenseTensor& tensor : DenseTensorsOf(model)) {
    ASSIGN_OR_RETURN(const TableInfo table, client.DescribeTable(tensor.name));
    std::vector<float>& values = found[{tensor.name, 0}];
    values.resize(tensor.size());
    RETURN_IF_ERROR(client.PullDense(table, values, {.read_only = true}));
  }
  std::vector<Key> keys(kIds);
  std::iota(keys.begin(), keys.end(), Key{0});
  for (const EmbeddingTable& embedding : EmbeddingTablesOf(model)) {
    ASSIGN_OR_RETURN(const TableInfo table, client.DescribeTable(embedding.name));
    std::vector<float> rows(keys.size() * embedding.dim);
    RETURN_IF_ERROR(client.Pull(table, keys, {.data = rows.data()}, {.read_only = true}));
    for (Key key : keys) {
      const auto row = rows.begin() + static_cast<ptrdiff_t>(key * embedding.dim);
      found[{embedding.name, key}].assign(row, row + embedding.dim);
    }
  }
  return found;
}

// One rank: its pieces of the first `steps` rounds, then the end of its job.
absl::Status TrainRank(const EqualityCase& test, const Dataset& data, uint32_t rank,
                       ClusterLearner& learner) {
  StaticPieces pieces(AllRows(data), test.global_batch, test.seed);
  Batch batch;
  for (uint64_t step = 0; step < test.steps; ++step) {
    const uint64_t pass = step / pieces.rounds_per_pass();
    const uint64_t round = step % pieces.rounds_per_pass();
    data.MakeBatch(pieces.Piece(pass, round, rank, test.workers), batch);
    RETURN_IF_ERROR(learner.Step(batch, "").status());
  }
  RETURN_IF_ERROR(learner.Barrier());
  return learner.Finish();
}

}  // namespace

DlrmConfig EqualityModel(uint64_t seed) {
  DlrmConfig model;
  model.dense_count = 3;
  model.dim = 8;
  model.bottom_hidden = {12};
  model.top_hidden = {16};
  model.activation = Activation::kTanh;
  model.seed = seed;
  const Pooling pooling[] = {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN};
  for (uint64_t f = 0; f < 3; ++f) {
    FieldConfig field{.table = fmt::format("emb.{}", f), .pooling = pooling[f]};
    field.initializer = {InitializerSpec::Kind::kUniform, -0.3, 0.3, seed * 10 + f};
    model.fields.push_back(std::move(field));
  }
  return model;
}

Dataset EqualityData(uint64_t seed) {
  SyntheticOptions options;
  options.seed = seed;
  options.rows = 2'000;
  options.dense_features = 3;
  options.fields = 3;
  options.multi_hot_fields = 2;
  options.ids_per_field = kIds;
  options.head_ids = 20;
  absl::StatusOr<SyntheticData> made = MakeSynthetic(options);
  SYNCLINE_CHECK(made.ok(), made.status().ToString());
  return std::move(made->data);
}

absl::StatusOr<Trained> TrainDistributed(const EqualityCase& test) {
  const TestCluster cluster({.servers = test.servers});
  const Dataset data = EqualityData(test.seed);
  const SystemTimeSource time;
  std::vector<std::unique_ptr<ClusterLearner>> learners;
  for (uint32_t rank = 0; rank < test.workers; ++rank) {
    ASSIGN_OR_RETURN(auto client, Connect(cluster, test.workers, Rank(static_cast<int32_t>(rank))));
    ASSIGN_OR_RETURN(auto learner,
                     ClusterLearner::Create(std::move(client), LearnerOptions(test), time));
    learners.push_back(std::move(learner));
  }
  ASSIGN_OR_RETURN(const auto reader, Connect(cluster, test.workers, kNoRank));
  Trained trained;
  ASSIGN_OR_RETURN(trained.initial, ReadAll(*reader, EqualityModel(test.seed)));
  std::vector<absl::Status> results(test.workers);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < test.workers; ++rank) {
    threads.emplace_back(
        [&, rank] { results[rank] = TrainRank(test, data, rank, *learners[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : results) RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(trained.final, ReadAll(*reader, EqualityModel(test.seed)));
  RETURN_IF_ERROR(reader->Leave());
  return trained;
}

double LargestDifference(const EqualityCase& test, const Trained& trained) {
  const DlrmConfig model = EqualityModel(test.seed);
  ReferenceDlrm reference(
      model, {.adagrad = test.adagrad, .learning_rate = test.adagrad ? kAdagradRate : kSgdRate},
      [&trained](const std::string& table, uint64_t key, uint64_t element) {
        return static_cast<double>(trained.initial.at({table, key})[element]);
      });
  const Dataset data = EqualityData(test.seed);
  StaticPieces pieces(AllRows(data), test.global_batch, test.seed);
  for (uint64_t step = 0; step < test.steps; ++step) {
    const Batch batch = data.MakeBatch(
        pieces.GlobalBatch(step / pieces.rounds_per_pass(), step % pieces.rounds_per_pass()));
    reference.Step({&batch, 1});
  }
  const std::vector<std::string> dense = reference.DenseNames();
  double largest = 0;
  for (const auto& [name, values] : trained.final) {
    const bool is_dense = std::count(dense.begin(), dense.end(), name.first) > 0;
    const std::vector<double>& expected =
        is_dense ? reference.Dense(name.first) : reference.Row(name.first, name.second);
    for (size_t i = 0; i < values.size(); ++i) {
      const double difference = std::abs(static_cast<double>(values[i]) - expected[i]);
      largest = std::max(largest, difference / std::max(1.0, std::abs(expected[i])));
    }
  }
  return largest;
}

}  // namespace syncline
