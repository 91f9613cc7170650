// SPDX-License-Identifier: Apache-2.0
// Stacks of layers: Repeat and StackedTransformer against layers one by one, and rematerialisation,
// which changes no bit.
#include <catch2/catch.hpp>
#include <map>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/device.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/remat.h"
#include "trivet/tape.h"

namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::GradientSlot;
using trivet::Layer;
using trivet::Tape;
using trivet::Tensor;
using trivet::Value;
using trivet::test::LayerFixture;
using trivet::test::random_values;

constexpr std::int64_t kDims = 8;

Value with(const char* type, std::initializer_list<std::pair<std::string_view, Value>> fields) {
  Value config = Value::table(fields);
  config.set("type", type);
  return config;
}

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config =
      with("nn/TransformerBlock", {{"input_dims", kDims}, {"num_heads", 2}, {"causal", true}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

LayerFixture made(const std::string& backend, Value config) {
  const std::string key = config.find("type")->as_text();
  config.erase("type");
  return {backend, {key, std::move(config)}};
}

// One training step: its output, all gradients, and what was counted.
struct Step {
  std::vector<float> y, input_gradient, gradients;
  std::map<std::string, float> aux_losses;
  double flops = 0;
  std::size_t ops = 0;
};

Step step_of(Layer& layer, trivet::ParameterStore& store, const Tensor& x,
             FpropContext context = {}) {
  Step step;
  GradientSlot slot;
  const bool numbers = x.dtype() == trivet::DType::f32;
  context.train = true;
  context.key = trivet::Key(3);
  const double flops = x.device().flops();
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    const Tensor y = layer.fprop(numbers ? trivet::make_leaf(x, slot) : x, context);
    step.y = y.to_host<float>();
    loss = trivet::ops::sum(trivet::ops::square(y));
    for (const auto& [name, aux] : context.aux_losses) {
      step.aux_losses[name] = aux.item();
      loss = trivet::ops::add(loss, aux);
    }
  }
  step.ops = tape.size();
  store.begin_gradients();
  tape.backward(loss);
  store.end_gradients();
  step.flops = x.device().flops() - flops;
  step.gradients = store.trainable_gradients().to_host<float>();
  if (numbers) step.input_gradient = slot.gradient.to_host<float>();
  return step;
}

void check_equal(const Step& got, const Step& want) {
  CHECK(got.y == want.y);
  CHECK(got.gradients == want.gradients);
  CHECK(got.input_gradient == want.input_gradient);
  CHECK(got.aux_losses == want.aux_losses);
  CHECK(got.flops == want.flops);
}

// Layers that differ only in what they keep.
void check_policy(const std::string& backend, const std::function<Value(const char*)>& config,
                  const std::function<Tensor(const LayerFixture&)>& input) {
  const LayerFixture kept = made(backend, config("save_everything"));
  const Step want = step_of(kept.layer(), kept.store(), input(kept));
  for (const char* policy : {"save_nothing", "save_context"}) {
    INFO(backend << " " << trivet::to_toml(config(policy)));
    const LayerFixture dropped = made(backend, config(policy));
    const Step got = step_of(dropped.layer(), dropped.store(), input(dropped));
    check_equal(got, want);
    CHECK(got.ops < want.ops);
  }
}

// y = w x, an auxiliary loss of w, and a count of its calls.
class WithLoss final : public Layer {
 public:
  explicit WithLoss(trivet::Scope scope) : w_(scope.parameter("w", {kDims})) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    ++calls;
    again += context.recomputing ? 1 : 0;
    context.summaries.scalar("seen", 1);
    context.aux_losses.set("first", trivet::ops::sum(trivet::ops::square(w_.value())));
    context.aux_losses.set("second", trivet::ops::mean(trivet::ops::mul(x, w_.value())));
    return trivet::ops::mul(trivet::ops::tanh(x), w_.value());
  }
  int calls = 0, again = 0;

 private:
  trivet::Parameter& w_;
};

class Remat final : public Layer {
 public:
  explicit Remat(Layer& layer) : layer_(layer) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    return trivet::remat(layer_, x, context);
  }

 private:
  Layer& layer_;
};

}  // namespace

