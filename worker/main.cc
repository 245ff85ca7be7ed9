// ps-worker: trains a DLRM through a cluster, or alone.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "common/metrics/log.h"
#include "common/status/status.h"
#include "common/time_source.h"
#include "common/version.h"
#include "worker/client/ps_client.h"
#include "worker/dlrm/cluster_learner.h"
#include "worker/dlrm/progress.h"
#include "worker/dlrm/single_learner.h"
#include "worker/dlrm/training_data.h"
#include "worker/dlrm/training_loop.h"
#include "worker/worker_config.h"

namespace syncline {
namespace {

std::atomic<bool> g_stop{false};  // set by SIGTERM and SIGINT: finish the step, leave, exit 0

// A step that waits (for ranks that never came, a straggler, a server that is gone) may not end for
// minutes. Whoever sent the signal does not wait so long: the job then waits for the lease instead.
constexpr unsigned kPatienceSeconds = 10;

void OnAlarm(int /*signal*/) {
  constexpr std::string_view kText =
      "ps-worker: stopped by a signal while a step waited; left without leave, so that others wait "
      "for the lease\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(1);
}

void OnSignal(int signal) {
  g_stop = true;
  std::signal(signal, SIG_DFL);  // the second one ends the process at once
  alarm(kPatienceSeconds);
}

OptimizerSpec OptimizerOf(const WorkerConfig& config, double learning_rate) {
  OptimizerSpec spec{.name = config.optimizer, .arguments = {{"lr", learning_rate}}};
  if (config.optimizer == "adagrad") {
    spec.arguments["initial_accumulator"] = config.initial_accumulator;
    spec.arguments["eps"] = 1e-8;
  }
  return spec;
}

absl::StatusOr<std::unique_ptr<Learner>> MakeSingle(const WorkerConfig& config,
                                                    const TrainingData& data,
                                                    double learning_rate) {
  SingleOptimizer optimizer;
  optimizer.kind =
      config.optimizer == "sgd" ? SingleOptimizer::Kind::kSgd : SingleOptimizer::Kind::kAdagrad;
  optimizer.learning_rate = static_cast<float>(learning_rate);
  optimizer.initial_accumulator = static_cast<float>(config.initial_accumulator);
  ASSIGN_OR_RETURN(auto trainer, SingleTrainer::Create(data.model, optimizer));
  return std::make_unique<SingleLearner>(std::move(trainer));
}

absl::StatusOr<std::unique_ptr<ClusterLearner>> MakeCluster(const WorkerConfig& config,
                                                            const TrainingData& data,
                                                            double learning_rate,
                                                            const TimeSource& time,
                                                            uint32_t& rank) {
  ClientOptions options;
  options.coordinator = config.coordinator;
  options.allow_plaintext = config.allow_plaintext;
  options.job = {.name = config.job,
                 .ranks = config.ranks,
                 .reproducible = config.reproducible,
                 .start_timeout = config.start_timeout,
                 .lease = config.lease};
  options.rank = Rank(config.rank);
  options.take_over = config.take_over;
  options.pull_codec = config.pull_codec;
  options.push_codec = config.push_codec;
  options.call_deadline = config.call_deadline;
  ASSIGN_OR_RETURN(std::unique_ptr<PsClient> client, PsClient::Connect(options));
  rank = static_cast<uint32_t>(client->rank().value());
  const OptimizerSpec optimizer = OptimizerOf(config, learning_rate);
  ClusterLearnerOptions learner{.model = data.model,
                                .tables = {.consistency = PolicyOf(config),
                                           .dense_optimizer = optimizer,
                                           .embedding_optimizer = optimizer},
                                .slow_factor = config.slow_factor};
  return ClusterLearner::Create(std::move(client), std::move(learner), time);
}

absl::Status Train(const WorkerConfig& config, const SystemTimeSource& time) {
  ASSIGN_OR_RETURN(TrainingData data, LoadTrainingData(config.data, config.seed, config.max_rows));
  const Logger log("worker");
  for (const std::string& warning : data.warnings) log.Warning("{}", warning);
  data.model.dim = config.dim;
  data.model.activation = config.activation;
  const double learning_rate = config.learning_rate > 0 ? config.learning_rate : data.learning_rate;
  const uint32_t batch = config.batch > 0 ? config.batch : data.batch;

  TrainingLoopOptions options{.ranks = config.single ? 1 : config.ranks,
                              .passes = config.passes > 0 ? config.passes : data.passes,
                              .seed = config.seed};
  options.global_batch = batch * (config.single && !config.whole_rounds ? 1 : config.ranks);
  std::unique_ptr<Learner> learner;
  PieceSource* leases = nullptr;
  if (config.single) {
    ASSIGN_OR_RETURN(learner, MakeSingle(config, data, learning_rate));
  } else {
    ASSIGN_OR_RETURN(std::unique_ptr<ClusterLearner> cluster,
                     MakeCluster(config, data, learning_rate, time, options.rank));
    if (config.pieces == PieceMode::kLeased) leases = cluster.get();
    learner = std::move(cluster);
  }
  std::unique_ptr<ProgressReporter> reporter;
  if (isatty(STDOUT_FILENO) != 0) {
    reporter = std::make_unique<TerminalReporter>(stdout);
  } else {
    reporter = std::make_unique<JsonReporter>(stdout);
  }
  return TrainingLoop(options, data, *learner, *reporter, time, leases).Run(g_stop);
}

}  // namespace

int Main(int argc, char** argv) {
  WorkerConfig config;
  Loader loader("ps-worker", kVersion, "Trains a DLRM through parameter servers.");
  AddWorkerFlags(config, loader);
  if (const std::optional<int> code = loader.ParseOrExitCode(argc, argv)) return *code;
  InitLogging({.level = config.log_level});
  std::signal(SIGALRM, OnAlarm);
  std::signal(SIGTERM, OnSignal);
  std::signal(SIGINT, OnSignal);
  const SystemTimeSource time;
  const absl::Status status = Train(config, time);
  if (!status.ok()) {
    Logger("worker").Error("{}", status.ToString());
    return 1;
  }
  return 0;
}

}  // namespace syncline

int main(int argc, char** argv) { return syncline::Main(argc, argv); }
