// SPDX-License-Identifier: Apache-2.0
// What the headers of layers show: parameters and children, templates of layers, summaries, and a
// layer that is one of the plain activations.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/extensions/activation.h>
#include <trivet/layer.h>
#include <trivet/layer/layer_template.h>
#include <trivet/layer/pipeline.h>
#include <trivet/layer/row_share.h>
#include <trivet/layer/sequence_blocks.h>
#include <trivet/ops.h>
#include <trivet/ops/ops_mesh.h>

#include "fixtures.h"

namespace layer_example {

using namespace trivet;
using Floats = std::vector<float>;

namespace {

struct DenseConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t output_dims = 0;
  InitConfig init;
  ConfigOf<Layer> activation = "nn/Relu";
};

class Dense final : public Layer {
 public:
  using Config = DenseConfig;

  // [parameters]
  Dense(const Config& config, Scope& scope)
      : path_(scope.path()),
        weight_(scope.parameter("weight", {config.input_dims, config.output_dims},
                                {.init = config.init})),
        activation_(scope.layer("activation", config.activation)) {}
  // [/parameters]

  Tensor fprop(const Tensor& x, FpropContext& context) override {
    const Tensor scores = ops::linear(x, weight_.value());
    // [summary]
    context.summaries.histogram(path_ + "/scores", scores);
    // [/summary]
    return activation_->fprop(scores, context);
  }

 private:
  std::string path_;
  Parameter& weight_;
  std::shared_ptr<Layer> activation_;
};

class Relu final : public Layer {
 public:
  Tensor fprop(const Tensor& x, FpropContext&) override {
    return ops::activation(x, Activation::relu);
  }

  // [activation]
  const void* extension(std::string_view id) const noexcept override {
    static constexpr Activation kRelu = Activation::relu;
    return id == kLayerActivation ? &kRelu : nullptr;
  }
  // [/activation]
};

struct TowerConfig {
  std::int64_t model_dims = 0;
  ConfigOf<Layer> block_tpl;
};

std::vector<std::shared_ptr<Layer>> tower(const TowerConfig& config, Scope& scope) {
  std::vector<std::shared_ptr<Layer>> layers;
  // [template]
  ConfigOf<Layer> block = config.block_tpl;
  complete(block, "input_dims", config.model_dims, 0);  // unless the template says otherwise
  layers.push_back(scope.layer("block", block));
  // [/template]
  return layers;
}

Tensor two_products(const Tensor& x, const Tensor& up, const Tensor& down, const MeshAxis& axis) {
  // [blocks]
  const std::vector<Tensor> w1 = ops::split_blocks(up, 1, axis);    // columns
  const std::vector<Tensor> w2 = ops::split_blocks(down, 0, axis);  // rows
  std::vector<Tensor> y = ops::fan_out(x, axis);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = ops::linear(ops::linear(y[i], w1[i], {}, Activation::gelu), w2[i]);
  }
  return ops::sum_blocks(y, axis);
  // [/blocks]
}

Tensor by_rows(const Tensor& x, const Parameter& up, const Parameter& down) {
  // [rows]
  const RowShare* const share = RowShare::of({&up, &down});
  if (share == nullptr) return ops::matmul(ops::matmul(x, up.value()), down.value());
  std::vector<Tensor> parts = share->dispatch(x);
  for (std::size_t shard = 0; shard < parts.size(); ++shard) {
    const Tensor h = ops::matmul(parts[shard], share->rows(up, shard));
    parts[shard] = ops::matmul(h, share->rows(down, shard));
  }
  return share->combine(parts);
  // [/rows]
}

Tensor staged(const std::vector<std::shared_ptr<Layer>>& layers, const Tensor& x,
              FpropContext& context, const MeshAxis& axis) {
  // [pipeline]
  return pipeline(x, axis, {.num_microbatches = 4},
                  [&](const Tensor& rows, std::int64_t part, std::int64_t) {
                    return layers[static_cast<std::size_t>(part)]->fprop(rows, context);
                  });
  // [/pipeline]
}

