// SPDX-License-Identifier: Apache-2.0
// Recurrent layers in double, position by position, and helpers to compare with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"

namespace trivet::test::recurrent {

inline constexpr double kTolerance = 1e-5;
inline constexpr std::size_t kIn = 3, kOut = 4, kLength = 6;

// A layer with nonzero biases (they start at 0).
class Made : public LayerFixture {
 public:
  Made(const std::string& backend, const std::string& key,
       std::initializer_list<std::pair<std::string_view, Value>> more)
      : LayerFixture(backend, {key, fields(more)}) {
    std::uint64_t seed = 50;
    for (const auto& parameter : store().parameters()) {
      const std::string below = parameter->path().substr(std::string("layer/").size());
      set(below, random_values(parameter->shape().size(), ++seed));
    }
  }
  static Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value all = Value::table({{"input_dims", kIn}, {"output_dims", kOut}});
    for (const auto& [name, value] : more) all.set(name, value);
    return all;
  }

  std::vector<float> numbers() const { return random_values(2 * kLength * kIn, 3); }
  Tensor input() const { return tensor(numbers(), {2, kLength, kIn}); }
  Tensor ids(const std::vector<std::int32_t>& values) const {
    return Tensor::from<std::int32_t>(device(), values, {2, kLength});
  }
};

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

inline Row joined(const Row& a, const Row& b) {
  Row both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

// The state after one position; the first kOut of it are the output.
using Cell = std::function<Row(const Row& x, const Row& state)>;

struct LstmKind {
  double forget_bias = 0, cap = 10;
  bool coupled = false, layer_norm = false;
};

// Each of the gates normalized, then scaled and moved.
inline Row gates_normalized(const Row& gates, const std::vector<float>& scale,
                            const std::vector<float>& b) {
  Row y;
  for (std::size_t begin = 0; begin < gates.size(); begin += kOut) {
    double mean = 0, variance = 0;
    for (std::size_t d = 0; d < kOut; ++d) mean += gates[begin + d] / kOut;
    for (std::size_t d = 0; d < kOut; ++d) {
      variance += (gates[begin + d] - mean) * (gates[begin + d] - mean) / kOut;
    }
    for (std::size_t i = begin; i < begin + kOut; ++i) {
      y.push_back((gates[i] - mean) / std::sqrt(variance + 1e-8) * static_cast<double>(scale[i]) +
                  static_cast<double>(b[i]));
    }
  }
  return y;
}

inline Cell lstm(const Made& layer, const LstmKind& kind) {
  const auto scale = kind.layer_norm ? layer.values("ln_scale") : std::vector<float>();
  return [wm = layer.values("wm"), b = layer.values("b"), scale, kind](const Row& x,
                                                                       const Row& state) {
    const Row in = joined(x, Row(state.begin(), state.begin() + kOut));
    const Row gates =
        kind.layer_norm ? gates_normalized(affine(in, wm, {}), scale, b) : affine(in, wm, b);
    Row next(2 * kOut);
    for (std::size_t d = 0; d < kOut; ++d) {
      const double lets_in = sigmoid(gates[kOut + d]);
      const double keeps =
          kind.coupled ? 1 - lets_in : sigmoid(gates[2 * kOut + d] + kind.forget_bias);
      const double cell = keeps * state[kOut + d] + lets_in * std::tanh(gates[d]);
      next[kOut + d] = std::clamp(cell, -kind.cap, kind.cap);
      next[d] = sigmoid(gates[gates.size() - kOut + d]) * std::tanh(next[kOut + d]);
    }
    return next;
  };
}

inline Cell gru(const Made& layer) {
  return [w = layer.values("w"), u = layer.values("u"), b = layer.values("b"),
          c = layer.values("c")](const Row& x, const Row& h) {
    const Row of_x = affine(x, w, b), of_h = affine(h, u, {});
    Row next(kOut);
    for (std::size_t d = 0; d < kOut; ++d) {
      const double r = sigmoid(of_x[d] + of_h[d]), z = sigmoid(of_x[kOut + d] + of_h[kOut + d]);
      const double n =
          std::tanh(of_x[2 * kOut + d] + r * (of_h[2 * kOut + d] + static_cast<double>(c[d])));
      next[d] = (1 - z) * n + z * h[d];
    }
    return next;
  };
}

// The mean of a state under zoneout.
inline Cell zoned_out(const Cell& cell, double share) {
  return [cell, share](const Row& x, const Row& state) {
    Row next = cell(x, state);
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = share * state[i] + (1 - share) * next[i];
    }
    return next;
  };
}

struct Reading {
  bool reverse = false;
  std::vector<float> padding = std::vector<float>(2 * kLength, 0);
  std::vector<std::int32_t> segments = std::vector<std::int32_t>(2 * kLength, 1);
};

inline std::vector<double> read(const std::vector<float>& x, const Cell& cell, std::size_t states,
                                const Reading& how) {
  std::vector<Rows> out;
  for (const Rows& rows : sequences(x, kLength, kIn)) {
    Rows y(kLength);
    Row state(states * kOut, 0.0);
    for (std::size_t step = 0; step < kLength; ++step) {
      const std::size_t t = how.reverse ? kLength - 1 - step : step;
      const std::size_t at = out.size() * kLength + t;
      const std::size_t last = how.reverse ? at + 1 : at - 1;
      if (step > 0 && how.segments[at] != how.segments[last]) state.assign(state.size(), 0.0);
      if (how.padding[at] == 0) state = cell(rows[t], state);
      y[t] = Row(state.begin(), state.begin() + kOut);
    }
    out.push_back(y);
  }
  return flattened(out);
}

inline void check(const Made& layer, const Cell& cell, std::size_t states, bool reverse) {
  FpropContext context;
  Reading how{.reverse = reverse};
  const auto agrees = [&] {
    const Tensor y = layer.layer().fprop(layer.input(), context);
    CHECK(y.shape() == trivet::Shape{2, kLength, kOut});
    CHECK(largest_error(y.to_host<float>(), read(layer.numbers(), cell, states, how)) < kTolerance);
  };
  agrees();
  how.padding = {0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0};
  context.paddings = layer.tensor(how.padding, {2, kLength});
  agrees();
  how.segments = {1, 1, 2, 2, 0, 0, 1, 1, 1, 2, 3, 3};
  context.segment_ids = layer.ids(how.segments);
  agrees();
}

inline std::vector<float> in_chunks(const Made& layer, const FpropContext& whole) {
  const auto cache = trivet::make_cache(layer.layer(), "layer", 2, kLength);
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : {2, 1, 3}) {
    const auto part = [&](const Tensor& all) {
      return all.defined() ? trivet::ops::slice(all, 1, begin, begin + size) : Tensor();
    };
    FpropContext context;
    context.train = whole.train;
    context.key = whole.key;
    context.paddings = part(whole.paddings);
    context.segment_ids = part(whole.segment_ids);
    parts.push_back(trivet::extend_step(layer.layer(), part(layer.input()), cache.get(), context));
    begin += size;
  }
  return trivet::ops::concat(parts, 1).to_host<float>();
}

}  // namespace trivet::test::recurrent
