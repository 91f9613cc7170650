// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/embedding.h"

#include <cmath>

#include "nn/basic/checks.h"
#include "nn/split/axis_split.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kEmbedding = "nn/Embedding";

Shape sized(const EmbeddingConfig& config, const Scope& scope) {
  return {expect_set(kEmbedding, scope.path(), "num_classes", config.num_classes),
          expect_set(kEmbedding, scope.path(), "input_dims", config.input_dims)};
}

}  // namespace

Embedding::Embedding(const Config& config, Scope& scope)
    : path_(scope.path()),
      scale_(config.scale_sqrt_depth ? std::sqrt(static_cast<float>(config.input_dims)) : 1),
      table_(scope.parameter(
          "table", sized(config, scope),
          {.init = config.init,
           .fallback = {Init::normal, 1 / std::sqrt(static_cast<double>(config.input_dims))},
           .blocks = split_of(config.weight_split_dims_mapping.wt, sized(config, scope), scope,
                              "weight_split_dims_mapping.wt")
                         .axis.extent()})) {}

Tensor Embedding::fprop(const Tensor& ids, FpropContext&) {
  if (ids.dtype() != DType::i32) wrong_input(kEmbedding, path_, "ids of type i32", ids);
  const Tensor rows = ops::gather_rows(table_.value(), ids);
  return scale_ == 1 ? rows : ops::mul(rows, scale_);
}

}  // namespace trivet::nn
