// SPDX-License-Identifier: Apache-2.0
// Optimizers: three updates of one number against values worked out from the formulas in double,
// and properties for any gradients.
#include <algorithm>
#include <array>
#include <cstring>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/train/learner.h"
#include "trivet/train/learner_options.h"

namespace optim_optimizers_test {
namespace {

using trivet::ConfigOf;
using trivet::Init;
using trivet::Optimizer;
using trivet::OptimizerSegment;
using trivet::OptimizerStep;
using trivet::Parameter;
using trivet::RngKey;
using trivet::Value;

std::unique_ptr<Optimizer> optimizer(const std::string& name, Value fields) {
  trivet::test::use_plugin("optim");
  return trivet::make(ConfigOf<Optimizer>("optim/" + name, std::move(fields)));
}

std::unique_ptr<trivet::Schedule> rate(double value) {
  trivet::test::use_plugin("optim");
  return trivet::make(
      ConfigOf<trivet::Schedule>("optim/Constant", Value::table({{"value", value}})));
}

// 0.1, 0.01, 0.02: a rate that changes.
class Changing final : public trivet::Schedule {
 public:
  double value(std::int64_t step) const override {
    return step == 0 ? 0.1 : step == 1 ? 0.01 : 0.02;
  }
};

// Updates each variable separately.
class PerVariable final : public Optimizer {
 public:
  explicit PerVariable(std::unique_ptr<Optimizer> inner) : inner_(std::move(inner)) {}
  std::vector<std::string> slots() const override { return inner_->slots(); }
  double slot_start(std::string_view slot) const override { return inner_->slot_start(slot); }
  trivet::Shape slot_shape(std::string_view slot, const Parameter& parameter) const override {
    return inner_->slot_shape(slot, parameter);
  }
  trivet::DType slot_dtype(std::string_view slot, const Parameter& parameter) const override {
    return inner_->slot_dtype(slot, parameter);
  }
  std::int64_t group_of(const Parameter& parameter) const override {
    return inner_->group_of(parameter);
  }
  bool per_variable() const override { return true; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override {
    for (OptimizerSegment& segment : segments) inner_->update(step, std::span(&segment, 1));
  }

 private:
  std::unique_ptr<Optimizer> inner_;
};

// Parameters "body/w" [5, 7], "body/b" [7], "head/w" [7, 3].
struct Fixture {
  explicit Fixture(const std::string& backend)
      : device(trivet::test::open_device(backend)), store(*device, RngKey(3)) {
    store.add("body/w", {5, 7}, {.init = {Init::normal, 1}});
    store.add("body/b", {7}, {.init = {Init::normal, 1}});
    store.add("head/w", {7, 3}, {.init = {Init::normal, 1}});
    store.build();
  }

  // Gradients that depend on the step alone.
  void step(trivet::Learner& learner) {
    std::uint64_t seed = 100 * static_cast<std::uint64_t>(learner.step());
    for (const auto& parameter : store.parameters()) {
      const auto values = trivet::test::random_values(parameter->shape().size(), ++seed);
      const auto out = parameter->gradient().mutable_span<float>();
      std::copy(values.begin(), values.end(), out.begin());
    }
    learner.begin().apply_gradients();
  }

  std::vector<std::vector<std::byte>> bytes(const trivet::Learner& learner) {
    std::vector<std::vector<std::byte>> out;
    for (const auto& parameter : store.parameters()) out.push_back(parameter->value().to_bytes());
    for (const auto& [name, slot] : learner.slots()) out.push_back(slot.to_bytes());
    return out;
  }

