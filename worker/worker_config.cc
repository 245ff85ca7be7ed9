#include "worker/worker_config.h"

#include "common/config/log_level_choices.h"
#include "worker/data/dataset.h"

namespace syncline {
namespace {

const std::vector<std::pair<std::string, CodecId>> kCodecs = {{"fp32", CodecId::kFp32},
                                                              {"fp16", CodecId::kFp16}};

void AddPlaceFlags(WorkerConfig& c, Loader& loader) {
  loader.Add("--coordinator", c.coordinator, "address of the coordinator, host:port");
  loader.Add("--allow-plaintext", c.allow_plaintext,
             "connect beyond this machine without encryption");
  loader.Add("--job", c.job, "name of the job; created when it is absent");
  loader.Add("--rank", c.rank, "this worker's place, 0 .. ranks-1; -1: the lowest that is free");
  loader.Add("--ranks", c.ranks, "workers of the job; training starts when all are there");
  loader.Add("--take-over", c.take_over, "fence a live worker of the same rank first");
  loader.Add("--reproducible", c.reproducible,
             "bit-identical runs: needs bsp and a rank; a lost rank stops the job");
  loader.AddChoice("--pieces", c.pieces,
                   {{"static", PieceMode::kStatic}, {"leased", PieceMode::kLeased}},
                   "who trains what: every rank its share, or whoever is free (async only)");
  loader.Add("--single", c.single, "train alone in this process, without servers");
  loader.Add("--whole-rounds", c.whole_rounds,
             "with --single: a batch is what --ranks workers have in one clock together");
}

void AddModelFlags(WorkerConfig& c, Loader& loader) {
  loader.Add("--data", c.data, "movielens:FOLDER, criteo:PATH or synthetic[:rows=N,...]");
  loader.Add("--seed", c.seed, "of initial parameters and the order of the data");
  loader.Add("--max-rows", c.max_rows, "keep only the first rows of the data; 0: all");
  loader.Add("--passes", c.passes, "over the training data; 0: what suits the data");
  loader.Add("--batch", c.batch, "samples per rank and clock; 0: what suits the data");
  loader.Add("--optimizer", c.optimizer, "sgd or adagrad");
  loader.Add("--learning-rate", c.learning_rate, "0: what suits the data");
  loader.Add("--initial-accumulator", c.initial_accumulator, "of adagrad");
  loader.Add("--dim", c.dim, "weights per embedding row");
  loader.AddChoice("--activation", c.activation,
                   {{"relu", Activation::kRelu}, {"tanh", Activation::kTanh}}, "of the MLPs");
}

void AddProtocolFlags(WorkerConfig& c, Loader& loader) {
  loader.AddChoice("--consistency", c.consistency,
                   {{"bsp", ConsistencyMode::kBsp},
                    {"ssp", ConsistencyMode::kSsp},
                    {"async", ConsistencyMode::kAsync}},
                   "how stale a read may be");
  loader.Add("--staleness", c.staleness, "the s of ssp(s), in clocks");
  loader.AddChoice("--pull-codec", c.pull_codec, kCodecs, "encoding of rows on the wire");
  loader.AddChoice("--push-codec", c.push_codec, kCodecs, "encoding of gradients on the wire");
  loader.Add("--call-deadline", c.call_deadline, "bound of every call, parked reads included");
  loader.Add("--start-timeout", c.start_timeout,
             "the job fails when a rank is missing for so long");
  loader.Add("--lease", c.lease, "a worker that is silent for so long is fenced");
  loader.Add("--slow-factor", c.slow_factor,
             "emulate a machine that many times slower (sleeps after computing)");
  loader.AddChoice("--log-level", c.log_level, LogLevelChoices(),
                   "the least important lines that are written");
}

void Validate(const WorkerConfig& c, Problems& problems) {
  if (c.data.empty()) problems.Add("--data is missing: movielens:FOLDER, criteo:PATH or synthetic");
  if (c.ranks == 0 || c.ranks > kMaxRanksPerJob) {
    problems.Add("--ranks is {}: must be 1 to {}", c.ranks, kMaxRanksPerJob);
  }
  if (c.rank < -1 || c.rank >= static_cast<int64_t>(c.ranks)) {
    problems.Add("--rank is {}: must be -1 or below --ranks ({})", c.rank, c.ranks);
  }
  if (c.reproducible && (c.consistency != ConsistencyMode::kBsp || c.rank < 0)) {
    problems.Add("--reproducible needs --consistency=bsp and a fixed --rank");
  }
  if (c.pieces == PieceMode::kLeased &&
      (c.single || c.reproducible || c.consistency != ConsistencyMode::kAsync)) {
    problems.Add("--pieces=leased needs --consistency=async, without --single and --reproducible");
  }
  if (c.optimizer != "sgd" && c.optimizer != "adagrad") {
    problems.Add("--optimizer is '{}': sgd or adagrad", c.optimizer);
  }
  if (c.learning_rate < 0) problems.Add("--learning-rate must not be negative");
  if (c.initial_accumulator < 0) problems.Add("--initial-accumulator must not be negative");
  if (c.staleness < 0 || c.staleness > kMaxStaleness) {
    problems.Add("--staleness is {}: must be 0 to {}", c.staleness, kMaxStaleness);
  }
  if (c.dim == 0 || c.dim > kMaxDim) problems.Add("--dim is {}: must be 1 to {}", c.dim, kMaxDim);
  if (!(c.slow_factor >= 1 && c.slow_factor <= 1000)) {
    problems.Add("--slow-factor is {}: must be 1 to 1000", c.slow_factor);
  }
  if (c.lease < kMinLease) problems.Add("--lease is below {} ms", kMinLease.count());
  if (c.whole_rounds && !c.single) problems.Add("--whole-rounds goes with --single");
}

}  // namespace

void AddWorkerFlags(WorkerConfig& config, Loader& loader) {
  AddPlaceFlags(config, loader);
  AddModelFlags(config, loader);
  AddProtocolFlags(config, loader);
  loader.AddValidator([&config](Problems& problems) { Validate(config, problems); });
}

ConsistencyPolicy PolicyOf(const WorkerConfig& config) {
  ConsistencyPolicy policy{.mode = config.consistency, .staleness = Staleness(0)};
  if (config.consistency == ConsistencyMode::kSsp) policy.staleness = Staleness(config.staleness);
  if (config.consistency == ConsistencyMode::kBsp) policy.apply = ApplyMode::kRound;
  return policy;
}

}  // namespace syncline
