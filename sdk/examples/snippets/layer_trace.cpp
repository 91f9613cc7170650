// SPDX-License-Identifier: Apache-2.0
// What trivet/layer/layer_trace.h shows: the layers of a task's model, and how often each is
// called.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/layer/layer_trace.h>
#include <trivet/task.h>

#include "fixtures.h"

namespace layer_trace_example {

using namespace trivet;

TEST_CASE("example: a trace lists the layers of a model") {
  const auto device = snippets::open_device();
  snippets::use_plugin("nn");
  testing::load_plugin(snippets::build_dir() / "examples.so");
  TaskContext task_context{.device = *device, .logging_dir = {}};
  const auto made =
      make(ConfigOf<Task>("examples/Regression", Value::table({{"model", "examples/Regressor"}})),
           task_context);
  Task& task = *made;
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  const Batch batch{{"x", Tensor::zeros(*device, {4, 1})}};
  FpropContext context;
  std::vector<std::pair<std::string, std::int64_t>> printed;
  const auto print = [&](const std::string& path, std::int64_t calls) {
    printed.emplace_back(path, calls);
  };
  // [trace]
  LayerTrace trace;  // before the model is made
  auto model = task.build_model(task.config().model, scope);
  store.build();
  model->fprop(batch, context);
  for (const LayerTrace::Entry& layer : trace.layers()) print(layer.path, layer.calls);
  // [/trace]
  REQUIRE(printed.size() == 3);
  CHECK(printed[0] == std::pair<std::string, std::int64_t>("hidden_0", 1));
  CHECK(printed[1].first == "hidden_0/activation");
  CHECK(printed[2] == std::pair<std::string, std::int64_t>("output", 1));
}

}  // namespace layer_trace_example