  std::unique_ptr<trivet::Device> device;
  trivet::ParameterStore store;
};

// A number that starts at 1 and gets three gradients, with a learning rate of 0.1.
std::vector<float> three_updates(const std::string& backend, std::unique_ptr<Optimizer> optimizer,
                                 trivet::GradientClipConfig clip = {},
                                 std::array<float, 3> gradients = {0.5f, -1.0f, 2.0f},
                                 std::unique_ptr<trivet::Schedule> schedule = rate(0.1)) {
  const auto device = trivet::test::open_device(backend);
  trivet::ParameterStore store(*device, RngKey(1));
  Parameter& w = store.add("w", {1}, {.init = {Init::constant, 1}});
  store.build();
  trivet::Learner learner(store, std::move(optimizer), std::move(schedule), clip);
  std::vector<float> values;
  for (const float gradient : gradients) {
    w.gradient().mutable_span<float>()[0] = gradient;
    learner.begin().apply_gradients();
    values.push_back(w.value().item());
  }
  return values;
}

void check(const std::vector<float>& values, double first, double second, double third) {
  // Three updates in f32 of numbers around 1, each rounded by 6e-8.
  CHECK(values[0] == Approx(first).epsilon(0).margin(1.2e-7));
  CHECK(values[1] == Approx(second).epsilon(0).margin(2e-7));
  CHECK(values[2] == Approx(third).epsilon(0).margin(3e-7));
}

Value adafactor_with_decay() {
  return Value::table({{"type", "optim/Adafactor"},
                       {"min_dim_size_to_factor", 2},
                       {"weight_decay", 0.1},
                       {"exclude_from_weight_decay", Value::array({"head"})}});
}

const std::vector<std::pair<std::string, Value>>& all_optimizers() {
  static const std::vector<std::pair<std::string, Value>> list{
      {"Sgd", Value::table()},
      {"Sgd", Value::table({{"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 0.01}})},
      {"Adam", Value::table()},
      {"AdamW", Value::table({{"weight_decay", 0.1}, {"decay_vectors", false}})},
      {"AdamW", Value::table({{"weight_decay", 0.1}, {"decay_vectors", false}, {"amsgrad", true}})},
      {"Adam", Value::table({{"epsilon_root", 1e-3}})},
      {"AdamW",
       Value::table({{"weight_decay", 0.1}, {"clip_threshold", 0.5}, {"epsilon_root", 1e-3}})},
      {"Lamb", Value::table({{"weight_decay", 0.1}, {"decay_vectors", false}})},
      {"Lars", Value::table({{"nesterov", true}, {"weight_decay", 0.1}})},
      {"Lion", Value::table({{"weight_decay", 0.1}, {"decay_vectors", false}})},
      {"Adam", Value::table({{"m_dtype", "bfloat16"}})},
      {"Lion", Value::table({{"weight_decay", 0.1}, {"m_dtype", "bfloat16"}})},
      {"Adagrad", Value::table()},
      {"RmsProp", Value::table({{"momentum", 0.5}, {"centered", true}})},
      {"Adafactor", Value::table({{"min_dim_size_to_factor", 2}, {"beta1", 0.9}})},
      {"Adafactor", Value::table({{"beta1", 0.9}, {"quantized_dtype", "int8"}})},
      {"Adafactor", Value::table({{"beta1", 0.9}, {"quantized_dtype", "bfloat16"}})},
      {"Regularized", Value::table({{"optimizer", adafactor_with_decay()},
                                    {"l1", 0.1},
                                    {"l2", 0.1},
                                    {"weight_decay", 0.1},
                                    {"decay_vectors", false}})},
  };
  return list;
}

}  // namespace

TEST_CASE("Sgd steps against the gradient") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  check(three_updates(backend, optimizer("Sgd", Value::table())), 0.95, 1.05, 0.85);
}

TEST_CASE("Sgd's momentum, Nesterov's and l2 penalty follow their formulas") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  check(three_updates(backend, optimizer("Sgd", Value::table({{"momentum", 0.9}}))), 0.95, 1.005,
        0.8545);
  check(three_updates(backend,
                      optimizer("Sgd", Value::table({{"momentum", 0.9}, {"nesterov", true}}))),
        0.905, 1.0545, 0.71905);
  check(three_updates(backend,
                      optimizer("Sgd", Value::table({{"momentum", 0.9}, {"weight_decay", 0.01}}))),
        0.949, 1.002151, 0.848984749);
}

TEST_CASE("a learning rate inside the momentum is Keras' and Model Garden's") {
  // Worked out from v = momentum v + lr g, w -= v (Keras' SGD), with a rate of 0.1, 0.01, 0.02.
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto updates = [&](const std::string& name, Value more) {
    more.set("learning_rate_in_momentum", true);
    return three_updates(backend, optimizer(name, std::move(more)), {}, {0.5f, -1.0f, 2.0f},
                         std::make_unique<Changing>());
  };
  check(updates("Sgd", Value::table({{"momentum", 0.9}})), 0.95, 0.915, 0.8435);
  check(updates("Sgd", Value::table({{"momentum", 0.9}, {"nesterov", true}})), 0.905, 0.8835,
        0.77915);
  check(updates("Sgd", Value::table({{"momentum", 0.9}, {"weight_decay", 0.01}})), 0.949, 0.9130051,
        0.84042708898);
  check(updates("RmsProp", Value::table({{"momentum", 0.5}})), 0.6837724339830356,
        0.554230071382719, 0.4334614177517668);
  for (const char* name : {"Sgd", "RmsProp"}) {
    CHECK_THROWS_WITH(updates(name, Value::table()), Catch::Contains("needs a momentum above 0"));
  }
}

TEST_CASE("a pattern of weight decay that fits no variable is named") {
  const auto refused = [](const std::string& name, const char* field) {
    Fixture fixture("tiny/Backend");
    const Value fields = Value::table({{field, Value::array({"body", "bais"})}});
    try {
      trivet::Learner learner(fixture.store, optimizer(name, fields), rate(0.1));
    } catch (const trivet::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  for (const char* name : {"Sgd", "AdamW", "Lamb", "Lars", "Lion", "Adafactor"}) {
    for (const char* field : {"exclude_from_weight_decay", "include_in_weight_decay"}) {
      CHECK_THAT(refused(name, field),
                 Catch::Contains(std::string("trainer.optimizer.") + field) &&
                     Catch::Contains("'bais' matches the path of no variable"));
    }
  }
  CHECK_THAT(refused("Lamb", "exclude_from_layer_adaptation"),
             Catch::Contains("trainer.optimizer.exclude_from_layer_adaptation"));
}

TEST_CASE("a regularized optimizer has the penalties and the decay of those that have their own") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto updates = [&](Value fields, Value inner, trivet::GradientClipConfig clip = {}) {
    fields.set("optimizer", std::move(inner));
    return three_updates(backend, optimizer("Regularized", std::move(fields)), clip);
  };
  // Sgd with an l2 penalty, and AdamW, as above and below.
  check(updates(Value::table({{"l2", 0.01}}),
                Value::table({{"type", "optim/Sgd"}, {"momentum", 0.9}})),
        0.949, 1.002151, 0.848984749);
  check(updates(Value::table({{"weight_decay", 0.1}}), Value::table({{"type", "optim/Adam"}})),
        0.890000002, 0.9177103542205653, 0.8665676891558989);
  // w -= 0.1 (g + 0.2 sign(w)) for the gradients 0.5, -1 and 2.
  const Value sgd = Value::table({{"type", "optim/Sgd"}});
  check(updates(Value::table({{"l1", 0.2}}), sgd), 0.93, 1.01, 0.79);
  // Only the gradient of the loss is clipped, here to 0.25.
  check(updates(Value::table({{"l1", 0.2}}), sgd, {.global_norm = 0.25}), 0.955, 0.96, 0.915);
}

TEST_CASE("Adam is the textbook one, with epsilon inside the bias correction") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  check(three_updates(backend, optimizer("Adam", Value::table())), 0.900000002, 0.9366103542405654,
        0.8946447927181046);
  // A large epsilon shows its position: outside the correction the first value would be 0.98635.
  check(three_updates(backend, optimizer("Adam", Value::table({{"epsilon", 0.1}}))),
        0.9166666666666666, 0.9491666742648452, 0.9101494815304508);
}

TEST_CASE("Adam with epsilon_hat is Model Garden's and Keras'") {
  // w -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon), Kingma and Ba, section 2.
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto updates = [&](double epsilon) {
    return three_updates(
        backend, optimizer("Adam", Value::table({{"epsilon", epsilon}, {"epsilon_hat", true}})));
  };
  check(updates(0.1), 0.9863472940504185, 0.9959093534931538, 0.9782791963329363);
  check(updates(1e-7), 0.9000006324515321, 0.9366108815953381, 0.894645377681933);
}

TEST_CASE("AdamW's decay is decoupled from the gradient") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  check(three_updates(backend, optimizer("AdamW", Value::table({{"weight_decay", 0.1}}))),
        0.890000002, 0.9177103542205653, 0.8665676891558989);
}

TEST_CASE("amsgrad divides by the largest mean of squares so far") {
  // Gradients that fall, so that v falls, too: after the first update v is 0.4, then 0.361 and
  // 0.3259. Worked out from the formula in double; without amsgrad the last value would be 0.77328.
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto updates = [&](const std::string& name, Value more) {
    more.set("beta2", 0.9);
    more.set("amsgrad", true);
    return three_updates(backend, optimizer(name, std::move(more)), {}, {2.0f, 0.1f, -0.1f});
  };
  check(updates("Adam", Value::table()), 0.9000000005, 0.8310797572145489, 0.7821794901089705);
  check(updates("Adam", Value::table({{"epsilon", 0.1}, {"epsilon_hat", true}})),
        0.9136527059495814, 0.8541419404094793, 0.8119178826328376);
  check(updates("AdamW", Value::table({{"weight_decay", 0.1}})), 0.8900000005, 0.8121797572095488,
        0.7551576925318749);
}

TEST_CASE("AdamW without decay is Adam, bit for bit") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  CHECK(three_updates(backend, optimizer("AdamW", Value::table())) ==
        three_updates(backend, optimizer("Adam", Value::table())));
}

TEST_CASE("the global clip reaches the optimizer") {
  // Every gradient is cut to length 0.5: 0.5, -0.5, 0.5.
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  check(three_updates(backend, optimizer("Sgd", Value::table()), {.global_norm = 0.5}), 0.95, 1.0,
        0.95);
}

TEST_CASE("one update of a merged segment is that of its variables, bit for bit") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto& [name, fields] = GENERATE(from_range(all_optimizers()));
  INFO(backend << " " << name);
  Fixture merged(backend), apart(backend);
  trivet::Learner merged_learner(merged.store, optimizer(name, fields), rate(0.05));
  trivet::Learner apart_learner(apart.store, std::make_unique<PerVariable>(optimizer(name, fields)),
                                rate(0.05));
  for (int i = 0; i < 4; ++i) {
    merged.step(merged_learner);
    apart.step(apart_learner);
  }
  CHECK(merged.bytes(merged_learner) == apart.bytes(apart_learner));
}

TEST_CASE("weights, slots and the step suffice to resume an optimizer exactly") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto& [name, fields] = GENERATE(from_range(all_optimizers()));
  INFO(backend << " " << name);
  Fixture straight(backend), stopped(backend), resumed(backend);
  trivet::Learner straight_learner(straight.store, optimizer(name, fields), rate(0.05));
  trivet::Learner stopped_learner(stopped.store, optimizer(name, fields), rate(0.05));
  trivet::Learner resumed_learner(resumed.store, optimizer(name, fields), rate(0.05));
  for (int i = 0; i < 6; ++i) straight.step(straight_learner);
  for (int i = 0; i < 3; ++i) stopped.step(stopped_learner);
  for (std::size_t i = 0; i < 3; ++i) {
    trivet::Tensor to = resumed.store.parameters()[i]->value();
    to.assign_bytes(stopped.store.parameters()[i]->value().to_bytes());
  }
  auto to = resumed_learner.slots();
  const auto from = stopped_learner.slots();
  REQUIRE(to.size() == from.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i].second.assign_bytes(from[i].second.to_bytes());
  resumed_learner.set_step(stopped_learner.step());
  for (int i = 0; i < 3; ++i) resumed.step(resumed_learner);
  CHECK(resumed.bytes(resumed_learner) == straight.bytes(straight_learner));
}

