// SPDX-License-Identifier: Apache-2.0
#include "onnx_layers.h"

#include <numeric>

namespace trivet::test::onnx {
namespace {

std::int64_t size_of(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

Arrays applied(const LayerCall& c, const std::string& name, Value fields = Value::table()) {
  const LayerFixture layer = c.layer(name, std::move(fields));
  return {array_of(layer.fprop(tensor_of(layer, c.input(0))))};
}

void plain(LayerOperators& all, const char* op, const char* layer) {
  all[op] = [layer](const LayerCall& c) { return applied(c, layer); };
}

// y = x w + b.
Arrays gemm(const LayerCall& c) {
  const bool by_vector = !c.has(2) || c.input(2).dims.size() == 1;
  if (c.node.integer("transA", 0) != 0 || c.node.number("alpha", 1) != 1 ||
      c.node.number("beta", 1) != 1 || !by_vector) {
    throw NoCounterpart("Gemm that is no linear layer");
  }
  const Array w = c.node.integer("transB", 0) != 0 ? turned(c.input(1), {1, 0}) : c.input(1);
  if (c.has(2) && c.dim(2, 0) != w.dims[1]) throw NoCounterpart("a bias of one number");
  const LayerFixture layer = c.layer("Linear", Value::table({{"input_dims", w.dims[0]},
                                                             {"output_dims", w.dims[1]},
                                                             {"has_bias", c.has(2)}}));
  layer.set("w", floats(w));
  if (c.has(2)) layer.set("b", floats(c.input(2)));
  return {array_of(layer.fprop(tensor_of(layer, c.input(0))))};
}

Arrays flattened(const LayerCall& c) {
  if (c.node.integer("axis", 1) != 1) throw NoCounterpart("Flatten that keeps not one axis");
  return applied(c, "Flatten");
}

// Outside training.
Arrays dropout(const LayerCall& c) {
  if (c.node.outputs.size() > 1 || c.has(2)) throw NoCounterpart("Dropout with a mask");
  return applied(c, "Dropout", Value::table({{"rate", 0.5}}));
}

}  // namespace

const Array& LayerCall::input(std::size_t i) const {
  if (!has(i)) throw NoCounterpart("input " + std::to_string(i) + " is left out");
  if (inputs[i]->type != Type::f32) throw NoCounterpart(node.op + " of another type than f32");
  return *inputs[i];
}

LayerFixture LayerCall::layer(const std::string& name, Value fields) const {
  return {backend, {"nn/" + name, std::move(fields)}};
}

std::vector<float> floats(const Array& array) {
  std::vector<float> values;
  for (const double value : array.values) values.push_back(static_cast<float>(value));
  return values;
}

Tensor tensor_of(const LayerFixture& layer, const Array& x) {
  return layer.tensor(floats(x), Shape(std::span<const std::int64_t>(x.dims)));
}

Array array_of(const Tensor& x) {
  const std::vector<float> values = x.to_host<float>();
  Array array;
  array.dims.assign(x.shape().begin(), x.shape().end());
  array.values.assign(values.begin(), values.end());
  return array;
}

Array turned(const Array& x, const std::vector<std::size_t>& order) {
  const std::size_t rank = order.size();
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t i = rank - 1; i > 0; --i) strides[i - 1] = strides[i] * x.dims[i];
  Array out = x;
  for (std::size_t i = 0; i < rank; ++i) out.dims[i] = x.dims[order[i]];
  std::vector<std::int64_t> at(rank, 0);
  for (double& value : out.values) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) from += at[i] * strides[order[i]];
    value = x.values[static_cast<std::size_t>(from)];
    for (std::size_t i = rank; i-- > 0;) {
      if (++at[i] < out.dims[i]) break;
      at[i] = 0;
    }
  }
  return out;
}

Array channels_last(const Array& x) {
  std::vector<std::size_t> order{0};
  for (std::size_t i = 2; i < x.dims.size(); ++i) order.push_back(i);
  order.push_back(1);
  return turned(x, order);
}

Array channels_first(const Array& y) {
  std::vector<std::size_t> order{0, y.dims.size() - 1};
  for (std::size_t i = 1; i + 1 < y.dims.size(); ++i) order.push_back(i);
  return turned(y, order);
}

Array reshaped(Array x, std::vector<std::int64_t> dims) {
  if (size_of(dims) != size_of(x.dims)) throw std::logic_error("a shape of another size");
  x.dims = std::move(dims);
  return x;
}

const LayerOperators& layer_operators() {
  static const LayerOperators all = [] {
    LayerOperators made;
    plain(made, "Relu", "Relu");
    plain(made, "Tanh", "Tanh");
    plain(made, "Sigmoid", "Sigmoid");
    plain(made, "Softplus", "Softplus");
    plain(made, "Exp", "Exp");
    made["Elu"] = [](const LayerCall& c) {
      const auto alpha = static_cast<double>(c.node.number("alpha", 1));
      return applied(c, "Elu", Value::table({{"alpha", alpha}}));
    };
    made["LeakyRelu"] = [](const LayerCall& c) {
      const auto slope = static_cast<double>(c.node.number("alpha", 0.01F));
      return applied(c, "LeakyRelu", Value::table({{"negative_slope", slope}}));
    };
    made["Gemm"] = gemm;
    made["Flatten"] = flattened;
    made["Dropout"] = dropout;
    add_recurrent_layers(made);
    add_norm_layers(made);
    add_window_layers(made);
    return made;
  }();
  return all;
}

}  // namespace trivet::test::onnx
