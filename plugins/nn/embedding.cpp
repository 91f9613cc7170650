// SPDX-License-Identifier: Apache-2.0
#include "embedding.h"

#include <cmath>

#include "checks.h"
#include "trivet/extend_step.h"
#include "trivet/ops.h"

namespace trivet::nn {

Embedding::Embedding(const Config& config, Scope& scope)
    : path_(scope.path()),
      scale_(config.scale_sqrt_depth ? std::sqrt(static_cast<float>(config.input_dims)) : 1),
      table_(scope.parameter(
          "table", {config.num_classes, config.input_dims},
          {.init = config.init,
           .fallback = {Init::normal, 1 / std::sqrt(static_cast<double>(config.input_dims))}})) {}

Tensor Embedding::fprop(const Tensor& ids, FpropContext&) {
  if (ids.dtype() != DType::i32) wrong_input("nn/Embedding", path_, "ids of type i32", ids);
  const Tensor rows = ops::gather_rows(table_.value(), ids);
  return scale_ == 1 ? rows : ops::mul(rows, scale_);
}

const void* Embedding::extension(std::string_view id) const noexcept {
  return id == kLayerLocalInTime ? this : nullptr;
}

}  // namespace trivet::nn