TEST_CASE("decay excludes patterns, and includes win") {
  Fixture fixture("tiny/Backend");
  const auto group = [&](const Optimizer& optimizer, const char* path) {
    return optimizer.group_of(*fixture.store.find(path));
  };
  Value fields = Value::table({{"weight_decay", 0.1}});
  fields.set("exclude_from_weight_decay", Value::array({"/b$", "head"}));
  const auto excluding = optimizer("AdamW", fields);
  CHECK(group(*excluding, "body/w") == 0);
  CHECK(group(*excluding, "body/b") == 1);
  CHECK(group(*excluding, "head/w") == 1);
  fields.set("include_in_weight_decay", Value::array({"^head/"}));
  CHECK(group(*optimizer("AdamW", fields), "head/w") == 0);
  const auto matrices =
      optimizer("Sgd", Value::table({{"weight_decay", 0.1}, {"decay_vectors", false}}));
  CHECK(group(*matrices, "body/w") == 0);
  CHECK(group(*matrices, "body/b") == 1);
}

TEST_CASE("variables excluded from decay are updated without it") {
  Fixture fixture("tiny/Backend");
  Value fields = Value::table({{"weight_decay", 1.0}});
  fields.set("exclude_from_weight_decay", Value::array({"body/b"}));
  trivet::Learner learner(fixture.store, optimizer("AdamW", fields), rate(0.25));
  const auto before_w = fixture.store.find("head/w")->value().to_host<float>();
  const auto before_b = fixture.store.find("body/b")->value().to_host<float>();
  learner.begin().apply_gradients();  // of zero gradients: decay alone
  const auto after_w = fixture.store.find("head/w")->value().to_host<float>();
  for (std::size_t i = 0; i < after_w.size(); ++i) CHECK(after_w[i] == Approx(0.75 * before_w[i]));
  CHECK(fixture.store.find("body/b")->value().to_host<float>() == before_b);
}

