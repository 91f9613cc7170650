// SPDX-License-Identifier: Apache-2.0
// Lstm and Gru against their formulas in double, with paddings, segments and caches (Conv1d's,
// too).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <list>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "transformer_reference.h"
#include "trivet/error.h"
#include "trivet/extend_step.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::affine;
using trivet::test::flattened;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Row;
using trivet::test::Rows;
using trivet::test::sequences;

constexpr double kTolerance = 1e-5;
constexpr std::size_t kIn = 3, kOut = 2, kLength = 6;

// A layer whose biases, which start at 0, do something.
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

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

Row joined(const Row& a, const Row& b) {
  Row both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

// The state after one place; the first kOut of it are the output.
using Cell = std::function<Row(const Row& x, const Row& state)>;

Cell lstm(const Made& layer, double forget_bias, double cap) {
  return [wm = layer.values("wm"), b = layer.values("b"), forget_bias, cap](const Row& x,
                                                                            const Row& state) {
    const Row m(state.begin(), state.begin() + kOut);
    const Row parts = affine(joined(x, m), wm, b);
    Row next(2 * kOut);
    for (std::size_t d = 0; d < kOut; ++d) {
      const double cell = sigmoid(parts[2 * kOut + d] + forget_bias) * state[kOut + d] +
                          sigmoid(parts[kOut + d]) * std::tanh(parts[d]);
      next[kOut + d] = std::clamp(cell, -cap, cap);
      next[d] = sigmoid(parts[3 * kOut + d]) * std::tanh(next[kOut + d]);
    }
    return next;
  };
}

Cell gru(const Made& layer) {
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

struct Reading {
  bool reverse = false;
  std::vector<float> padding = std::vector<float>(2 * kLength, 0);
  std::vector<std::int32_t> segments = std::vector<std::int32_t>(2 * kLength, 1);
};

std::vector<double> read(const std::vector<float>& x, const Cell& cell, std::size_t states,
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

void check(const Made& layer, const Cell& cell, std::size_t states, bool reverse) {
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

std::vector<float> in_chunks(const Made& layer, const FpropContext& whole) {
  const auto cache = trivet::make_cache(layer.layer(), "layer", 2, kLength);
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : {2, 1, 3}) {
    const auto part = [&](const Tensor& all) {
      return all.defined() ? trivet::ops::slice(all, 1, begin, begin + size) : Tensor();
    };
    FpropContext context;
    context.paddings = part(whole.paddings);
    context.segment_ids = part(whole.segment_ids);
    parts.push_back(trivet::extend_step(layer.layer(), part(layer.input()), cache.get(), context));
    begin += size;
  }
  return trivet::ops::concat(parts, 1).to_host<float>();
}

}  // namespace

TEST_CASE("Lstm and Gru read a sequence place by place") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool reverse = GENERATE(false, true);
  const Made plain(backend, "nn/Lstm", {{"reverse", reverse}});
  check(plain, lstm(plain, 0, 10), 2, reverse);
  const Made capped(backend, "nn/Lstm",
                    {{"reverse", reverse}, {"forget_gate_bias", 1.0}, {"cell_value_cap", 0.25}});
  check(capped, lstm(capped, 1, 0.25), 2, reverse);
  const Made gated(backend, "nn/Gru", {{"reverse", reverse}});
  check(gated, gru(gated), 1, reverse);
}

TEST_CASE("recurrent layers and causal convolutions decode with a cache") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool convolves = GENERATE(false, true);
  std::list<Made> layers;
  if (convolves) {
    layers.emplace_back(backend, "nn/Conv1d",
                        std::initializer_list<std::pair<std::string_view, Value>>{{"causal", true},
                                                                                  {"dilation", 2}});
    layers.emplace_back(
        backend, "nn/Conv1d",
        std::initializer_list<std::pair<std::string_view, Value>>{{"causal", true}, {"kernel", 2}});
  } else {
    for (const char* key : {"nn/Lstm", "nn/Gru"}) {
      layers.emplace_back(backend, key,
                          std::initializer_list<std::pair<std::string_view, Value>>{});
    }
  }
  for (const Made& layer : layers) {
    FpropContext context;
    const auto agrees = [&] {
      const auto want = layer.layer().fprop(layer.input(), context).to_host<float>();
      CHECK(largest_error(in_chunks(layer, context), want) < kTolerance);
    };
    agrees();
    context.paddings = layer.tensor({1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, {2, kLength});
    agrees();
    if (!convolves) {
      context.segment_ids = layer.ids({0, 0, 1, 1, 1, 2, 1, 2, 2, 2, 2, 2});
      agrees();
    }
    const Tensor x = layer.input(), other = trivet::ops::slice(x, 1, 3, 4);
    const auto cache = trivet::make_cache(layer.layer(), "layer", 2, kLength);
    FpropContext none;
    trivet::extend_step(layer.layer(), trivet::ops::slice(x, 1, 0, 3), cache.get(), none);
    const std::vector<std::int32_t> order{1, 0}, wrong{2};
    CHECK_THROWS_WITH(cache->reorder(wrong), Contains("row 2"));
    cache->reorder(order);
    const std::vector<Tensor> swapped{trivet::ops::slice(other, 0, 1, 2),
                                      trivet::ops::slice(other, 0, 0, 1)};
    const Tensor y =
        trivet::extend_step(layer.layer(), trivet::ops::concat(swapped, 0), cache.get(), none);
    const Tensor want = trivet::ops::slice(layer.fprop(x), 1, 3, 4);
    const std::vector<Tensor> rows{trivet::ops::slice(want, 0, 1, 2),
                                   trivet::ops::slice(want, 0, 0, 1)};
    CHECK(largest_error(y.to_host<float>(), trivet::ops::concat(rows, 0).to_host<float>()) <
          kTolerance);
  }
}

TEST_CASE("gradients of recurrent layers are those of central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto check = [&](const char* key,
                         std::initializer_list<std::pair<std::string_view, Value>> more) {
    INFO(backend << " " << key);
    const Made layer(backend, key, more);
    CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), layer.input()) ==
          "");
  };
  check("nn/Lstm", {{"forget_gate_bias", 1.0}});
  check("nn/Gru", {{"reverse", true}});
}

