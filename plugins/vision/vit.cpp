// SPDX-License-Identifier: Apache-2.0
#include "vit.h"

#include <cmath>
#include <span>

#include "trivet/ops.h"
#include "vision/blocks/image_shape.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {
namespace {

InitConfig init_or(const InitConfig& init, Init method, double scale = 1) {
  return init.method == Init::layer_default ? InitConfig{method, scale} : init;
}

// The number of positions in the sequence.
std::int64_t length_of(const VitConfig& config) {
  const std::int64_t rows = config.image_shape[0] / config.patch,
                     columns = config.image_shape[1] / config.patch;
  return rows * columns + (config.pooling == VitPooling::class_token ? 1 : 0);
}

// Rows for the class token, if there is one, and each patch.
std::vector<float> grid_positions(const VitConfig& config) {
  const std::int64_t rows = config.image_shape[0] / config.patch,
                     columns = config.image_shape[1] / config.patch, n = config.model_dims / 4;
  std::vector<float> table;
  if (config.pooling == VitPooling::class_token) {
    table.assign(static_cast<std::size_t>(config.model_dims), 0.0f);
  }
  const auto add = [&](std::int64_t at, std::int64_t count) {
    const double centered = static_cast<double>(at) - static_cast<double>(count) / 2;
    const auto angle = [&](std::int64_t i) {
      return centered / std::pow(10000.0, static_cast<double>(i) / static_cast<double>(n));
    };
    for (std::int64_t i = 0; i < n; ++i) table.push_back(static_cast<float>(std::sin(angle(i))));
    for (std::int64_t i = 0; i < n; ++i) table.push_back(static_cast<float>(std::cos(angle(i))));
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      add(row, rows);
      add(column, columns);
    }
  }
  return table;
}

ConfigOf<Layer> patches(const VitConfig& config) {
  return {"nn/Conv2d", Value::table({{"input_dims", config.image_shape[2]},
                                     {"output_dims", config.model_dims},
                                     {"kernel", Value::array({config.patch})},
                                     {"stride", Value::array({config.patch})},
                                     {"padding", "valid"},
                                     {"init", encode(init_or(config.init, Init::lecun_normal))}})};
}

ConfigOf<Layer> block(const VitConfig& config, std::int64_t i) {
  const double rate = config.init_stochastic_depth_rate * static_cast<double>(i + 1) /
                      static_cast<double>(config.depth);
  Value fields = Value::table({{"input_dims", config.model_dims},
                               {"hidden_dims", config.hidden_dims},
                               {"num_heads", config.num_heads},
                               {"dropout", config.dropout},
                               {"residual_droppath_prob", rate},
                               {"init", encode(config.init)}});
  fields.set("activation", config.activation ? config.activation.to_value() : Value("none"));
  return {"nn/TransformerBlock", std::move(fields)};
}

}  // namespace

void VitConfig::validate(Diagnostics& diagnostics) const {
  check_image_shape(diagnostics, image_shape);
  if (model_dims % num_heads != 0) {
    diagnostics.add("num_heads",
                    "is " + std::to_string(num_heads) +
                        ", which does not divide model_dims = " + std::to_string(model_dims));
  }
  if (position_emb == VitPositions::sincos_2d && model_dims % 4 != 0) {
    diagnostics.add("model_dims",
                    "is " + std::to_string(model_dims) +
                        ", and position_emb = \"sincos_2d\" needs a multiple of 4",
                    "a sine and a cosine of row and of column");
  }
  if (image_shape.size() != 3) return;
  if (image_shape[0] % patch == 0 && image_shape[1] % patch == 0) return;
  diagnostics.add("patch", "is " + std::to_string(patch) + ", which does not divide an image of " +
                               std::to_string(image_shape[0]) + " x " +
                               std::to_string(image_shape[1]) + " pixels");
}

Vit::Vit(const Config& config, Scope& scope)
    : image_shape_(config.image_shape),
      dims_(config.model_dims),
      patches_(scope.layer("patches", patches(config))),
      class_token_(config.pooling == VitPooling::class_token
                       ? &scope.parameter("class_token", {1, 1, config.model_dims},
                                          {.init = init_or(config.init, Init::constant, 0)})
                       : nullptr),
      positions_(config.position_emb == VitPositions::learned
                     ? &scope.parameter("positions", {length_of(config), config.model_dims},
                                        {.init = init_or(config.init, Init::normal, 0.02)})
                     : nullptr) {
  if (positions_ == nullptr) fixed_positions_ = grid_positions(config);
  if (config.dropout > 0) dropout_ = scope.layer("dropout", dropout(config.dropout));
  for (std::int64_t i = 0; i < config.depth; ++i) {
    blocks_.push_back(scope.layer("block_" + std::to_string(i), block(config, i)));
  }
  norm_ = scope.layer("norm", {"nn/LayerNorm", Value::table({{"dim", config.model_dims}})});
  const std::int64_t dims =
      config.representation_dims > 0 ? config.representation_dims : config.model_dims;
  if (config.representation_dims > 0) {
    representation_ = scope.layer(
        "representation",
        linear(config.model_dims, dims, "nn/Tanh", init_or(config.init, Init::lecun_normal)));
  }
  output_ = scope.layer(
      "output", linear(dims, config.num_classes, {}, init_or(config.init, Init::constant, 0)));
}

NestedMap Vit::fprop(const Batch& batch, FpropContext& context) {
  const Tensor& image = expected_image("vision/Vit", batch, image_shape_);
  const Tensor grid = patches_->fprop(image, context);  // [B, rows, columns, dims]
  Tensor x = ops::reshape(grid, {grid.dim(0), grid.dim(1) * grid.dim(2), dims_});
  if (class_token_ != nullptr) {
    const Tensor token = ops::expand(class_token_->value(), {x.dim(0), 1, dims_});
    x = ops::concat(std::vector<Tensor>{token, x}, 1);
  }
  x = ops::add(x, positions_ != nullptr
                      ? positions_->value()
                      : Tensor::from(x.device(), std::span<const float>(fixed_positions_),
                                     {x.dim(1), dims_}));
  if (dropout_) x = dropout_->fprop(x, context);
  for (const auto& block : blocks_) x = block->fprop(x, context);
  x = norm_->fprop(x, context);
  Tensor pooled = class_token_ != nullptr ? ops::reshape(ops::slice(x, 1, 0, 1), {x.dim(0), dims_})
                                          : ops::mean(x, 1);
  if (representation_) pooled = representation_->fprop(pooled, context);
  return {{"logits", output_->fprop(pooled, context)}};
}

}  // namespace trivet::vision