TEST_CASE("rematerialisation changes no bit of a step") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto numbers = [](const LayerFixture& fixture) {
    return fixture.tensor(random_values(2 * 3 * kDims, 5), {2, 3, kDims});
  };
  const auto repeat = [](const Value& sub, const char* policy) {
    return with("nn/Repeat", {{"sub", sub}, {"x_times", 3}, {"checkpoint_policy", policy}});
  };
  const Value dropping = block({{"dropout", 0.25}, {"atten_dropout", 0.25}});
  Value shared = dropping;
  shared.set("shared", "one");
  check_policy(
      backend, [&](const char* policy) { return repeat(dropping, policy); }, numbers);
  check_policy(
      backend, [&](const char* policy) { return repeat(shared, policy); }, numbers);
  // The input is used beside the stack, too: its gradient is summed in the same order.
  check_policy(
      backend,
      [&](const char* policy) {
        return with("nn/Residual", {{"sub", repeat(dropping, policy)}});
      },
      numbers);
  check_policy(
      backend,
      [&](const char* policy) {
        return with(
            "nn/Repeat",
            {{"sub", repeat(dropping, policy)}, {"x_times", 2}, {"checkpoint_policy", policy}});
      },
      numbers);
  check_policy(
      backend,
      [&](const char* policy) {
        return with("nn/StackedTransformer", {{"num_layers", 2},
                                              {"transformer_layer_params_tpl", block({})},
                                              {"dropout_prob", 0.5},
                                              {"input_dropout_prob", 0.5},
                                              {"checkpoint_policy", policy}});
      },
      numbers);
  // A layer that gives back its input.
  const LayerFixture nothing =
      made(backend, repeat(with("nn/Sequential", {{"layers", Value::array()}}), "save_nothing"));
  const Step passed = step_of(nothing.layer(), nothing.store(), numbers(nothing));
  for (std::size_t i = 0; i < passed.y.size(); ++i) {
    CHECK(passed.input_gradient[i] == 2 * passed.y[i]);
  }
  // Ids want no gradient, the table does.
  const Value lookup = with(
      "nn/Sequential",
      {{"layers", Value::array({with("nn/Embedding", {{"num_classes", 5}, {"input_dims", kDims}}),
                                block({})})}});
  check_policy(
      backend,
      [&](const char* policy) {
        return with("nn/Repeat", {{"sub", lookup}, {"x_times", 1}, {"checkpoint_policy", policy}});
      },
      [](const LayerFixture& fixture) {
        const std::vector<std::int32_t> ids{1, 4, 1, 0, 2, 2};
        return Tensor::from<std::int32_t>(fixture.device(), ids, {2, 3});
      });
}

TEST_CASE("cross_inputs have their gradient through rematerialisation") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto run = [&](const char* policy) {
    const LayerFixture fixture =
        made(backend, with("nn/Repeat", {{"sub", block({{"cross_attention", true}})},
                                         {"x_times", 2},
                                         {"checkpoint_policy", policy}}));
    GradientSlot slot;
    FpropContext context;
    context.cross_inputs =
        trivet::make_leaf(fixture.tensor(random_values(2 * 4 * kDims, 6), {2, 4, kDims}), slot);
    Step step = step_of(fixture.layer(), fixture.store(),
                        fixture.tensor(random_values(2 * 3 * kDims, 5), {2, 3, kDims}), context);
    step.y = slot.gradient.to_host<float>();
    return step;
  };
  check_equal(run("save_nothing"), run("save_everything"));
}

TEST_CASE("auxiliary losses, summaries and states pass through rematerialisation once") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto device = trivet::test::open_device(backend);
  trivet::ParameterStore store(*device, trivet::Key(1));
  WithLoss layer(trivet::Scope(store).child("layer"));
  store.build();
  const std::vector<float> values = random_values(2 * kDims, 5);
  const Tensor x = Tensor::from<float>(*device, values, {2, kDims});
  const Step want = step_of(layer, store, x);
  CHECK(want.aux_losses.size() == 2);
  Remat twice(layer);
  check_equal(step_of(twice, store, x), want);
  CHECK(layer.calls == 3);
  CHECK(layer.again == 1);

  FpropContext context;
  context.summaries.want();
  Tape tape;
  Tape::Recording recording(tape);
  twice.fprop(x, context);
  CHECK(context.summaries.entries().size() == 1);

  const auto states = [&](const char* policy) {
    const LayerFixture norm =
        made(backend, with("nn/Repeat", {{"sub", with("nn/BatchNorm", {{"dim", kDims}})},
                                         {"x_times", 1},
                                         {"checkpoint_policy", policy}}));
    step_of(norm.layer(), norm.store(), norm.tensor(values, {2, kDims}));
    return norm.values("sub_0/moving_mean");
  };
  CHECK(states("save_nothing") == states("save_everything"));
}

