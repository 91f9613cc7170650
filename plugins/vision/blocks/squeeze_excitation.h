// SPDX-License-Identifier: Apache-2.0
// Squeeze and excitation (Hu et al. 2018): each channel of an image times a gate that depends on
// the means of all channels. x [B, H, W, dims] -> the same shape:
//
//   y = x * sigmoid(expand(relu(reduce(mean of x over the pixels))))
//
// reduce gives max(1, floor(dims * ratio)) numbers; both products have biases.
//
// Names below the part's: "reduce/w", "reduce/b", "expand/w", "expand/b".
#pragma once

#include <cstdint>
#include <memory>

#include "trivet/layer.h"

namespace trivet::vision {

class SqueezeExcitation {
 public:
  SqueezeExcitation(std::int64_t dims, double ratio, const InitConfig& init, const Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) const;

 private:
  std::shared_ptr<Layer> pool_, reduce_, expand_;
};

}  // namespace trivet::vision
