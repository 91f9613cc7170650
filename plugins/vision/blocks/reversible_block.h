// SPDX-License-Identifier: Apache-2.0
// One reversible block of a RevNet (Gomez et al. 2017), images [B, H, W, input_dims] ->
// [B, ceil(H / stride), ceil(W / stride), output_dims]. The channels are two halves x1, x2:
//
//   y1 = x1 + f(x2)
//   y2 = x2 + g(y1)
//
// f, g: convolutions without bias, with a BatchNorm and an activation in front of each but the
// first; with norm_first in front of the first, too. basic: two of 3 x 3 with width / 2 filters.
// bottleneck: 1 x 1, 3 x 3, and 1 x 1 with four times the filters. f's first has the stride. Where
// that is not 1, x1 and x2 are means of stride x stride pixels, and where the halves get wider,
// they have zeros in front and behind.
//
// Names below the block's: "f/norm_0/gamma", "f/conv_1/w", "f/norm_1/gamma", "f/conv_2/w", ...,
// "g/conv_1/w", ...
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trivet/layer.h"
#include "vision/blocks/residual_block.h"

namespace trivet::vision {

class ReversibleBlock final : public Layer {
 public:
  struct Form {
    std::int64_t width, stride;  // filters of both halves together
    bool bottleneck, norm_first;
  };
  // input_dims and width are even.
  ReversibleBlock(std::int64_t input_dims, const Form& form, const ResidualOptions& options,
                  const Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::int64_t output_dims() const { return output_dims_; }

 private:
  using Branch = std::vector<std::shared_ptr<Layer>>;
  // A half of the input in the shape of a half of the output.
  Tensor fitted(const Tensor& half, FpropContext& context) const;

  std::int64_t output_dims_;
  Branch f_, g_;
  std::shared_ptr<Layer> pool_;  // null for stride 1
};

}  // namespace trivet::vision