TEST_CASE("slots are named, and there are none without momentum") {
  CHECK(optimizer("Sgd", Value::table())->slots().empty());
  CHECK(optimizer("Sgd", Value::table({{"momentum", 0.5}}))->slots() ==
        std::vector<std::string>{"momentum"});
  CHECK(optimizer("Adam", Value::table())->slots() == std::vector<std::string>{"m", "v"});
  CHECK(optimizer("AdamW", Value::table())->slots() == std::vector<std::string>{"m", "v"});
  CHECK(optimizer("Adam", Value::table({{"amsgrad", true}}))->slots() ==
        std::vector<std::string>{"m", "v", "v_max"});
}

TEST_CASE("optimizers refuse invalid settings, naming the field") {
  CHECK_THROWS_WITH(optimizer("Sgd", Value::table({{"nesterov", true}})),
                    Catch::Contains("nesterov") && Catch::Contains("momentum"));
  Value fields = Value::table();
  fields.set("exclude_from_weight_decay", Value::array({"(unclosed"}));
  CHECK_THROWS_WITH(optimizer("AdamW", fields),
                    Catch::Contains("exclude_from_weight_decay") && Catch::Contains("'(unclosed'"));
  CHECK_THROWS_WITH(optimizer("Adam", Value::table({{"beta1", 1.0}})), Catch::Contains("beta1"));
}

}  // namespace optim_optimizers_test
