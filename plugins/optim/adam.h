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
// variable is updated separately. m_dtype is the type in which m is stored, as optax' mu_dtype; v
// is f32.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adam_fields.h"
#include "optim/parts/decay_filter.h"

namespace trivet::optim {

using AdamConfig = AdamFields<OptimizerConfig>;
TRIVET_CONFIG(AdamConfig, trivet::OptimizerConfig, TRIVET_ADAM_FIELDS)

class Adam final : public Optimizer {
 public:
  using Config = AdamConfig;
  explicit Adam(const Config& config);
  std::vector<std::string> slots() const override;
  DType slot_dtype(std::string_view slot, const Parameter&) const override {
    return dtype_of_slot(slot, config_.m_dtype);
  }
  bool per_variable() const override { return config_.clip_threshold > 0; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;

 private:
  Config config_;
};

using AdamWConfig = AdamFields<DecayConfig>;
TRIVET_CONFIG(AdamWConfig, trivet::optim::DecayConfig, TRIVET_ADAM_FIELDS)

class AdamW final : public Optimizer {
 public:
  using Config = AdamWConfig;
  explicit AdamW(const Config& config);
  std::vector<std::string> slots() const override;
  std::int64_t group_of(const Parameter& parameter) const override;
  DType slot_dtype(std::string_view slot, const Parameter&) const override {
    return dtype_of_slot(slot, config_.m_dtype);
  }
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
