// SPDX-License-Identifier: Apache-2.0
// Lstm and Gru against their formulas in double, with paddings, segments and caches (Conv1d's,
// too).
#include <list>

#include <catch2/catch.hpp>

#include "plugins/nn/recurrent_reference.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_recurrent_test {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using namespace trivet::test::recurrent;

TEST_CASE("Lstm and Gru read a sequence position by position") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool reverse = GENERATE(false, true);
  const Made plain(backend, "nn/Lstm", {{"reverse", reverse}});
  check(plain, lstm(plain, {}), 2, reverse);
  const Made capped(backend, "nn/Lstm",
                    {{"reverse", reverse}, {"forget_gate_bias", 1.0}, {"cell_value_cap", 0.25}});
  check(capped, lstm(capped, {.forget_bias = 1, .cap = 0.25}), 2, reverse);
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

TEST_CASE("gradients of recurrent layers match central differences") {
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

TEST_CASE("recurrent layers and Conv1d report mismatched inputs") {
  for (const char* key : {"nn/Lstm", "nn/Gru", "nn/Conv1d"}) {
    const Made layer("tiny/Backend", key, {});
    CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {2, 3})),
                      Contains(key) && Contains("'layer': expected [B, T, 3]"));
  }
  for (const char* key : {"nn/Lstm", "nn/Gru"}) {
    const Made layer("tiny/Backend", key, {{"reverse", true}});
    CHECK_THROWS_WITH(trivet::make_cache(layer.layer(), "layer", 1, 2),
                      Contains("a reversed layer"));
    CHECK(layer.fprop(Tensor::zeros(layer.device(), {2, 0, kIn})).shape() ==
          trivet::Shape{2, 0, kOut});
  }
  const Made both("tiny/Backend", "nn/Conv1d", {});
  CHECK_THROWS_WITH(trivet::make_cache(both.layer(), "layer", 1, 2), Contains("causal = true"));
}

}  // namespace nn_recurrent_test
