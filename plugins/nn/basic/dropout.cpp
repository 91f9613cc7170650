// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/dropout.h"

#include "trivet/ops.h"

namespace trivet::nn {

Dropout::Dropout(const Config& config, Scope& scope)
    : path_(scope.path()), rate_(static_cast<float>(config.rate)) {}

Tensor Dropout::fprop(const Tensor& x, FpropContext& context) {
  if (!context.train || rate_ == 0) return x;
  return ops::dropout(x, rate_, context.key_for(path_, "dropout"));
}

}  // namespace trivet::nn
