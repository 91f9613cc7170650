// SPDX-License-Identifier: Apache-2.0
#include "nn/split/split_product.h"

#include "trivet/error.h"
#include "trivet/ops/remat_keeps.h"

namespace trivet::nn {
namespace {

SplitProduct& split_product(Layer& layer) {
  // The extension is the layer itself, which is const here for its `extension` only.
  auto* product =
      const_cast<SplitProduct*>(static_cast<const SplitProduct*>(layer.extension(kSplitProduct)));
  if (product == nullptr) throw Error("the weights of a product that is to be split are whole");
  return *product;
}

}  // namespace

std::vector<Tensor> named_columns(std::string_view name, Layer& product, const Tensor& x,
                                  std::span<const Tensor> x_blocks, FpropContext& context) {
  const CheckpointName named(name);
  return split_product(product).columns(x, x_blocks, context);
}

Tensor named_rows(std::string_view name, Layer& product, std::span<const Tensor> x_blocks,
                  FpropContext& context) {
  const CheckpointName named(name);
  return split_product(product).rows(x_blocks, context);
}

}  // namespace trivet::nn
