// SPDX-License-Identifier: Apache-2.0
// LayerTrace: records layers made during its lifetime, and none made before or after.
#include "trivet/layer/layer_trace.h"

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/extensions/activation.h"
#include "trivet/layer/scope.h"

namespace {

using trivet::ConfigOf;
using trivet::Layer;
using trivet::LayerTrace;
using trivet::Value;

struct Fixture {
  std::unique_ptr<trivet::Device> device = trivet::test::open_device("tiny/Backend");
  trivet::ParameterStore store{*device, trivet::RngKey(5)};
  trivet::Scope root{store};
  trivet::FpropContext context;
  Fixture() { trivet::test::use_plugin("nn"); }

  trivet::Tensor tensor(const std::vector<float>& values, const trivet::Shape& shape) {
    return trivet::Tensor::from(*device, std::span<const float>(values), shape);
  }
};

ConfigOf<Layer> linear(std::int64_t in, std::int64_t out) {
  return {"nn/Linear", Value::table({{"input_dims", in}, {"output_dims", out}})};
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a trace reports types, shapes, calls and work of the layers") {
  LayerTrace trace;
  ConfigOf<Layer> body{"nn/Sequential",
                       Value::table({{"layers", Value::array({linear(3, 4).to_value()})}})};
  const auto layer = root.layer("stack", body);
  store.build();
  REQUIRE(trace.layers().size() == 2);
  CHECK(trace.layers()[0].path == "stack");
  CHECK(trace.layers()[0].type() == "nn/Sequential");
  CHECK(trace.layers()[0].config.fields().find("layers") != nullptr);
  CHECK(trace.layers()[1].path.starts_with("stack/"));
  CHECK(trace.layers()[1].calls == 0);

  const auto x = tensor(std::vector<float>(6, 1.0F), {2, 3});
  layer->fprop(x, context);
  layer->fprop(x, context);
  const LayerTrace::Entry& inner = trace.layers()[1];
  CHECK(inner.calls == 2);
  CHECK(inner.input == "f32 [2, 3]");
  CHECK(inner.output == "f32 [2, 4]");
  // Two products of 2 x 3 and 3 x 4, two operations a term.
  CHECK(inner.flops >= 2 * 2 * 2 * 3 * 4);
  CHECK(trace.layers()[0].flops == inner.flops);
  trace.reset_calls();
  CHECK(trace.layers()[1].calls == 0);
  CHECK(trace.layers()[1].flops == 0);
}

TEST_CASE_METHOD(Fixture, "a traced layer answers its extensions, and outlives the trace") {
  std::shared_ptr<Layer> relu, later;
  {
    const LayerTrace trace;
    relu = root.layer("relu", "nn/Relu");
    CHECK(trace.layers().size() == 1);
  }
  later = root.layer("later", "nn/Relu");
  CHECK(trivet::plain_activation(relu.get()) == trivet::plain_activation(later.get()));
  const auto x = tensor({-1.0F, 2.0F}, {1, 2});
  CHECK(relu->fprop(x, context).to_host<float>() == std::vector<float>{0.0F, 2.0F});
}

TEST_CASE_METHOD(Fixture, "traces nest: the innermost one sees new layers") {
  LayerTrace outer;
  {
    LayerTrace inner;
    root.layer("a", "nn/Relu");
    CHECK(inner.layers().size() == 1);
  }
  root.layer("b", "nn/Relu");
  REQUIRE(outer.layers().size() == 1);
  CHECK(outer.layers()[0].path == "b");
}
