// SPDX-License-Identifier: Apache-2.0
// ONNX operators implemented by layers of plugin nn, for the data sets of ONNX's backend tests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/layer_fixture.h"
#include "support/onnx/onnx_data.h"

namespace trivet::test::onnx {

// A node and its inputs.
struct LayerCall {
  const Node& node;
  std::vector<const Array*> inputs;  // null for an omitted one
  const std::string& backend;
  std::int64_t opset;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  // Input i, which must be of f32.
  const Array& input(std::size_t i) const;
  std::int64_t dim(std::size_t i, std::size_t axis) const { return input(i).dims.at(axis); }
  LayerFixture layer(const std::string& name, Value fields) const;
};

using Arrays = std::vector<Array>;
using LayerOperators = std::map<std::string, std::function<Arrays(const LayerCall&)>>;

const LayerOperators& layer_operators();
void add_recurrent_layers(LayerOperators& all);
void add_norm_layers(LayerOperators& all);
void add_window_layers(LayerOperators& all);

std::vector<float> floats(const Array& array);
Array array_of(const Tensor& x);
// Axes in another order.
Array turned(const Array& x, const std::vector<std::size_t>& order);
// Moves channels to the end; below, back to the front.
Array channels_last(const Array& x);
Array channels_first(const Array& y);
Array reshaped(Array x, std::vector<std::int64_t> dims);
Tensor tensor_of(const LayerFixture& layer, const Array& x);

}  // namespace trivet::test::onnx
