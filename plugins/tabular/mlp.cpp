// SPDX-License-Identifier: Apache-2.0
#include "mlp.h"

#include <algorithm>
#include <cmath>

#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::tabular {
namespace {

std::int64_t embedding_depth(std::int64_t size) {
  const double depth = std::round(1.6 * std::pow(static_cast<double>(size), 0.56));
  return std::min<std::int64_t>(600, static_cast<std::int64_t>(depth));
}

ConfigOf<Layer> linear(std::int64_t input_dims, std::int64_t output_dims,
                       const ConfigOf<Layer>& activation, const InitConfig& init) {
  Value fields = Value::table({{"input_dims", input_dims}, {"output_dims", output_dims}});
  if (activation) fields.set("activation", activation.to_value());
  fields.set("init", encode(init));
  return {"nn/Linear", std::move(fields)};
}

const Tensor& expect_field(const Batch& batch, const char* name, DType dtype, std::int64_t width) {
  const Tensor& tensor = batch.at(name);
  if (tensor.dtype() == dtype && tensor.rank() == 2 && tensor.dim(1) == width) return tensor;
  throw Error(std::string("tabular/Mlp: expected ") + name + " [B, " + std::to_string(width) +
              "], got " + tensor.to_string());
}

}  // namespace

Mlp::Mlp(const Config& config, Scope& scope) : number_features_(config.number_features) {
  if (config.output_dims == 0 || (number_features_ == 0 && config.category_sizes.empty())) {
    throw Error("tabular/Mlp: the sizes of its input and output are not set",
                {.hint = "a tabular task sets them; elsewhere set number_features or "
                         "category_sizes, and output_dims"});
  }
  std::int64_t dims = number_features_;
  for (const std::int64_t size : config.category_sizes) {
    const std::int64_t depth =
        config.embedding_dims > 0 ? config.embedding_dims : embedding_depth(size);
    embeddings_.push_back(scope.layer(
        "embedding_" + std::to_string(embeddings_.size()),
        {"nn/Embedding", Value::table({{"num_classes", size}, {"input_dims", depth}})}));
    dims += depth;
  }
  for (std::size_t i = 0; i < config.hidden_dims.size(); ++i) {
    const std::string number = std::to_string(i);
    layers_.push_back(scope.layer(
        "hidden_" + number, linear(dims, config.hidden_dims[i], config.activation, config.init)));
    if (config.dropout > 0) {
      layers_.push_back(scope.layer("dropout_" + number,
                                    {"nn/Dropout", Value::table({{"rate", config.dropout}})}));
    }
    dims = config.hidden_dims[i];
  }
  layers_.push_back(scope.layer("output", linear(dims, config.output_dims, {}, config.init)));
}

Tensor Mlp::features(const Batch& batch, FpropContext& context) {
  std::vector<Tensor> parts;
  if (number_features_ > 0) {
    parts.push_back(expect_field(batch, "numbers", DType::f32, number_features_));
  }
  if (!embeddings_.empty()) {
    const auto columns = static_cast<std::int64_t>(embeddings_.size());
    const Tensor& ids = expect_field(batch, "categories", DType::i32, columns);
    for (std::int64_t i = 0; i < columns; ++i) {
      const Tensor column = ops::contiguous(ops::slice(ids, 1, i, i + 1));
      parts.push_back(embeddings_[static_cast<std::size_t>(i)]->fprop(
          ops::reshape(column, {ids.dim(0)}), context));
    }
  }
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 1);
}

NestedMap Mlp::fprop(const Batch& batch, FpropContext& context) {
  Tensor x = features(batch, context);
  for (const auto& layer : layers_) x = layer->fprop(x, context);
  return {{"logits", x}};
}

}  // namespace trivet::tabular