TEST_CASE("Repeat and StackedTransformer are their layers one after the other") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value layers = Value::array({block({}), block({}), block({})});
  const LayerFixture unrolled = made(backend, with("nn/Sequential", {{"layers", layers}}));
  const auto step = [](const LayerFixture& fixture) {
    return step_of(fixture.layer(), fixture.store(),
                   fixture.tensor(random_values(2 * 3 * kDims, 5), {2, 3, kDims}));
  };
  const Step want = step(unrolled);
  const std::pair<Value, std::string> stacks[] = {
      {with("nn/Repeat", {{"sub", block({})}, {"x_times", 3}}), "sub_"},
      {with("nn/StackedTransformer",
            {{"num_layers", 3}, {"transformer_layer_params_tpl", block({})}}),
       "layer_"}};
  for (const auto& stack : stacks) {
    const LayerFixture fixture = made(backend, stack.first);
    REQUIRE(fixture.store().parameters().size() == unrolled.store().parameters().size());
    for (const auto& parameter : unrolled.store().parameters()) {
      const std::string below = parameter->path().substr(std::string("layer/layer_").size());
      fixture.parameter(stack.second + below)
          .assign(fixture.tensor(parameter->value().to_host<float>(), parameter->shape()));
    }
    check_equal(step(fixture), want);
  }
}

TEST_CASE("a StackedTransformer passes its dropout on") {
  // The same layer under the same path drops the same.
  const auto in_training = [](const Value& stack) {
    const LayerFixture fixture = made("tiny/Backend", stack);
    return fixture.fprop(fixture.tensor(random_values(3 * kDims, 5), {1, 3, kDims}), true)
        .to_host<float>();
  };
  const auto passed_on = [&](const Value& layer) {
    return in_training(
        with("nn/StackedTransformer",
             {{"num_layers", 1}, {"transformer_layer_params_tpl", layer}, {"dropout_prob", 0.5}}));
  };
  const auto alone = [&](const Value& layer) {
    return in_training(with("nn/Sequential", {{"layers", Value::array({layer})}}));
  };
  CHECK(passed_on(block({})) ==
        alone(block({{"atten_dropout", 0.5}, {"residual_dropout", 0.5}, {"relu_dropout", 0.5}})));
  CHECK(passed_on(block({{"residual_dropout", 0.0}, {"relu_dropout", 0.25}})) ==
        alone(block({{"atten_dropout", 0.5}, {"residual_dropout", 0.0}, {"relu_dropout", 0.25}})));
  CHECK(passed_on(block({{"dropout", 0.25}})) == alone(block({{"dropout", 0.25}})));
  CHECK(passed_on(block({})) != alone(block({})));
}

TEST_CASE("StackedTransformer says what does not fit") {
  const auto make = [](std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value config = with("nn/StackedTransformer",
                        {{"num_layers", 2}, {"transformer_layer_params_tpl", block({})}});
    for (const auto& [name, value] : more) config.set(name, value);
    return made("tiny/Backend", std::move(config));
  };
  CHECK_THROWS_WITH(make({{"moe_layers", Value::array({1})}}),
                    Contains("moe_layer_tpl") && Contains("is not set"));
  CHECK_THROWS_WITH(make({{"moe_layers", Value::array({2})}, {"moe_layer_tpl", "nn/FeedForward"}}),
                    Contains("has 2, but the last of the 2 blocks is 1"));
  CHECK_THROWS_WITH(make({{"transformer_layer_params_tpl", "none"}}), Contains("is \"none\""));
  const LayerFixture mixed =
      make({{"moe_layers", Value::array({1})}, {"moe_layer_tpl", "nn/FeedForward"}});
  CHECK(mixed.store().find("layer/layer_0/mlp_in/w") != nullptr);
  CHECK(mixed.store().find("layer/layer_1/feed_forward/in/w") != nullptr);
}
