// SPDX-License-Identifier: Apache-2.0
// Rematerialization of layers, which changes no bit. (Of functions:
// test/sdk/layer/remat_test.cpp.)
#include "trivet/layer/remat.h"

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/plugins.h"

namespace nn_remat_test {
namespace {

using trivet::FpropContext;
using trivet::GradientSlot;
using trivet::Layer;
using trivet::Tape;
using trivet::Tensor;
using trivet::Value;
using trivet::test::check_equal;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::Step;
using trivet::test::step_of;
using trivet::test::with;

constexpr std::int64_t kDims = 8;

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config =
      with("nn/TransformerBlock", {{"input_dims", kDims}, {"num_heads", 2}, {"causal", true}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

// Layers that differ only in what they keep.
void check_policy(const std::string& backend, const std::function<Value(const char*)>& config,
                  const std::function<Tensor(const LayerFixture&)>& input) {
  const LayerFixture kept = made(backend, config("save_everything"));
  const Step want = step_of(kept.layer(), kept.store(), input(kept));
  for (const char* policy : {"save_nothing", "save_context", "save_dot_only",
                             "save_iteration_input", "save_transformer_layer_output"}) {
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

TEST_CASE("rematerialization changes no bit of a step") {
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
  // The input is also used outside the stack: its gradient is summed in the same order.
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

TEST_CASE("cross_inputs have their gradient through rematerialization") {
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
  const Step want = run("save_everything");
  check_equal(run("save_nothing"), want);
  check_equal(run("save_dot_only"), want);
}

TEST_CASE("auxiliary losses, summaries and states pass through rematerialization once") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto device = trivet::test::open_device(backend);
  trivet::ParameterStore store(*device, trivet::RngKey(1));
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

TEST_CASE("planned steps use less memory if activations are recomputed") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  std::map<std::string, std::uint64_t> most;
  const auto run = [&](const char* policy) {
    const LayerFixture fixture = made(
        backend,
        with("nn/Repeat",
             {{"sub", block({{"dropout", 0.25}})}, {"x_times", 8}, {"checkpoint_policy", policy}}));
    const Tensor x = fixture.tensor(random_values(2 * 64 * kDims, 5), {2, 64, kDims});
    Step step;
    for (int i = 0; i < 3; ++i) {
      fixture.device().begin_step();
      step = step_of(fixture.layer(), fixture.store(), x);
      fixture.device().end_step();
    }
    CHECK(fixture.device().memory().planned_steps == 2);
    most[policy] = fixture.device().memory().lower_bound_bytes;
    return step;
  };
  const Step want = run("save_everything");
  check_equal(run("save_nothing"), want);
  check_equal(run("save_context"), want);
  CHECK(most["save_nothing"] < most["save_everything"] / 3);
  CHECK(most["save_context"] < most["save_everything"] / 2);
}

}  // namespace nn_remat_test
