// Optimizers written once more, in double and from the papers' formulas alone, to compare with. It
// shares no code with server/optimizer.
#ifndef SYNCLINE_TESTS_SERVER_OPTIMIZER_REFERENCE_H_
#define SYNCLINE_TESTS_SERVER_OPTIMIZER_REFERENCE_H_

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/table_spec.h"

namespace syncline {

// One row under one optimizer.
class ReferenceRow {
 public:
  ReferenceRow(const OptimizerSpec& spec, std::vector<double> weights)
      : w(std::move(weights)), spec_(spec), m_(w.size()), v_(w.size()) {
    for (double& v : v_) v = spec.name == "adagrad" ? Get("initial_accumulator", 0.1) : 0.0;
    row_sum_ = Get("initial_accumulator", 0.1);
  }

  void Apply(std::vector<double> g, double lr) {
    double norm = 0;
    for (double x : g) norm = std::hypot(norm, x);
    const double clip = Get("clip_norm", 0);
    if (clip > 0 && norm > clip) {
      for (double& x : g) x *= clip / norm;
    }
    for (double& x : w) x *= 1 - lr * Get("weight_decay", 0);
    ++t_;
    double mean_square = 0;
    for (double x : g) mean_square += x * x / static_cast<double>(g.size());
    row_sum_ += mean_square;
    for (size_t i = 0; i < g.size(); ++i) w[i] -= lr * Direction(i, g[i]);
  }

  std::vector<double> w;

 private:
  double Get(const std::string& name, double fallback) const {
    const auto it = spec_.arguments.find(name);
    return it == spec_.arguments.end() ? fallback : it->second;
  }

  double Direction(size_t i, double g) {
    if (spec_.name == "momentum") {
      const double mu = Get("mu", 0.9);
      m_[i] = mu * m_[i] + g;
      return Get("nesterov", 0) == 1 ? g + mu * m_[i] : m_[i];
    }
    if (spec_.name == "adagrad") {
      v_[i] += g * g;
      return g / (std::sqrt(v_[i]) + Get("eps", 1e-8));
    }
    if (spec_.name == "rowwise_adagrad") return g / (std::sqrt(row_sum_) + Get("eps", 1e-8));
    if (spec_.name == "adam") {
      const double beta1 = Get("beta1", 0.9), beta2 = Get("beta2", 0.999);
      m_[i] += (1 - beta1) * (g - m_[i]);
      v_[i] += (1 - beta2) * (g * g - v_[i]);
      const double m_hat = m_[i] / (1 - std::pow(beta1, t_));
      const double v_hat = v_[i] / (1 - std::pow(beta2, t_));
      return m_hat / (std::sqrt(v_hat) + Get("eps", 1e-8));
    }
    return g;  // sgd
  }

  OptimizerSpec spec_;
  std::vector<double> m_, v_;
  double row_sum_ = 0;
  double t_ = 0;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SERVER_OPTIMIZER_REFERENCE_H_
