// SPDX-License-Identifier: Apache-2.0
// The plain activations: elementwise, any shape. Formulas: trivet/ops.h, Activation. Linear and
// Conv2d fuse these activations, which they find through trivet/extensions/activation.h.
#pragma once

#include <string_view>

#include "trivet/layer.h"
#include "trivet/ops.h"

namespace trivet::nn {

struct ReluConfig : LayerConfig {};
TRIVET_CONFIG(ReluConfig, trivet::LayerConfig)

struct GeluConfig : LayerConfig {
  bool approximate = true;
};
TRIVET_CONFIG(GeluConfig, trivet::LayerConfig,
              (approximate,
               "The tanh form, as in BERT, GPT-2 and Praxis; false: the exact one with erf."))

struct SiluConfig : LayerConfig {};
TRIVET_CONFIG(SiluConfig, trivet::LayerConfig)

struct TanhConfig : LayerConfig {};
TRIVET_CONFIG(TanhConfig, trivet::LayerConfig)

struct SigmoidConfig : LayerConfig {};
TRIVET_CONFIG(SigmoidConfig, trivet::LayerConfig)

class PlainActivation : public Layer {
 public:
  Tensor fprop(const Tensor& x, FpropContext& context) final;
  const void* extension(std::string_view id) const noexcept final;

 protected:
  explicit PlainActivation(Activation kind) : kind_(kind) {}

 private:
  Activation kind_;
};

class Relu final : public PlainActivation {
 public:
  using Config = ReluConfig;
  explicit Relu(const Config&) : PlainActivation(Activation::relu) {}
};

class Gelu final : public PlainActivation {
 public:
  using Config = GeluConfig;
  explicit Gelu(const Config& config)
      : PlainActivation(config.approximate ? Activation::gelu_tanh : Activation::gelu) {}
};

class Silu final : public PlainActivation {
 public:
  using Config = SiluConfig;
  explicit Silu(const Config&) : PlainActivation(Activation::silu) {}
};

class Tanh final : public PlainActivation {
 public:
  using Config = TanhConfig;
  explicit Tanh(const Config&) : PlainActivation(Activation::tanh) {}
};

class Sigmoid final : public PlainActivation {
 public:
  using Config = SigmoidConfig;
  explicit Sigmoid(const Config&) : PlainActivation(Activation::sigmoid) {}
};

}  // namespace trivet::nn
