// SPDX-License-Identifier: Apache-2.0
// SplitProduct: a product whose weights are split over mdl, for the layer around it, which passes
// blocks of activations from one product to the next instead of whole tensors.
//
//   columns   w [in, out / blocks]: whole x to blocks of y
//   rows      w [in / blocks, out]: blocks of x to whole y
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "trivet/layer.h"

namespace trivet::nn {

class SplitProduct {
 public:
  // y [.., out / blocks] of each block, bias and activation included, of x [.., in] and its
  // ops::fan_out. Of a product of columns. [run-thread]
  virtual std::vector<Tensor> columns(const Tensor& x, std::span<const Tensor> x_blocks,
                                      FpropContext& context) = 0;
  // y [.., out] of the blocks of x, [.., in / blocks] each. Of a product of rows. [run-thread]
  virtual Tensor rows(std::span<const Tensor> x_blocks, FpropContext& context) = 0;

 protected:
  ~SplitProduct() = default;
};

// Id for Layer::extension of a layer that is a SplitProduct; null if its weights are whole.
inline constexpr std::string_view kSplitProduct = "trivet.nn.split_product/1";

// What columns() and rows() of a layer give, computed under a checkpoint name
// (trivet/ops/remat_keeps.h). They throw Error for a layer whose weights are whole.
std::vector<Tensor> named_columns(std::string_view name, Layer& product, const Tensor& x,
                                  std::span<const Tensor> x_blocks, FpropContext& context);
Tensor named_rows(std::string_view name, Layer& product, std::span<const Tensor> x_blocks,
                  FpropContext& context);

}  // namespace trivet::nn
