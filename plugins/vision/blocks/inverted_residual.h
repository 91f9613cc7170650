// SPDX-License-Identifier: Apache-2.0
// An inverted residual block (Sandler et al. 2018, table 1), images [B, H, W, input_dims] ->
// [B, ceil(H / stride), ceil(W / stride), output_dims]:
//
//   expand: a 1 x 1 convolution with expansion * input_dims filters, unless expansion is 1;
//   depthwise: a 3 x 3 filter for each channel, with the stride;
//   project: a 1 x 1 convolution with output_dims filters.
//
// Each has no bias and is followed by a BatchNorm; the first two also by a relu6. Where the shape
// does not change, the input is added.
//
// Names below the block's: "expand/w", "expand_norm/gamma", "depthwise/w", "project/w", ...
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trivet/layer.h"
#include "vision/blocks/residual_block.h"

namespace trivet::vision {

struct Filters {
  std::int64_t input_dims, output_dims, kernel, stride = 1, groups = 1;
};
// A centered convolution without bias; its weights start normal with variance 2 / (kernel^2
// output_dims) unless `init` is set.
ConfigOf<Layer> filters_of(const Filters& filters, const InitConfig& init);

class InvertedResidual {
 public:
  InvertedResidual(std::int64_t input_dims, std::int64_t output_dims, std::int64_t expansion,
                   std::int64_t stride, const ResidualOptions& options, const Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context);

 private:
  bool adds_input_;
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace trivet::vision
