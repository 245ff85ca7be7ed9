#include "tests/support/reference_dlrm.h"

#include <cmath>
#include <utility>

namespace syncline {
namespace {

using Vector = ReferenceDlrm::Vector;

std::string LayerName(const std::string& mlp, size_t layer, const char* part) {
  return mlp + "." + std::to_string(layer) + "." + part;
}

double Activated(Activation activation, double x) {
  if (activation == Activation::kTanh) return std::tanh(x);
  return x > 0 ? x : 0;
}

double Slope(Activation activation, double output) {
  if (activation == Activation::kTanh) return 1 - output * output;
  return output > 0 ? 1 : 0;
}

double PoolDivisor(Pooling pooling, size_t n) {
  const auto count = static_cast<double>(n);
  if (pooling == Pooling::kMean) return count;
  return pooling == Pooling::kSqrtN ? std::sqrt(count) : 1;
}

void AddTo(Vector& sum, const Vector& x, double factor) {
  sum.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) sum[i] += factor * x[i];
}

double DotOf(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

ReferenceDlrm::ReferenceDlrm(const DlrmConfig& config, ReferenceOptimizer optimizer,
                             InitialValue initial)
    : config_(config), optimizer_(optimizer), initial_(std::move(initial)) {
  for (const DenseTensor& tensor : DenseTensorsOf(config_)) {
    Vector weights(tensor.size());
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = initial_(tensor.name, 0, i);
    dense_[tensor.name] = MakeParameter(std::move(weights));
  }
}

ReferenceDlrm::Parameter ReferenceDlrm::MakeParameter(Vector weights) const {
  const size_t size = weights.size();
  return {std::move(weights), Vector(size, optimizer_.initial_accumulator)};
}

Vector& ReferenceDlrm::Row(const std::string& table, uint64_t key) {
  auto& rows = rows_[table];
  const auto found = rows.find(key);
  if (found != rows.end()) return found->second.weights;
  Vector weights(config_.dim);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = initial_(table, key, i);
  return rows.emplace(key, MakeParameter(std::move(weights))).first->second.weights;
}

std::vector<std::string> ReferenceDlrm::DenseNames() const {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : dense_) names.push_back(name);
  return names;
}

std::vector<uint64_t> ReferenceDlrm::Keys(const std::string& table) const {
  std::vector<uint64_t> keys;
  const auto found = rows_.find(table);
  if (found == rows_.end()) return keys;
  for (const auto& [key, parameter] : found->second) keys.push_back(key);
  return keys;
}

// --- Forward ----------------------------------------------------------------------------------

std::vector<Vector> ReferenceDlrm::RunMlp(const std::string& name, size_t layers, Vector input,
                                          bool linear_output) {
  std::vector<Vector> values = {std::move(input)};
  for (size_t l = 0; l < layers; ++l) {
    const Vector& weight = Dense(LayerName(name, l, "weight"));
    Vector out = Dense(LayerName(name, l, "bias"));
    const Vector& in = values.back();
    for (size_t o = 0; o < out.size(); ++o) {
      for (size_t i = 0; i < in.size(); ++i) out[o] += weight[o * in.size() + i] * in[i];
      if (!linear_output || l + 1 < layers) out[o] = Activated(config_.activation, out[o]);
    }
    values.push_back(std::move(out));
  }
  return values;
}

Vector ReferenceDlrm::PoolBag(const Batch& batch, size_t sample, size_t field) {
  const Batch::Field& bags = batch.fields[field];
  const FieldConfig& config = config_.fields[field];
  const size_t n = bags.offsets[sample + 1] - bags.offsets[sample];
  Vector pooled(config_.dim);
  for (size_t k = bags.offsets[sample]; k < bags.offsets[sample + 1]; ++k) {
    AddTo(pooled, Row(config.table, bags.ids[k]), 1 / PoolDivisor(config.pooling, n));
  }
  return pooled;
}

ReferenceDlrm::Trace ReferenceDlrm::Forward(const Batch& batch, size_t sample) {
  Trace trace;
  if (config_.dense_count > 0) {
    Vector dense(config_.dense_count);
    for (size_t i = 0; i < dense.size(); ++i) dense[i] = batch.dense[sample * dense.size() + i];
    trace.bottom = RunMlp("bottom", config_.bottom_hidden.size() + 1, dense, false);
    trace.vectors.push_back(trace.bottom.back());
  }
  for (size_t f = 0; f < config_.fields.size(); ++f) {
    trace.vectors.push_back(PoolBag(batch, sample, f));
  }
  Vector input;
  const size_t passed_on = config_.dense_count > 0 ? 1 : trace.vectors.size();
  for (size_t v = 0; v < passed_on; ++v) {
    input.insert(input.end(), trace.vectors[v].begin(), trace.vectors[v].end());
  }
  for (size_t i = 0; i < trace.vectors.size(); ++i) {
    for (size_t j = i + 1; j < trace.vectors.size(); ++j) {
      input.push_back(DotOf(trace.vectors[i], trace.vectors[j]));
    }
  }
  trace.top = RunMlp("top", config_.top_hidden.size() + 1, std::move(input), true);
  return trace;
}

double ReferenceDlrm::Logit(const Batch& batch, size_t sample) {
  return Forward(batch, sample).top.back()[0];
}

double ReferenceDlrm::Loss(const Batch& batch) {
  double sum = 0;
  for (size_t s = 0; s < batch.size; ++s) {
    const double z = Logit(batch, s);
    // -log(sigmoid(z)) = log(1 + exp(-z)), and the other way round for a negative sample.
    sum += batch.labels[s] * std::log1p(std::exp(-z)) +
           (1 - batch.labels[s]) * std::log1p(std::exp(z));
  }
  return sum;
}

// --- Backward ---------------------------------------------------------------------------------

Vector ReferenceDlrm::BackMlp(const std::string& name, const std::vector<Vector>& values,
                              Vector gradient, bool linear_output, Gradients& gradients) {
  const size_t layers = values.size() - 1;
  for (size_t l = layers; l-- > 0;) {
    const Vector& in = values[l];
    const Vector& out = values[l + 1];
    const Vector& weight = Dense(LayerName(name, l, "weight"));
    Vector& weight_gradient = gradients.dense[LayerName(name, l, "weight")];
    weight_gradient.resize(weight.size());
    Vector below(in.size());
    for (size_t o = 0; o < out.size(); ++o) {
      if (!linear_output || l + 1 < layers) gradient[o] *= Slope(config_.activation, out[o]);
      for (size_t i = 0; i < in.size(); ++i) {
        weight_gradient[o * in.size() + i] += gradient[o] * in[i];
        below[i] += gradient[o] * weight[o * in.size() + i];
      }
    }
    AddTo(gradients.dense[LayerName(name, l, "bias")], gradient, 1);
    gradient = std::move(below);
  }
  return gradient;
}

std::vector<Vector> ReferenceDlrm::VectorGradients(const Trace& trace,
                                                   const Vector& top_input_gradient) const {
  std::vector<Vector> result(trace.vectors.size(), Vector(config_.dim));
  const size_t passed_on = config_.dense_count > 0 ? 1 : trace.vectors.size();
  size_t at = 0;
  for (size_t v = 0; v < passed_on; ++v) {
    for (double& g : result[v]) g += top_input_gradient[at++];
  }
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t j = i + 1; j < result.size(); ++j) {
      AddTo(result[i], trace.vectors[j], top_input_gradient[at]);
      AddTo(result[j], trace.vectors[i], top_input_gradient[at]);
      ++at;
    }
  }
  return result;
}

