// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), t = 1, 2, .. counting updates:
//
//   w -= lr * weight_decay * w               (AdamW only; decoupled from the gradient)
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t) + epsilon_root) + epsilon)
//   u /= max(1, rms(u) / clip_threshold)     (with clip_threshold; rms over the whole variable)
//   w -= lr * u
//
// Epsilon is added after the bias correction, as in the paper's algorithm 1, PyTorch and Praxis.
// With epsilon_hat it is added to sqrt(v) before it, as in the paper's section 2, Keras and Model
// Garden:
//   w -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)
// Its default is the paper's 1e-8 (PyTorch's; Keras 1e-7, Praxis 1e-6). Model Garden's adamw also
// clips by global norm: that is trainer.gradient_clip here.
//
// With amsgrad (Reddi, Kale and Kumar 2018) the largest v so far replaces v:
//   v_max = max(v_max, v)
// before its bias correction, as PyTorch and Keras do. Slots: "m", "v", and "v_max" with amsgrad.
//
// epsilon_root and clip_threshold are as in Praxis, where clip_threshold is 1.0 unless set. Without
// them and amsgrad the backend updates neighboring variables in one pass; with clip_threshold each
// variable is updated separately.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decay.h"

namespace trivet::optim {

struct AdamConfig : OptimizerConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double epsilon_root = 0;
  bool epsilon_hat = false;
  bool amsgrad = false;
  double clip_threshold = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(AdamConfig, trivet::OptimizerConfig,
              (beta1, "Decay of the mean of gradients.", at_least(0), less_than(1), adjustable),
              (beta2, "Decay of the mean of squared gradients.", at_least(0), less_than(1),
               adjustable),
              (epsilon, "Added to the root of the squares.", at_least(0), adjustable),
              (epsilon_root, "Added to the squares under their root.", at_least(0), adjustable),
              (epsilon_hat, "Epsilon is added before the bias correction, as Keras does.",
               adjustable),
              (amsgrad, "Divides by the largest mean of squared gradients so far."),
              (clip_threshold,
               "Largest root mean square of a variable's update before learning rate and weight "
               "decay; 0: none. Praxis' default is 1.",
               at_least(0), adjustable))

class Adam final : public Optimizer {
 public:
  using Config = AdamConfig;
  explicit Adam(const Config& config);
  std::vector<std::string> slots() const override;
  bool per_variable() const override { return config_.clip_threshold > 0; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;

 private:
  Config config_;
};

struct AdamWConfig : DecayConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double epsilon_root = 0;
  bool epsilon_hat = false;
  bool amsgrad = false;
  double clip_threshold = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(AdamWConfig, trivet::optim::DecayConfig,
              (beta1, "Decay of the mean of gradients.", at_least(0), less_than(1), adjustable),
              (beta2, "Decay of the mean of squared gradients.", at_least(0), less_than(1),
               adjustable),
              (epsilon, "Added to the root of the squares.", at_least(0), adjustable),
              (epsilon_root, "Added to the squares under their root.", at_least(0), adjustable),
              (epsilon_hat, "Epsilon is added before the bias correction, as Keras does.",
               adjustable),
              (amsgrad, "Divides by the largest mean of squared gradients so far."),
              (clip_threshold,
               "Largest root mean square of a variable's update before learning rate and weight "
               "decay; 0: none. Praxis' default is 1.",
               at_least(0), adjustable))

class AdamW final : public Optimizer {
 public:
  using Config = AdamWConfig;
  explicit AdamW(const Config& config);
  std::vector<std::string> slots() const override;
  std::int64_t group_of(const Parameter& parameter) const override;
  bool per_variable() const override { return config_.clip_threshold > 0; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;
  void check_variables(std::span<const Parameter* const> variables) const override {
    filter_.check_variables(variables);
  }

 private:
  Config config_;
  DecayFilter filter_;
};

}  // namespace trivet::optim
