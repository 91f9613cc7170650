// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling over images; one spatial axis becomes an image of height 1.
#include <algorithm>

#include "onnx_layers.h"

namespace trivet::test::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

Value list(const Numbers& numbers) {
  Value items = Value::array();
  for (const std::int64_t number : numbers) items.push_back(number);
  return items;
}

// Returns two axes; adds the first if there is only one.
Numbers both(Numbers numbers, std::int64_t otherwise) {
  if (numbers.empty()) return {otherwise, otherwise};
  if (numbers.size() == 1) numbers.insert(numbers.begin(), otherwise);
  return numbers;
}

Array as_image(const Array& x) {
  Numbers dims = x.dims;
  if (dims.size() == 3) dims.insert(dims.begin() + 2, 1);
  if (dims.size() != 4) throw NoCounterpart("three spatial axes");
  return channels_last(reshaped(x, dims));
}

Array from_image(const Tensor& y, std::size_t rank) {
  Array out = channels_first(array_of(y));
  if (rank == 3) out.dims.erase(out.dims.begin() + 2);
  return out;
}

// Sets "padding" and "pad", the same on both sides.
void set_padding(const LayerCall& c, std::size_t axes, Value& fields) {
  const std::string automatic = c.node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_LOWER") throw NoCounterpart("the odd zero in front");
  if (automatic != "NOTSET") {
    fields.set("padding", automatic == "VALID" ? "valid" : "same");
    return;
  }
  const Numbers pads = c.node.integers("pads", Numbers(2 * axes, 0));
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  if (!std::equal(pads.begin(), half, half)) throw NoCounterpart("padding on one side");
  fields.set("padding", "explicit");
  fields.set("pad", list(both({pads.begin(), half}, 0)));
}

Arrays convolved(const LayerCall& c) {
  if (c.node.integer("group", 1) != 1) throw NoCounterpart("a layer that convolves in groups");
  const Array& filters = c.input(1);
  const std::size_t axes = filters.dims.size() - 2;
  const Array image = as_image(c.input(0));
  // [Cout, Cin, KH, KW] -> [KH, KW, Cin, Cout]
  Numbers dims = filters.dims;
  if (axes == 1) dims.insert(dims.begin() + 2, 1);
  const Array w = turned(reshaped(filters, dims), {2, 3, 1, 0});
  Value fields = Value::table({{"input_dims", w.dims[2]},
                               {"output_dims", w.dims[3]},
                               {"kernel", list({w.dims[0], w.dims[1]})},
                               {"stride", list(both(c.node.integers("strides"), 1))},
                               {"dilation", list(both(c.node.integers("dilations"), 1))},
                               {"has_bias", c.has(2)}});
  set_padding(c, axes, fields);
  const LayerFixture layer = c.layer("Conv2d", fields);
  layer.set("w", floats(w));
  if (c.has(2)) layer.set("b", floats(c.input(2)));
  return {from_image(layer.fprop(tensor_of(layer, image)), c.input(0).dims.size())};
}

Arrays pooled(const LayerCall& c, const char* name) {
  if (c.node.outputs.size() > 1 || c.node.integer("ceil_mode", 0) != 0) {
    throw NoCounterpart("indices of pooling, or extents rounded up");
  }
  for (const std::int64_t dilation : c.node.integers("dilations")) {
    if (dilation != 1) throw NoCounterpart("a pooling layer with dilation");
  }
  const Array image = as_image(c.input(0));
  const Numbers window = c.node.integers("kernel_shape");
  Value fields = Value::table(
      {{"window", list(both(window, 1))}, {"stride", list(both(c.node.integers("strides"), 1))}});
  set_padding(c, window.size(), fields);
  const Value* pad = fields.find("pad");
  const bool is_padded = pad != nullptr ? *pad != list({0, 0}) : false;
  if (is_padded && c.node.integer("count_include_pad", 0) != 0) {
    throw NoCounterpart("padding that counts");
  }
  const LayerFixture layer = c.layer(name, fields);
  return {from_image(layer.fprop(tensor_of(layer, image)), c.input(0).dims.size())};
}

Arrays mean_of_all(const LayerCall& c) {
  const LayerFixture layer = c.layer("GlobalAvgPool2d", Value::table());
  Array y = array_of(layer.fprop(tensor_of(layer, as_image(c.input(0)))));
  y.dims.resize(c.input(0).dims.size(), 1);
  return {y};
}

}  // namespace

void add_window_layers(LayerOperators& all) {
  all["Conv"] = convolved;
  all["MaxPool"] = [](const LayerCall& c) { return pooled(c, "MaxPool2d"); };
  all["AveragePool"] = [](const LayerCall& c) { return pooled(c, "AvgPool2d"); };
  all["GlobalAveragePool"] = mean_of_all;
}

}  // namespace trivet::test::onnx
