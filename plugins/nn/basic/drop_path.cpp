// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/drop_path.h"

#include <vector>

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {

DropPath::DropPath(const Config& config, Scope& scope)
    : path_(scope.path()), rate_(static_cast<float>(config.rate)) {}

Tensor DropPath::fprop(const Tensor& x, FpropContext& context) {
  if (!context.train || rate_ == 0) return x;
  if (x.rank() == 0) wrong_input("nn/DropPath", path_, "[B, ..]", x);
  std::vector<std::int64_t> examples(static_cast<std::size_t>(x.rank()), 1);
  examples[0] = x.dim(0);
  const Tensor ones = Tensor::full(x.device(), Shape(examples), 1);
  return ops::mul(x, ops::dropout(ones, rate_, context.key_for(path_, "drop_path")));
}

}  // namespace trivet::nn