Tensor in_blocks(const std::vector<std::shared_ptr<Layer>>& layers, const Tensor& x,
                 FpropContext& context, const MeshAxis& axis) {
  // [sequence]
  SequenceCut cut(context, x, axis);
  std::vector<Tensor> blocks = cut.blocks_of(x);
  for (const auto& layer : layers) blocks = fprop_blocks(*layer, blocks, cut);
  return cut.whole_of(blocks);
  // [/sequence]
}

}  // namespace

TEST_CASE("example: a layer makes its parameters and children, and shows its scores") {
  const auto device = snippets::open_device();
  snippets::use_plugin("nn");
  ParameterStore store(*device, RngKey(1));
  Scope scope(store, "dense");
  DenseConfig config;
  config.input_dims = config.output_dims = 2;
  config.init = {Init::constant, -1};
  Dense dense(config, scope);
  store.build();
  REQUIRE(store.find("dense/weight") != nullptr);
  FpropContext context;
  context.summaries.want();
  const Tensor x = Tensor::from<float>(*device, Floats{1, 2, -1, -2}, {2, 2});
  CHECK(dense.fprop(x, context).to_host<float>() == Floats{0, 0, 3, 3});
  REQUIRE(context.summaries.entries().size() == 1);
  CHECK(context.summaries.entries().front().name == "dense/scores");
}

TEST_CASE("example: a template leaves its depth to the model") {
  const auto device = snippets::open_device();
  snippets::use_plugin("nn");
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  const auto layers = tower({.model_dims = 4, .block_tpl = "nn/FeedForward"}, scope);
  CHECK(layers.size() == 1);
  REQUIRE(!store.parameters().empty());
  CHECK(store.parameters().front()->path().starts_with("block/"));
  const Value own = Value::table({{"input_dims", 8}});
  ConfigOf<Layer> block("nn/FeedForward", own);
  complete(block, "input_dims", 4, 0);
  CHECK(block.fields() == own);
}

TEST_CASE("example: two products are split over two devices") {
  const auto device = snippets::open_device();
  const Tensor x = Tensor::from<float>(*device, Floats{40, 50}, {1, 2});  // gelu keeps them
  const Tensor up = Tensor::from<float>(*device, Floats{1, 0, 0, 1}, {2, 2});
  const Tensor down = Tensor::from<float>(*device, Floats{1, 2}, {2, 1});
  CHECK(two_products(x, up, down, MeshAxis()).item() == 140);
  CHECK(two_products(x, up, down, MeshAxis(2)).item() == 140);
}

TEST_CASE("example: experts have rows apart") {
  const auto device = snippets::open_device();
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  const ParameterOptions experts{.init = {Init::constant, 2}, .rows_apart = true};
  const Parameter &up = scope.parameter("up", {2, 1, 1}, experts),
                  &down = scope.parameter("down", {2, 1, 1}, experts);
  store.build();
  const Tensor x = Tensor::from<float>(*device, Floats{1, 3}, {2, 1, 1});
  CHECK(by_rows(x, up, down).to_host<float>() == Floats{4, 12});
}

TEST_CASE("example: layers are the stages of a pipeline") {
  const auto device = snippets::open_device();
  snippets::use_plugin("nn");
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  const std::vector layers{scope.layer("first", "nn/Relu"), scope.layer("second", "nn/Relu")};
  store.build();
  FpropContext context;
  const Tensor x = Tensor::from<float>(*device, Floats{1, -2, 3, -4}, {4, 1});
  CHECK(staged(layers, x, context, MeshAxis(2)).to_host<float>() == Floats{1, 0, 3, 0});
}

TEST_CASE("example: layers compute blocks of the positions") {
  const auto device = snippets::open_device();
  snippets::use_plugin("nn");
  ParameterStore store(*device, RngKey(1));
  const std::vector layers{Scope(store).layer("relu", "nn/Relu")};
  store.build();
  FpropContext context;
  const Tensor x = Tensor::from<float>(*device, Floats{1, -2, 3, -4}, {1, 4, 1});
  CHECK(in_blocks(layers, x, context, MeshAxis(2)).to_host<float>() == Floats{1, 0, 3, 0});
}

TEST_CASE("example: a layer says that it is a plain activation") {
  const Relu relu;
  CHECK(plain_activation(&relu) == Activation::relu);
  CHECK(relu.extension("another/1") == nullptr);
}

}  // namespace layer_example
