// SPDX-License-Identifier: Apache-2.0
#include "onnx_layers.h"

namespace trivet::test::onnx {
namespace {

double epsilon_of(const LayerCall& c) {
  return static_cast<double>(c.node.number("epsilon", 1e-5F));
}

Arrays batch_normalized(const LayerCall& c) {
  const bool trains = c.node.integer("training_mode", 0) != 0;
  const LayerFixture layer =
      c.layer("BatchNorm", Value::table({{"dim", c.dim(1, 0)},
                                         {"momentum", c.node.number("momentum", 0.9F)},
                                         {"epsilon", epsilon_of(c)}}));
  layer.set("gamma", floats(c.input(1)));
  layer.set("beta", floats(c.input(2)));
  layer.set("moving_mean", floats(c.input(3)));
  layer.set("moving_variance", floats(c.input(4)));
  const Tensor y = layer.fprop(tensor_of(layer, channels_last(c.input(0))), trains);
  Arrays out{channels_first(array_of(y))};
  if (trains) {
    out.push_back(array_of(layer.parameter("moving_mean").value()));
    out.push_back(array_of(layer.parameter("moving_variance").value()));
  }
  return out;
}

// Normalizes the axes as one. A layer returns neither mean nor deviation.
Arrays layer_normalized(const LayerCall& c) {
  const Array& x = c.input(0);
  const std::int64_t rank = std::ssize(x.dims), given = c.node.integer("axis", -1);
  const std::int64_t axis = given < 0 ? given + rank : given;
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= x.dims[static_cast<std::size_t>(i)];
  const std::int64_t depth = std::ssize(x.values) / rows;
  const LayerFixture layer =
      c.layer("LayerNorm",
              Value::table({{"dim", depth}, {"epsilon", epsilon_of(c)}, {"use_bias", c.has(2)}}));
  layer.set("scale", floats(c.input(1)));
  if (c.has(2)) layer.set("bias", floats(c.input(2)));
  const Tensor y = layer.fprop(tensor_of(layer, reshaped(x, {rows, depth})));
  return {reshaped(array_of(y), x.dims)};
}

// Normalizes each channel separately.
Arrays instance_normalized(const LayerCall& c) {
  const std::int64_t channels = c.dim(1, 0);
  const LayerFixture layer = c.layer(
      "GroupNorm",
      Value::table({{"dim", channels}, {"num_groups", channels}, {"epsilon", epsilon_of(c)}}));
  layer.set("scale", floats(c.input(1)));
  layer.set("bias", floats(c.input(2)));
  return {channels_first(array_of(layer.fprop(tensor_of(layer, channels_last(c.input(0))))))};
}

}  // namespace

void add_norm_layers(LayerOperators& all) {
  all["BatchNormalization"] = batch_normalized;
  all["LayerNormalization"] = layer_normalized;
  all["InstanceNormalization"] = instance_normalized;
}

}  // namespace trivet::test::onnx
