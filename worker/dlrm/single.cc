#include "worker/dlrm/single.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/hash.h"
#include "common/random.h"
#include "common/status/status.h"

namespace syncline {
namespace {

double TruncatedNormal(SplitMix64& random) {
  double z = random.Normal();
  while (std::abs(z) > 2) z = random.Normal();
  return z;
}

absl::Status CheckOptimizer(const SingleOptimizer& o) {
  for (float value : {o.learning_rate, o.initial_accumulator, o.epsilon}) {
    if (std::isfinite(value) && value >= 0) continue;
    return InvalidArgument(
        "optimizer: learning rate {}, initial accumulator {} and epsilon {} must be finite and not "
        "negative",
        o.learning_rate, o.initial_accumulator, o.epsilon);
  }
  return absl::OkStatus();
}

// The initializer of a tensor or table by its name.
InitialValue OwnInitializers(const DlrmConfig& config) {
  std::unordered_map<std::string, InitializerSpec> specs;
  for (const DenseTensor& tensor : DenseTensorsOf(config)) {
    specs[tensor.name] = tensor.initializer;
  }
  for (const EmbeddingTable& table : EmbeddingTablesOf(config)) {
    specs[table.name] = table.initializer;
  }
  return [specs = std::move(specs)](std::string_view name, uint64_t key, uint64_t element) {
    return DrawInitialValue(specs.at(std::string(name)), name, key, element);
  };
}

}  // namespace

float DrawInitialValue(const InitializerSpec& spec, std::string_view name, uint64_t key,
                       uint64_t element) {
  SplitMix64 random(Mix64(Mix64(Mix64(spec.seed ^ StableHash(name)) ^ key) + element));
  const auto uniform = [&](double low, double high) {
    return static_cast<float>(low + (high - low) * random.Uniform());
  };
  switch (spec.kind) {
    case InitializerSpec::Kind::kZeros:
      return 0;
    case InitializerSpec::Kind::kConstant:
      return static_cast<float>(spec.a);
    case InitializerSpec::Kind::kUniform:
      return uniform(spec.a, spec.b);
    case InitializerSpec::Kind::kNormal:
      return static_cast<float>(spec.a + spec.b * random.Normal());
    case InitializerSpec::Kind::kTruncatedNormal:
      return static_cast<float>(spec.a + spec.b * TruncatedNormal(random));
    case InitializerSpec::Kind::kInverseSqrt:
      return uniform(-1 / std::sqrt(spec.a), 1 / std::sqrt(spec.a));
  }
  Panic(__FILE__, __LINE__, "no such initializer");
}

SingleTrainer::SingleTrainer(SingleOptimizer optimizer, InitialValue initial)
    : optimizer_(optimizer), initial_(std::move(initial)) {}

absl::StatusOr<std::unique_ptr<SingleTrainer>> SingleTrainer::Create(DlrmConfig config,
                                                                     SingleOptimizer optimizer,
                                                                     InitialValue initial) {
  RETURN_IF_ERROR(ValidateDlrmConfig(config));
  RETURN_IF_ERROR(CheckOptimizer(optimizer));
  if (!initial) initial = OwnInitializers(config);
  std::unique_ptr<SingleTrainer> trainer(new SingleTrainer(optimizer, std::move(initial)));
  ASSIGN_OR_RETURN(trainer->model_, Dlrm::Create(std::move(config), trainer->stream_,
                                                 trainer->embedding_ops_, trainer->dense_ops_));
  trainer->MakeDense();
  return trainer;
}

SingleTrainer::Parameter SingleTrainer::MakeParameter(std::vector<float> weights) const {
  Parameter parameter{std::move(weights), {}};
  if (optimizer_.kind == SingleOptimizer::Kind::kAdagrad) {
    parameter.accumulator.assign(parameter.weights.size(), optimizer_.initial_accumulator);
  }
  return parameter;
}

void SingleTrainer::MakeDense() {
  for (const DenseTensor& tensor : model_->dense_tensors()) {
    std::vector<float> weights(tensor.size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = initial_(tensor.name, 0, i);
    dense_.push_back(MakeParameter(std::move(weights)));
  }
  rows_.resize(model_->tables().size());
  gathered_.resize(model_->tables().size());
}

std::vector<float> SingleTrainer::InitialRow(size_t table, uint64_t key) const {
  const EmbeddingTable& spec = model_->tables()[table];
  std::vector<float> row(spec.dim);
  for (size_t i = 0; i < row.size(); ++i) row[i] = initial_(spec.name, key, i);
  return row;
}

std::vector<float> SingleTrainer::Row(size_t table, uint64_t key) const {
  const auto found = rows_[table].find(key);
  return found == rows_[table].end() ? InitialRow(table, key) : found->second.weights;
}

void SingleTrainer::Gather(const Lookup& lookup) {
  for (size_t t = 0; t < rows_.size(); ++t) {
    const size_t dim = model_->tables()[t].dim;
    gathered_[t].resize(lookup.keys[t].size() * dim);
    for (size_t k = 0; k < lookup.keys[t].size(); ++k) {
      const auto found = rows_[t].find(lookup.keys[t][k]);
      float* to = gathered_[t].data() + k * dim;
      if (found != rows_[t].end()) {
        std::copy_n(found->second.weights.data(), dim, to);
      } else {
        const auto row = InitialRow(t, lookup.keys[t][k]);
        std::copy_n(row.data(), dim, to);
      }
    }
  }
}

ModelParameters SingleTrainer::Parameters() const {
  ModelParameters parameters;
  for (const Parameter& tensor : dense_) parameters.dense.emplace_back(tensor.weights);
  parameters.rows.assign(gathered_.begin(), gathered_.end());
  return parameters;
}

void SingleTrainer::ApplyTo(Parameter& parameter, std::span<const float> gradient_sum,
                            float samples) const {
  for (size_t i = 0; i < gradient_sum.size(); ++i) {
    const float g = gradient_sum[i] / samples;
    float step = optimizer_.learning_rate * g;
    if (optimizer_.kind == SingleOptimizer::Kind::kAdagrad) {
      float& sum = parameter.accumulator[i];
      sum += g * g;
      step /= std::sqrt(sum) + optimizer_.epsilon;
    }
    parameter.weights[i] -= step;
  }
}

void SingleTrainer::Apply(const Lookup& lookup, float samples) {
  for (size_t t = 0; t < dense_.size(); ++t) ApplyTo(dense_[t], gradients_.dense[t], samples);
  for (size_t t = 0; t < rows_.size(); ++t) {
    const size_t dim = model_->tables()[t].dim;
    for (size_t k = 0; k < lookup.keys[t].size(); ++k) {
      const uint64_t key = lookup.keys[t][k];
      auto found = rows_[t].find(key);
      if (found == rows_[t].end()) {
        found = rows_[t].emplace(key, MakeParameter(InitialRow(t, key))).first;
      }
      ApplyTo(found->second, std::span(gradients_.rows[t]).subspan(k * dim, dim), samples);
    }
  }
}

absl::StatusOr<double> SingleTrainer::Step(const Batch& batch) {
  ASSIGN_OR_RETURN(const Lookup lookup, model_->LookUp(batch));
  if (batch.size == 0) return 0.0;
  Gather(lookup);
  gradients_.Resize(config(), lookup);
  std::vector<float> logits(batch.size);
  ASSIGN_OR_RETURN(const double loss,
                   model_->Train(batch, lookup, Parameters(), gradients_.gradients(), logits));
  Apply(lookup, static_cast<float>(batch.size));
  return loss / static_cast<double>(batch.size);
}

absl::StatusOr<std::vector<float>> SingleTrainer::Predict(const Batch& batch) {
  ASSIGN_OR_RETURN(const Lookup lookup, model_->LookUp(batch));
  Gather(lookup);
  std::vector<float> logits(batch.size);
  RETURN_IF_ERROR(model_->Predict(batch, lookup, Parameters(), logits));
  return logits;
}

}  // namespace syncline
