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

std::vector<Tensor> DropPath::fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) {
  std::vector<Tensor> y(x.size());
  FpropContext together = cut.whole();
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = fprop(x[i], together);
  return y;
}

const void* DropPath::extension(std::string_view id) const noexcept {
  if (id == kLayerSequenceBlocks) return static_cast<const SequenceBlocks*>(this);
  return LocalLayer::extension(id);
}

}  // namespace trivet::nn