void ReferenceDlrm::AddBagGradient(const Batch& batch, size_t sample, size_t field,
                                   const Vector& gradient, Gradients& gradients) {
  const Batch::Field& bags = batch.fields[field];
  const FieldConfig& config = config_.fields[field];
  const size_t n = bags.offsets[sample + 1] - bags.offsets[sample];
  for (size_t k = bags.offsets[sample]; k < bags.offsets[sample + 1]; ++k) {
    AddTo(gradients.rows[config.table][bags.ids[k]], gradient, 1 / PoolDivisor(config.pooling, n));
  }
}

void ReferenceDlrm::AddGradients(const Batch& batch, Gradients& gradients) {
  for (size_t s = 0; s < batch.size; ++s) {
    const Trace trace = Forward(batch, s);
    const double probability = 1 / (1 + std::exp(-trace.top.back()[0]));
    const Vector top_input_gradient =
        BackMlp("top", trace.top, {probability - batch.labels[s]}, true, gradients);
    const auto vectors = VectorGradients(trace, top_input_gradient);
    const size_t first_field = config_.dense_count > 0 ? 1 : 0;
    for (size_t f = 0; f < config_.fields.size(); ++f) {
      AddBagGradient(batch, s, f, vectors[first_field + f], gradients);
    }
    if (first_field == 1) BackMlp("bottom", trace.bottom, vectors[0], false, gradients);
  }
}

// --- Optimizer --------------------------------------------------------------------------------

void ReferenceDlrm::Apply(Parameter& parameter, const Vector& gradient_sum, double samples) const {
  for (size_t i = 0; i < gradient_sum.size(); ++i) {
    const double g = gradient_sum[i] / samples;
    double divisor = 1;
    if (optimizer_.adagrad) {
      parameter.accumulator[i] += g * g;
      divisor = std::sqrt(parameter.accumulator[i]) + optimizer_.epsilon;
    }
    parameter.weights[i] -= optimizer_.learning_rate * g / divisor;
  }
}

void ReferenceDlrm::Step(std::span<const Batch> batches) {
  Gradients gradients;
  double samples = 0;
  for (const Batch& batch : batches) {
    AddGradients(batch, gradients);
    samples += static_cast<double>(batch.size);
  }
  if (samples == 0) return;
  for (const auto& [name, gradient] : gradients.dense) Apply(dense_.at(name), gradient, samples);
  for (const auto& [table, rows] : gradients.rows) {
    for (const auto& [key, gradient] : rows) Apply(rows_.at(table).at(key), gradient, samples);
  }
}

}  // namespace syncline
