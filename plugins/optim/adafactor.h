// SPDX-License-Identifier: Apache-2.0
// Adafactor (Shazeer and Stern 2018, algorithms 4 and 5): Adam's second moment of a matrix, stored
// as the means over its rows and columns.
//
//   q = g^2 + epsilon1,  b = 1 - t^-decay_exponent,  t = 1, 2, ..
//                        or with decay_method = adam  b = beta2 (1 - beta2^(t-1)) / (1 - beta2^t),
//                        Adam's with its bias correction, as in Praxis
//   a matrix:   r = b r + (1 - b) mean_columns(q),  c = b c + (1 - b) mean_rows(q)
//               x = g / sqrt(r c / mean(r))
//   otherwise:  v = b v + (1 - b) q,  x = g / sqrt(v)
//   x /= max(1, rms(x) / clip_threshold)
//   s = lr, times max(rms(w), epsilon2) with multiply_by_parameter_scale
//   u = s x, or with beta1: m = beta1 m + (1 - beta1) s x,  u = m
//   u += lr weight_decay w                       (decoupled, of the w before the update)
//   with layerwise_adaptation: u *= s |w| / |u|, Lamb's ratio; 1 if a norm is 0
//   w -= u
//
// Variables whose two factored axes both have at least min_dim_size_to_factor count as matrices;
// the other axes number separate matrices. The trainer sets the learning rate. The paper's relative
// step size is a schedule optim/Power with power -0.5 and multiply_by_parameter_scale. Clipping of
// the update (Praxis, optax: clip_threshold), the momentum without bias correction, the choice of
// axes and the adaptation are those of Praxis' ShardedAdafactor, which adds epsilon1 to |u|.
// Slots: "row" and "column", or "v"; and "m" with beta1.
//
// quantized_dtype is the type in which m is stored, as in Praxis, whose default is int8. With int8
// each column, over axis 0, has a scale in the slot "m_scale" (slot_dtype.h); a scalar's m is f32.
// The other slots are f32 whatever it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/parts/layer_filter.h"
#include "optim/parts/slot_dtype.h"

namespace trivet::optim {

// The decay rate of the second moment.
enum class AdafactorDecay { pow, adam };
TRIVET_ENUM(AdafactorDecay, pow, adam)

// The two axes of a variable that are factored: the last ones, or the largest ones, of equals the
// first.
enum class FactoredAxes { last, largest };
TRIVET_ENUM(FactoredAxes, last, largest)

// The type of the stored momentum.
enum class QuantizedDtype { float32, bfloat16, int8 };
TRIVET_ENUM(QuantizedDtype, float32, bfloat16, int8)

struct AdafactorConfig : LayerAdaptationConfig {
  AdafactorDecay decay_method = AdafactorDecay::pow;
  double decay_exponent = 0.8;
  double beta2 = 0.99;
  double beta1 = 0;
  QuantizedDtype quantized_dtype = QuantizedDtype::float32;
  double clip_threshold = 1;
  double epsilon1 = 1e-30;
  double epsilon2 = 1e-3;
  bool multiply_by_parameter_scale = false;
  std::int64_t min_dim_size_to_factor = 128;
  FactoredAxes factored_axes = FactoredAxes::last;
  bool layerwise_adaptation = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(AdafactorConfig, trivet::optim::LayerAdaptationConfig,
              (decay_method,
               "Decay rate of the second moment: pow, 1 - step^-decay_exponent; adam, the constant "
               "beta2 with Adam's bias correction.",
               adjustable),
              (decay_exponent, "Exponent of the decay rate with decay_method = \"pow\".",
               more_than(0), at_most(1), adjustable),
              (beta2, "Decay rate with decay_method = \"adam\".", at_least(0), less_than(1),
               adjustable),
              (beta1, "Decay of the momentum. 0: no momentum and no memory for it.", at_least(0),
               less_than(1), adjustable),
              (quantized_dtype,
               "Type of the stored momentum: float32; bfloat16, half the memory; int8, a quarter, "
               "with a scale for each column."),
              (clip_threshold, "Largest root mean square of an update before the learning rate.",
               more_than(0), adjustable),
              (epsilon1, "Constant added to squared gradients.", at_least(0), adjustable),
              (epsilon2, "Least scale of a parameter.", at_least(0), adjustable),
              (multiply_by_parameter_scale,
               "The learning rate is relative to the root mean square of each variable.",
               adjustable),
              (min_dim_size_to_factor, "Minimum size of both axes for a factored second moment.",
               at_least(1)),
              (factored_axes, "Axes of a variable whose second moment is factored."),
              (layerwise_adaptation,
               "Scales each variable's update to the norm of its weights, as Lamb.", adjustable))

class Adafactor final : public Optimizer {
 public:
  using Config = AdafactorConfig;
  explicit Adafactor(const Config& config) : config_(config), filter_(config) {}
  std::vector<std::string> slots() const override;
  Shape slot_shape(std::string_view slot, const Parameter& parameter) const override;
  DType slot_dtype(std::string_view slot, const Parameter& parameter) const override;
  std::int64_t group_of(const Parameter& parameter) const override {
    return filter_.group_of(parameter);
  }
  bool per_variable() const override { return true; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;
  void check_variables(std::span<const Parameter* const> variables) const override {
    filter_.check_variables(variables);
  }

 private:
  double decay_of(double t) const;  // t = 1, 2, ..
  // Returns g divided by the root of its mean squares, and updates their slots. Flat.
  Tensor normalized(const Tensor& g, double decay, OptimizerSegment& segment) const;
  void update(const OptimizerStep& step, OptimizerSegment& segment) const;

  Config config_;
  LayerFilter filter_;
};

}  // namespace trivet::optim