TEST_CASE("Bidirectional reads from both ends") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value sub = Value::table({{"type", "nn/Gru"}, {"input_dims", kIn}, {"output_dims", kOut}});
  const LayerFixture both(backend, {"nn/Bidirectional", Value::table({{"sub", sub}})});
  const Made forward(backend, "nn/Gru", {}), backward(backend, "nn/Gru", {{"reverse", true}});
  for (const char* name : {"w", "u", "b", "c"}) {
    forward.set(name, both.values(std::string("forward/") + name));
    backward.set(name, both.values(std::string("backward/") + name));
  }
  const Tensor y = both.fprop(both.tensor(forward.numbers(), {2, kLength, kIn}));
  CHECK(trivet::ops::slice(y, 2, 0, kOut).to_host<float>() ==
        forward.fprop(forward.input()).to_host<float>());
  CHECK(trivet::ops::slice(y, 2, kOut, 2 * kOut).to_host<float>() ==
        backward.fprop(backward.input()).to_host<float>());
  CHECK_THROWS_WITH(LayerFixture(backend, {"nn/Bidirectional", Value::table({{"sub", "none"}})}),
                    Contains("'layer': sub is \"none\""));
}

TEST_CASE("recurrent layers and Conv1d say what does not fit") {
  for (const char* key : {"nn/Lstm", "nn/Gru", "nn/Conv1d"}) {
    const Made layer("tiny/Backend", key, {});
    CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {2, 3})),
                      Contains(key) && Contains("'layer': expected [B, T, 3]"));
  }
  for (const char* key : {"nn/Lstm", "nn/Gru"}) {
    const Made layer("tiny/Backend", key, {{"reverse", true}});
    CHECK_THROWS_WITH(trivet::make_cache(layer.layer(), "layer", 1, 2),
                      Contains("reads from the end"));
    CHECK(layer.fprop(Tensor::zeros(layer.device(), {2, 0, kIn})).shape() ==
          trivet::Shape{2, 0, kOut});
  }
  const Made both("tiny/Backend", "nn/Conv1d", {});
  CHECK_THROWS_WITH(trivet::make_cache(both.layer(), "layer", 1, 2), Contains("causal = true"));
}
