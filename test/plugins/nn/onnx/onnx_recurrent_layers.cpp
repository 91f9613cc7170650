// SPDX-License-Identifier: Apache-2.0
// ONNX has weights [directions, gates * H, ..] and separate biases of input and state. Its gates
// are in the order i, o, f, c (LSTM) and z, r, h (GRU).
#include <algorithm>

#include "onnx_layers.h"

namespace trivet::test::onnx {
namespace {

using Gates = std::vector<std::size_t>;  // of ONNX, in trivet's order

struct Recurrent {
  explicit Recurrent(const LayerCall& call, std::size_t gates)
      : c(call),
        batch_first(call.node.integer("layout", 0) == 1),
        hidden(call.dim(2, 2)),
        inputs(call.dim(1, 2)),
        x(batch_first ? call.input(0) : turned(call.input(0), {1, 0, 2})) {
    if (c.dim(1, 0) != 1) throw NoCounterpart("two directions");
    const std::string direction = c.node.text("direction", "forward");
    reverse = direction == "reverse";
    if (c.node.has("activations") || c.node.has("clip")) throw NoCounterpart("other activations");
    if (c.has(4) && !all_are(*c.inputs[4], x.dims[1])) throw NoCounterpart("sequences of lengths");
    if (c.has(5) && !all_are(*c.inputs[5], 0)) throw NoCounterpart("a state to start with");
    if (c.has(3)) bias = floats(c.input(3));
    bias.resize(2 * gates * size(), 0);
  }

  static bool all_are(const Array& array, std::int64_t wanted) {
    return std::ranges::all_of(array.values,
                               [&](double v) { return v == static_cast<double>(wanted); });
  }
  std::size_t size() const { return static_cast<std::size_t>(hidden); }
  Value fields() const {
    return Value::table({{"input_dims", inputs}, {"output_dims", hidden}, {"reverse", reverse}});
  }

  // w [1, gates * H, n] -> [n, gates * H] with the gates in trivet's order.
  std::vector<float> weights(std::size_t input, const Gates& order) const {
    const Array& w = c.input(input);
    const auto n = static_cast<std::size_t>(w.dims[2]);
    std::vector<float> out;
    for (std::size_t row = 0; row < n; ++row) {
      for (const std::size_t gate : order) {
        for (std::size_t i = 0; i < size(); ++i) {
          out.push_back(static_cast<float>(w.values[(gate * size() + i) * n + row]));
        }
      }
    }
    return out;
  }
  // Element i of the bias of a gate: that of the input, or that of the state.
  float bias_at(std::size_t gate, std::size_t i, bool of_state) const {
    const std::size_t half = of_state ? bias.size() / 2 : 0;
    return bias[half + gate * size() + i];
  }

  // Y [T, 1, B, H] and the last state [1, B, H], or, batches first, [B, T, 1, H] and [B, 1, H].
  Arrays outputs(const LayerFixture& layer) const {
    const Array y = array_of(layer.fprop(tensor_of(layer, x)));
    const std::int64_t batch = y.dims[0], positions = y.dims[1];
    Array last;
    last.dims = {1, batch, hidden};
    for (std::int64_t row = 0; row < batch; ++row) {
      const std::int64_t position = reverse ? 0 : positions - 1;
      const auto at = y.values.begin() + (row * positions + position) * hidden;
      last.values.insert(last.values.end(), at, at + hidden);
    }
    if (batch_first) {
      return {reshaped(y, {batch, positions, 1, hidden}), reshaped(last, {batch, 1, hidden})};
    }
    return {reshaped(turned(y, {1, 0, 2}), {positions, 1, batch, hidden}), last};
  }

  const LayerCall& c;
  bool batch_first, reverse = false;
  std::int64_t hidden, inputs;
  Array x;  // [B, T, inputs]
  std::vector<float> bias{};
};

Arrays lstm(const LayerCall& c) {
  const Recurrent r(c, 4);
  if (c.has(7)) throw NoCounterpart("peepholes");
  if (c.has(6) && !Recurrent::all_are(*c.inputs[6], 0)) throw NoCounterpart("a cell to start with");
  if (c.node.integer("input_forget", 0) != 0) throw NoCounterpart("coupled gates");
  const Gates order{3, 0, 2, 1};
  Value fields = r.fields();
  fields.set("cell_value_cap", 0.0);
  const LayerFixture layer = c.layer("Lstm", fields);
  std::vector<float> wm = r.weights(1, order), of_state = r.weights(2, order), b;
  wm.insert(wm.end(), of_state.begin(), of_state.end());
  for (const std::size_t gate : order) {
    for (std::size_t i = 0; i < r.size(); ++i) {
      b.push_back(r.bias_at(gate, i, false) + r.bias_at(gate, i, true));
    }
  }
  layer.set("wm", wm);
  layer.set("b", b);
  return r.outputs(layer);
}

// The reset gate comes after the product with the state, as in ONNX with linear_before_reset.
// Without it, only a single position, whose state is 0, gives the same result.
Arrays gru(const LayerCall& c) {
  const Recurrent r(c, 3);
  const bool behind = c.node.integer("linear_before_reset", 0) != 0;
  if (!behind && r.x.dims[1] > 1) throw NoCounterpart("a reset gate in front of the product");
  const Gates order{1, 0, 2};
  const LayerFixture layer = c.layer("Gru", r.fields());
  std::vector<float> b, of_state;
  for (const std::size_t gate : order) {
    for (std::size_t i = 0; i < r.size(); ++i) {
      const bool apart = gate == 2 && behind;
      const float state = r.bias_at(gate, i, true);
      b.push_back(r.bias_at(gate, i, false) + (apart ? 0 : state));
      if (gate == 2) of_state.push_back(apart ? state : 0);
    }
  }
  layer.set("w", r.weights(1, order));
  layer.set("u", r.weights(2, order));
  layer.set("b", b);
  layer.set("c", of_state);
  return r.outputs(layer);
}

}  // namespace

void add_recurrent_layers(LayerOperators& all) {
  all["LSTM"] = lstm;
  all["GRU"] = gru;
}

}  // namespace trivet::test::onnx
