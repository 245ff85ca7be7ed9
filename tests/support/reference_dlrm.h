// A DLRM trainer in float64, one sample at a time, one process, plain loops: written apart from
// worker/dlrm and worker/kernels (only the config and batch types are theirs), so that agreement
// means something. What it computes is described in worker/dlrm/model.h.
#ifndef SYNCLINE_TESTS_SUPPORT_REFERENCE_DLRM_H_
#define SYNCLINE_TESTS_SUPPORT_REFERENCE_DLRM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "worker/data/batch.h"
#include "worker/dlrm/config.h"

namespace syncline {

// sgd: w -= rate * g. adagrad: a += g^2, w -= rate * g / (sqrt(a) + epsilon).
struct ReferenceOptimizer {
  bool adagrad = false;
  double learning_rate = 0.1;
  double initial_accumulator = 0.1;
  double epsilon = 1e-8;
};

class ReferenceDlrm {
 public:
  // Element of a dense tensor (key 0, row-major) or of an embedding row.
  using InitialValue =
      std::function<double(const std::string& table, uint64_t key, uint64_t element)>;
  using Vector = std::vector<double>;
  // Gradient sums over samples, by name; rows only where a sample named them.
  struct Gradients {
    std::map<std::string, Vector> dense;
    std::map<std::string, std::map<uint64_t, Vector>> rows;
  };

  // REQUIRES: a valid config.
  ReferenceDlrm(const DlrmConfig& config, ReferenceOptimizer optimizer, InitialValue initial);

  // Logit of one sample.
  double Logit(const Batch& batch, size_t sample);
  // Sum of losses over the batch.
  double Loss(const Batch& batch);
  // Adds the batch's gradient sums.
  void AddGradients(const Batch& batch, Gradients& gradients);

  // One optimizer step on all batches together (one per rank of a round): gradients are summed over
  // them and divided once by all their samples (PROTOCOL.md R1). No samples: nothing happens.
  void Step(std::span<const Batch> batches);

  // Parameters, to read and to disturb. Row makes the row when it is not there.
  Vector& Dense(const std::string& name) { return dense_.at(name).weights; }
  Vector& Row(const std::string& table, uint64_t key);
  // Names and keys there are.
  std::vector<std::string> DenseNames() const;
  std::vector<uint64_t> Keys(const std::string& table) const;

 private:
  struct Parameter {
    Vector weights;
    Vector accumulator;
  };
  // What the forward pass of one sample leaves for the backward pass.
  struct Trace {
    std::vector<Vector> bottom;   // input, then each layer's output
    std::vector<Vector> vectors;  // as v in model.h
    std::vector<Vector> top;      // input, then each layer's output
  };

  Parameter MakeParameter(Vector weights) const;
  Trace Forward(const Batch& batch, size_t sample);
  std::vector<Vector> RunMlp(const std::string& name, size_t layers, Vector input,
                             bool linear_output);
  Vector BackMlp(const std::string& name, const std::vector<Vector>& values, Vector gradient,
                 bool linear_output, Gradients& gradients);
  Vector PoolBag(const Batch& batch, size_t sample, size_t field);
  std::vector<Vector> VectorGradients(const Trace& trace, const Vector& top_input_gradient) const;
  void AddBagGradient(const Batch& batch, size_t sample, size_t field, const Vector& gradient,
                      Gradients& gradients);
  void Apply(Parameter& parameter, const Vector& gradient_sum, double samples) const;

  const DlrmConfig config_;
  const ReferenceOptimizer optimizer_;
  const InitialValue initial_;
  std::map<std::string, Parameter> dense_;
  std::map<std::string, std::map<uint64_t, Parameter>> rows_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_REFERENCE_DLRM_H_
