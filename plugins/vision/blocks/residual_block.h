// SPDX-License-Identifier: Apache-2.0
// One block of a residual network (He et al. 2016, "Deep Residual Learning for Image Recognition"),
// images [B, H, W, input_dims] -> [B, ceil(H / stride), ceil(W / stride), output_dims]:
//
//   y = activation(shortcut(x) + residual(x))
//
// residual: convolutions without bias, each followed by a BatchNorm and, except the last, the
// activation.
// basic: two of 3 x 3. bottleneck: 1 x 1, 3 x 3, and 1 x 1 with four times the filters; the stride
// is that of the 3 x 3, as in most code since (the paper has it at the first). shortcut: x itself,
// or, where the shape changes, a 1 x 1 convolution and a BatchNorm (the paper's option B). With
// resnetd_shortcut, the mean of 2 x 2 pixels comes in front of that convolution, which then has no
// stride (He et al. 2019, "Bag of Tricks", ResNet-D). The residual ends with squeeze and excitation
// and nn/DropPath, if they are on.
//
// Names below the block's: "conv_0/w", "norm_0/gamma", ..., "squeeze_excitation/reduce/w", ...,
// "shortcut/w", "shortcut_norm/gamma".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trivet/layer.h"
#include "vision/blocks/squeeze_excitation.h"

namespace trivet::vision {

// Options shared by all convolutions and norms of a network.
struct ResidualOptions {
  double norm_momentum;
  double norm_epsilon;
  bool zero_init;  // starts the last norm's gamma at 0: the block equals its shortcut
  InitConfig init;
  ConfigOf<Layer> activation = "nn/Relu";
  bool resnetd_shortcut = false;
  double se_ratio = 0;   // share of the channels inside squeeze and excitation; 0: none
  double drop_rate = 0;  // share of the examples that skip the residual in training
};

// `activation` may be empty; gamma is the initial scale of the norm.
ConfigOf<Layer> batch_norm(std::int64_t dim, const ConfigOf<Layer>& activation,
                           const ResidualOptions& options, double gamma = 1);

class ResidualBlock {
 public:
  static constexpr std::int64_t kExpansion = 4;  // of a bottleneck

  // `width`: filters of all convolutions except a bottleneck's last.
  ResidualBlock(std::int64_t input_dims, std::int64_t width, std::int64_t stride, bool bottleneck,
                const ResidualOptions& options, const Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context);
  std::int64_t output_dims() const { return output_dims_; }

 private:
  struct Convolution {
    std::int64_t filters, kernel, stride = 1;
  };

  std::int64_t output_dims_;
  std::vector<std::shared_ptr<Layer>> convolutions_, norms_;
  std::optional<SqueezeExcitation> squeeze_excitation_;
  std::shared_ptr<Layer> drop_path_;                                 // null: drops nothing
  std::shared_ptr<Layer> shortcut_pool_, shortcut_, shortcut_norm_;  // null: x itself
  std::shared_ptr<Layer> activation_;                                // null: none
};

}  // namespace trivet::vision
