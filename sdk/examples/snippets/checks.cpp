// SPDX-License-Identifier: Apache-2.0
// What the headers of trivet/testing/ show: tests of configs, gradients, layers, inputs and
// plugins.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/backend/collective.h>
#include <trivet/config.h>
#include <trivet/data/example_sampler.h>
#include <trivet/input.h>
#include <trivet/layer.h>
#include <trivet/ops.h>
#include <trivet/plugin/registry.h>
#include <trivet/testing/collective_check.h>
#include <trivet/testing/config_check.h>
#include <trivet/testing/gradient_check.h>
#include <trivet/testing/input_check.h>
#include <trivet/testing/layer_check.h>
#include <trivet/testing/metric_check.h>
#include <trivet/testing/plugins.h>
#include <trivet/testing/run_processes.h>

#include "fixtures.h"

namespace checks_example {

using Floats = std::vector<float>;

struct MyConfig {
  std::int64_t dims = 1;
};
TRIVET_CONFIG(MyConfig, trivet::NoBase, (dims, "Depth.", at_least(1)))

TEST_CASE("example: a config struct survives the way through a file") {
  // [config]
  const auto report = trivet::testing::check_config(MyConfig{.dims = 3});  // a valid sample
  INFO(report.text());
  REQUIRE(report.passed());
  // [/config]
  CHECK(report.valid_sample);
  CHECK_FALSE(trivet::testing::check_config(MyConfig{.dims = 0}).passed());
}

TEST_CASE("example: the gradients of a function are compared with differences") {
  const auto device = snippets::open_device();
  const auto x = trivet::Tensor::from<float>(*device, Floats{-1, 0.5F, 2}, {3});
  // [gradients]
  const auto swish = [](std::span<const trivet::Tensor> in) {
    return trivet::ops::mul(in[0], trivet::ops::sigmoid(in[0]));
  };
  const trivet::Tensor inputs[] = {x};
  REQUIRE(trivet::testing::check_gradients(swish, inputs) == "");
  // [/gradients]
  const auto cut = [](std::span<const trivet::Tensor> in) {
    return trivet::ops::mul(in[0], trivet::ops::stop_gradient(in[0]));
  };
  CHECK(trivet::testing::check_gradients(cut, inputs) != "");
}

TEST_CASE("example: a test loads plugins and makes their layers") {
  const auto build_dir = snippets::build_dir(), plugin_dir = snippets::plugin_dir();
  // [plugins]
  trivet::testing::load_plugin(build_dir / "acme.so");
  trivet::testing::load_plugins(plugin_dir);  // `pkg-config --variable=plugindir trivet-sdk`
  const auto device = trivet::testing::open_device("tiny/Backend");
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  auto layer = trivet::Scope(store).layer("layer", {"acme/Scale", trivet::Value::table()});
  // [/plugins]
  trivet::FpropContext context;
  const auto x = trivet::Tensor::from<float>(*device, Floats{-1, 2}, {2});
  CHECK(layer->fprop(x, context).to_host<float>() == Floats{-1, 2});
}

TEST_CASE("example: the gradients of a layer are compared with differences") {
  const auto opened = snippets::open_device();
  trivet::testing::load_plugin(snippets::build_dir() / "acme.so");
  trivet::Device& device = *opened;
  const auto fields = trivet::Value::table({{"factor", 2.0}});
  const auto x = trivet::Tensor::from<float>(device, Floats{-1, 0.5F, 2}, {3});
  // [layer]
  trivet::ParameterStore store(device, trivet::RngKey(1));
  auto layer = trivet::Scope(store).layer("layer", {"acme/Scale", fields});
  store.build();
  REQUIRE(trivet::testing::check_layer_gradients(*layer, store, x) == "");
  // [/layer]
  trivet::FpropContext context;
  CHECK(layer->fprop(x, context).to_host<float>() == Floats{-2, 1, 4});
}

// The mean of the output "x".
class MeanOfX final : public trivet::Metric {
 public:
  using Config = trivet::MetricConfig;
  explicit MeanOfX(const Config&) {}
  void update_state(const trivet::Batch&, const trivet::NestedMap& outputs) override {
    for (const float x : outputs.at("x").to_host<float>()) {
      sum_ += static_cast<double>(x);
      ++count_;
    }
  }
  trivet::Logs result() const override {
    trivet::Logs logs;
    logs.set("mean", count_ > 0 ? sum_ / count_ : 0);
    return logs;
  }
  void reset_state() override { sum_ = count_ = 0; }
  trivet::Value save_state() const override {
    return trivet::Value::table({{"sum", sum_}, {"count", count_}});
  }
  void restore_state(const trivet::Value& state) override {
    sum_ = state.at("sum", "mean").as_float();
    count_ = state.at("count", "mean").as_float();
  }
  void merge(const trivet::Value& state) override {
    sum_ += state.at("sum", "mean").as_float();
    count_ += state.at("count", "mean").as_float();
  }

 private:
  double sum_ = 0, count_ = 0;
};

TEST_CASE("example: a metric is checked on batches that are cut in two") {
  const auto device = snippets::open_device();
  std::vector<trivet::testing::MetricBatch> batches;
  for (const Floats& x : {Floats{1, 2, 3}, Floats{8}, Floats{-1, 4}}) {
    const auto size = static_cast<std::int64_t>(x.size());
    batches.push_back({{}, {{"x", trivet::Tensor::from<float>(*device, x, {size})}}});
  }
  // [metric]
  const auto make = [] { return std::make_unique<MeanOfX>(MeanOfX::Config{}); };
  REQUIRE(trivet::testing::check_metric(make, batches) == "");
  // [/metric]
}

// The numbers 0 to 4, two a batch.
class Counted final : public trivet::Input {
 public:
  using Config = trivet::InputConfig;
  Counted(const Config& config, trivet::InputContext& context)
      : name_(context.name), sampler_(config, context.phase, 5, context.name) {}
  std::optional<trivet::Batch> get_next() override {
    if (!sampler_.next(samples_)) return std::nullopt;
    trivet::Tensor x = trivet::Tensor::host({std::ssize(samples_)});
    std::ranges::transform(samples_, x.mutable_span<float>().begin(),
                           [](const auto& sample) { return static_cast<float>(sample.example); });
    return trivet::Batch{{"x", x}, {"weight", sampler_.weights(samples_)}};
  }
  void reset() override { sampler_.reset(); }
  trivet::Value save_state() const override { return sampler_.save_state(); }
  void restore_state(const trivet::Value& state) override { sampler_.restore_state(state, name_); }

 private:
  std::string name_;
  trivet::ExampleSampler sampler_;
  std::vector<trivet::ExampleSampler::Sample> samples_;
};

TEST_CASE("example: an input is continued at every batch") {
  // [input]
  const auto make = [] {
    trivet::InputContext context{.phase = trivet::Phase::evaluation};
    return std::make_unique<Counted>(Counted::Config{.batch_size = 2}, context);
  };
  REQUIRE(trivet::testing::check_input(make, 2) == "");
  // [/input]
}

TEST_CASE("example: an engine is checked in processes that the test starts") {
  snippets::use_plugin("local");
  const auto* engine = static_cast<const tv_collective*>(
      trivet::registry().table("collective", "local/SharedMemory"));
  // [processes]
  const auto results =
      trivet::testing::run_processes(3, [&] { return trivet::testing::check_collective(engine); });
  REQUIRE(results.text() == "");
  // [/processes]
  REQUIRE(results.processes.size() == 3);
  CHECK(results.processes[2].status == 0);
}

}  // namespace checks_example
