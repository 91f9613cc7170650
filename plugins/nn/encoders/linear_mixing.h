// SPDX-License-Identifier: Apache-2.0
// LinearMixing: mixes positions and features by two learned matrices, instead of attention
// (Lee-Thorp and Ainslie 2022, "Sparse Mixers", section 3.2; Model Garden's linear mixing), x [B,
// T, D] -> the same shape:
//
//   y = positions x features
//
// with parameters "positions" [L, L] and "features" [D, D], L = max_seq_length; a shorter sequence
// uses the first T rows and columns.
//
//   block_tpl = { type = "nn/TransformerBlock",
//                 attention_tpl = { type = "nn/LinearMixing", max_seq_length = 128 } }
//
// Every position sees all others, padding included, as in the paper and Model Garden. Throws
// UsageError for packed rows, whose texts it would mix, and Error for longer sequences.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct LinearMixingConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t max_seq_length = 0;
  InitConfig init;
};
TRIVET_CONFIG(LinearMixingConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input; 0 in a template: as the layer around it.",
               at_least(0)),
              (max_seq_length, "Positions of the longest sequence.", required, at_least(1)),
              (init, "Initializer of both matrices. Default: that of nn/Linear."))

class LinearMixing final : public Layer {
 public:
  using Config = LinearMixingConfig;
  LinearMixing(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t input_dims_, longest_;
  Parameter &positions_, &features_;
};

}  // namespace trivet::nn
