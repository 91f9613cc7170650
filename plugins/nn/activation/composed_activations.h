// SPDX-License-Identifier: Apache-2.0
// Activations composed of ops: elementwise, any shape. The plain ones, which other layers fuse, are
// in activations.h.
//
//   Relu6        min(max(x, 0), 6)
//   LeakyRelu    x where x > 0, else negative_slope x       (Maas et al. 2013)
//   Elu          x where x > 0, else alpha (exp(x) - 1)     (Clevert et al. 2015)
//   SquaredRelu  max(x, 0)^2                                (So et al. 2021, "Primer")
//   CubedRelu    max(x, 0)^3
//   Softplus     ln(1 + exp(x))
//   Exp          exp(x)
//   SineRelu     x where x > 0, else epsilon (sin(x) - cos(x))   (Rodrigues 2018)
//
// Names and defaults are those of Praxis. Gradients where two pieces meet: Relu6 has 0 at 0 and 1
// at 6; SquaredRelu and CubedRelu have 0; LeakyRelu and Elu have that of the right piece, 1, and
// SineRelu that of the left piece, epsilon.
#pragma once

#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct Relu6Config : LayerConfig {};
TRIVET_CONFIG(Relu6Config, trivet::LayerConfig)

struct LeakyReluConfig : LayerConfig {
  double negative_slope = 0.01;
};
TRIVET_CONFIG(LeakyReluConfig, trivet::LayerConfig,
              (negative_slope, "Factor of negative inputs.", between(0.0, 1.0)))

struct EluConfig : LayerConfig {
  double alpha = 1;
};
TRIVET_CONFIG(EluConfig, trivet::LayerConfig,
              (alpha, "Scale of the negative part: the output approaches -alpha.", at_least(0)))

struct SquaredReluConfig : LayerConfig {};
TRIVET_CONFIG(SquaredReluConfig, trivet::LayerConfig)

struct CubedReluConfig : LayerConfig {};
TRIVET_CONFIG(CubedReluConfig, trivet::LayerConfig)

struct SoftplusConfig : LayerConfig {};
TRIVET_CONFIG(SoftplusConfig, trivet::LayerConfig)

struct ExpConfig : LayerConfig {};
TRIVET_CONFIG(ExpConfig, trivet::LayerConfig)

struct SineReluConfig : LayerConfig {
  double epsilon = 0.0025;
};
TRIVET_CONFIG(SineReluConfig, trivet::LayerConfig,
              (epsilon, "Size of the waves below 0.", at_least(0)))

class ComposedActivation : public LocalLayer {
 public:
  Tensor fprop(const Tensor& x, FpropContext&) final { return apply(x); }

 protected:
  virtual Tensor apply(const Tensor& x) const = 0;
};

class Relu6 final : public ComposedActivation {
 public:
  using Config = Relu6Config;
  explicit Relu6(const Config&) {}

 private:
  Tensor apply(const Tensor& x) const override;
};

class LeakyRelu final : public ComposedActivation {
 public:
  using Config = LeakyReluConfig;
  explicit LeakyRelu(const Config& config) : slope_(static_cast<float>(config.negative_slope)) {}

 private:
  Tensor apply(const Tensor& x) const override;
  float slope_;
};

class Elu final : public ComposedActivation {
 public:
  using Config = EluConfig;
  explicit Elu(const Config& config) : alpha_(static_cast<float>(config.alpha)) {}

 private:
  Tensor apply(const Tensor& x) const override;
  float alpha_;
};

class SquaredRelu final : public ComposedActivation {
 public:
  using Config = SquaredReluConfig;
  explicit SquaredRelu(const Config&) {}

 private:
  Tensor apply(const Tensor& x) const override;
};

class CubedRelu final : public ComposedActivation {
 public:
  using Config = CubedReluConfig;
  explicit CubedRelu(const Config&) {}

 private:
  Tensor apply(const Tensor& x) const override;
};

class Softplus final : public ComposedActivation {
 public:
  using Config = SoftplusConfig;
  explicit Softplus(const Config&) {}

 private:
  Tensor apply(const Tensor& x) const override;
};

class Exp final : public ComposedActivation {
 public:
  using Config = ExpConfig;
  explicit Exp(const Config&) {}

 private:
  Tensor apply(const Tensor& x) const override;
};

class SineRelu final : public ComposedActivation {
 public:
  using Config = SineReluConfig;
  explicit SineRelu(const Config& config) : epsilon_(static_cast<float>(config.epsilon)) {}

 private:
  Tensor apply(const Tensor& x) const override;
  float epsilon_;
};

}  // namespace trivet::nn
