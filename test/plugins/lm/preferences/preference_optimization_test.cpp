// SPDX-License-Identifier: Apache-2.0
// Preference optimization: the loss of Rafailov et al. 2023 in double precision, its gradients, the
// reference, metrics by hand, and what the task refuses.
#include "lm/preferences/preference_optimization.h"

#include <cmath>
#include <deque>
#include <limits>

#include <catch2/catch.hpp>

#include "lm/models/language_model.h"
#include "lm/preferences/preference_metrics.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/task.h"
#include "trivet/tensor/meta_device.h"

namespace preference_optimization_test {
namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kTokens = 256, kLength = 5;

LanguageModelConfig small_model() {
  LanguageModelConfig config;
  config.vocab_size = kTokens;
  config.model_dims = 8;
  config.num_layers = 1;
  config.num_heads = 2;
  config.max_seq_len = 8;
  return config;
}

struct Fixture {
  explicit Fixture(LanguageModelConfig model_config = small_model(),
                   PreferenceOptimizationConfig config = {})
      : device(test::open_device("tiny/Backend")), store(*device, RngKey(7)) {
    for (const char* name : {"nn", "lm", "tokenizers"}) test::use_plugin(name);
    config.tokenizer = "tokenizers/Bytes";
    config.model = {"lm/LanguageModel", encode(model_config)};
    TaskContext context{*device, {}};
    task = std::make_unique<PreferenceOptimization>(config, context);
    Scope scope(store);
    model = task->build_model(config.model, scope);
    store.build();
  }

  Tensor rows(const Ids& ids) const {
    return Tensor::from<std::int32_t>(*device, ids, {std::ssize(ids) / kLength, kLength});
  }

  // Two pairs of rows of five positions; the second has weight 0 where `one` is set.
  Batch batch(bool one = false) const {
    Batch batch;
    batch.set("chosen/ids", rows({1, 2, 3, 4, 5, 9, 8, 7, 6, 5}));
    batch.set("chosen/labels", rows({2, 3, 4, 5, 6, 8, 7, 6, 5, 4}));
    batch.set("rejected/ids", rows({1, 2, 30, 40, 0, 9, 8, 7, 60, 0}));
    batch.set("rejected/labels", rows({2, 30, 40, 50, 0, 8, 7, 60, 70, 0}));
    const auto weights = [&](const std::vector<float>& values) {
      return Tensor::from<float>(*device, values, {2, kLength});
    };
    batch.set("chosen/weights", weights({0, 1, 1, 1, 1, 0, 0, 1, 1, 1}));
    batch.set("rejected/weights", weights({0, 1, 1, 1, 0, 0, 0, 1, 1, 0}));
    batch.set("weight",
              Tensor::from<float>(*device, std::vector<float>{1, one ? 0.0F : 1.0F}, {2}));
    return batch;
  }

  // Other weights of the reference than of the policy.
  void part(double stddev = 0.3) {
    std::uint64_t seed = 0;
    for (const auto& parameter : store.parameters()) {
      if (!parameter->path().starts_with("reference/")) continue;
      parameter->assign(Tensor::from<float>(
          *device, test::random_values(parameter->shape().size(), ++seed, stddev),
          parameter->shape()));
    }
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<PreferenceOptimization> task;
  std::unique_ptr<Model> model;
};

// Sums of log softmax in double, of the logits of a language model with the fixture's weights below
// `prefix`.
std::vector<double> row_scores(const Fixture& fixture, const std::string& prefix,
                               const std::string& side) {
  ParameterStore store(*fixture.device, RngKey(1));
  Scope scope(store);
  LanguageModel model(small_model(), scope);
  store.build();
  for (const auto& parameter : store.parameters()) {
    parameter->assign(fixture.store.find(prefix + parameter->path())->value());
  }
  FpropContext context;
  const Batch batch = fixture.batch().child(side);
  const std::vector<float> logits =
      model.fprop({{"ids", batch.at("ids")}}, context).at("logits").to_host<float>();
  const Ids labels = batch.at("labels").to_host<std::int32_t>();
  const std::vector<float> weights = batch.at("weights").to_host<float>();
  std::vector<double> scores(2, 0);
  for (std::size_t at = 0; at < labels.size(); ++at) {
    const float* const z = &logits[at * kTokens];
    double sum = 0;
    for (std::int64_t i = 0; i < kTokens; ++i) sum += std::exp(double{z[i]});
    scores[at / kLength] += double{weights[at]} * (double{z[labels[at]]} - std::log(sum));
  }
  return scores;
}

struct Expected {
  explicit Expected(const Fixture& fixture, double beta, std::vector<double> weight = {1, 1}) {
    const auto policy_w = row_scores(fixture, "", "chosen"),
               policy_l = row_scores(fixture, "", "rejected"),
               reference_w = row_scores(fixture, "reference/", "chosen"),
               reference_l = row_scores(fixture, "reference/", "rejected");
    double total = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      chosen.push_back(beta * (policy_w[i] - reference_w[i]));
      rejected.push_back(beta * (policy_l[i] - reference_l[i]));
      loss += weight[i] * -std::log(1 / (1 + std::exp(rejected[i] - chosen[i])));
      total += weight[i];
    }
    loss /= total;
  }
  std::vector<double> chosen, rejected;
  double loss = 0;
};

double loss_of(Fixture& fixture, bool train = false) {
  FpropContext context;
  context.train = train;
  const NestedMap outputs = fixture.model->fprop(fixture.batch(), context);
  return double{fixture.task->build_losses(fixture.batch(), outputs, context).value.item()};
}

}  // namespace

TEST_CASE("the loss of preferences is -log sigmoid of the rewards' difference, in float64",
          "[lm]") {
  PreferenceOptimizationConfig config;
  config.beta = 0.25;
  Fixture fixture(small_model(), config);
  fixture.part();
  const Expected want(fixture, 0.25);
  FpropContext context;
  const NestedMap outputs = fixture.model->fprop(fixture.batch(), context);
  CHECK(outputs.at("dpo_loss").item() == Approx(want.loss).epsilon(1e-5));
  CHECK(test::largest_error(outputs.at("chosen_reward").to_host<float>(), want.chosen) < 1e-5);
  CHECK(test::largest_error(outputs.at("rejected_reward").to_host<float>(), want.rejected) < 1e-5);
  const auto chosen = row_scores(fixture, "", "chosen");
  CHECK(outputs.at("chosen_xent").item() == Approx(-(chosen[0] + chosen[1]) / 7).epsilon(1e-5));
  const WeightedScalar loss = fixture.task->build_losses(fixture.batch(), outputs, context);
  CHECK(loss.value.item() == outputs.at("dpo_loss").item());
  CHECK(loss.weight == 2);
  // A pair that only fills the batch does not count.
  const NestedMap one = fixture.model->fprop(fixture.batch(true), context);
  CHECK(one.at("dpo_loss").item() == Approx(Expected(fixture, 0.25, {1, 0}).loss).epsilon(1e-5));
  CHECK(one.at("total_weight").item() == 1);
}

TEST_CASE("a policy that equals its reference has the loss ln 2", "[lm]") {
  LanguageModelConfig config = small_model();
  config.dropout = 0.5;  // the reference never has it
  Fixture fixture(config);
  for (const auto& parameter : fixture.store.parameters()) {
    if (!parameter->path().starts_with("reference/")) {
      fixture.store.find("reference/" + parameter->path())->assign(parameter->value());
    }
  }
  CHECK(loss_of(fixture) == Approx(std::log(2.0)).epsilon(1e-6));
  CHECK(std::abs(loss_of(fixture, true) - std::log(2.0)) > 1e-4);
  const auto range = fixture.task->expected_initial_loss();
  CHECK((range.low < std::log(2.0) && std::log(2.0) < range.high));
}

TEST_CASE("gradients of the preference loss match differences, and the reference has none",
          "[lm]") {
  PreferenceOptimizationConfig config;
  config.beta = 0.5;
  Fixture fixture(small_model(), config);
  fixture.part();
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    FpropContext context;
    context.train = true;
    const NestedMap outputs = fixture.model->fprop(fixture.batch(), context);
    loss = fixture.task->build_losses(fixture.batch(), outputs, context).value;
  }
  fixture.store.begin_gradients();
  tape.backward(loss);
  fixture.store.end_gradients();
  int checked = 0;
  for (const auto& parameter : fixture.store.parameters()) {
    INFO(parameter->path());
    if (parameter->path().starts_with("reference/")) {
      CHECK_FALSE(parameter->trainable());
      continue;
    }
    CHECK(parameter->has_gradient());
    const std::vector<float> gradient = parameter->gradient().to_host<float>();
    const std::vector<float> values = parameter->value().to_host<float>();
    // The largest element, and one in the middle.
    std::size_t largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      if (std::abs(gradient[i]) > std::abs(gradient[largest])) largest = i;
    }
    for (const std::size_t i : {largest, gradient.size() / 2}) {
      const auto at = [&](double step) {
        std::vector<float> moved = values;
        moved[i] = static_cast<float>(moved[i] + step);
        parameter->assign(Tensor::from<float>(*fixture.device, moved, parameter->shape()));
        return loss_of(fixture);
      };
      const double difference = (at(1e-2) - at(-1e-2)) / 2e-2;
      parameter->assign(Tensor::from<float>(*fixture.device, values, parameter->shape()));
      CHECK(double{gradient[i]} == Approx(difference).epsilon(0.02).margin(1e-3));
      ++checked;
    }
  }
  CHECK(checked > 20);
}

TEST_CASE("the scores of labels leave out label smoothing and z-loss", "[lm]") {
  LanguageModelConfig config = small_model();
  config.softmax_tpl = {"nn/SharedEmbeddingSoftmax",
                        Value::table({{"label_smoothing_prob", 0.3}, {"z_loss_weight", 1.0}})};
  Fixture fixture(config);
  fixture.part();
  CHECK(loss_of(fixture, true) == Approx(Expected(fixture, 0.1).loss).epsilon(1e-5));
}

TEST_CASE("blocks that share weights are the policy's or the reference's", "[lm]") {
  LanguageModelConfig config = small_model();
  config.num_layers = 2;
  config.block_tpl = {"nn/TransformerBlock", Value::table({{"shared", "block"}})};
  const Fixture fixture(config);
  std::size_t own = 0, reference = 0;
  for (const auto& parameter : fixture.store.parameters()) {
    ++(parameter->path().starts_with("reference/") ? reference : own);
    CHECK(parameter->trainable() == !parameter->path().starts_with("reference/"));
  }
  CHECK(own == reference);
}

TEST_CASE("policy and reference start from the checkpoint, whatever the rules", "[lm]") {
  const test::TempDir dir;
  const Fixture source;
  std::vector<SafetensorsEntry> entries;
  std::deque<std::vector<float>> values;
  for (const auto& parameter : source.store.parameters()) {
    const bool is_table = parameter->path() == "softmax/table";
    if (parameter->path().starts_with("reference/")) continue;
    const std::vector<float>& own = values.emplace_back(parameter->value().to_host<float>());
    entries.push_back({.name = is_table ? "renamed/table" : parameter->path(),
                       .shape = parameter->shape(),
                       .data = std::as_bytes(std::span(own))});
  }
  write_safetensors(dir / "model.safetensors", entries);
  PreferenceOptimizationConfig config;
  config.init_checkpoint.text = (dir / "model.safetensors").string();
  config.init_load.rules = {{"softmax/(.*)", "renamed/$1"}};
  config.init_load.ignore = {"final_norm/.*"};
  Fixture fixture(small_model(), config);
  for (const auto& parameter : fixture.store.parameters()) {
    parameter->assign(Tensor::full(*fixture.device, parameter->shape(), 0.5F));
  }
  fixture.task->initialize(fixture.store);
  for (const auto& parameter : source.store.parameters()) {
    const std::string& path = parameter->path();
    if (path.starts_with("reference/")) continue;
    INFO(path);
    const auto got = fixture.store.find(path)->value().to_host<float>();
    CHECK(fixture.store.find("reference/" + path)->value().to_host<float>() == got);
    const bool ignored = path.starts_with("final_norm/");
    CHECK((got == parameter->value().to_host<float>()) == !ignored);
  }
  // The report is about the policy.
  REQUIRE(fixture.task->init_report().has_value());
  CHECK(2 * fixture.task->init_report()->entries.size() == fixture.store.parameters().size());
}

TEST_CASE("metrics of preferences by hand", "[lm]") {
  const auto device = test::open_device("tiny/Backend");
  PreferenceMetrics metrics;
  const auto update = [&](const std::vector<float>& chosen, const std::vector<float>& rejected,
                          const std::vector<float>& weight) {
    const auto column = [&](const std::vector<float>& x) {
      return Tensor::from<float>(*device, x, {std::ssize(x)});
    };
    metrics.update_state(
        {{"weight", column(weight)}},
        {{"chosen_reward", column(chosen)},
         {"rejected_reward", column(rejected)},
         {"chosen_log_probability", column(std::vector<float>(chosen.size(), -3))},
         {"rejected_log_probability", column(std::vector<float>(chosen.size(), -5))}});
  };
  CHECK(*metrics.result().find("num_pairs") == 0);
  CHECK(metrics.result().find("reward_accuracy") == nullptr);
  update({1, 2, 9}, {0, 3, 0}, {1, 1, 0});
  update({4, 1}, {4, 0}, {1, 1});  // equal rewards are no preference
  PreferenceMetrics again, merged;
  again.restore_state(metrics.save_state());
  merged.merge(metrics.save_state());
  for (const PreferenceMetrics* each : {&metrics, &again, &merged}) {
    CHECK(*each->result().find("reward_accuracy") == Approx(0.5));
    // sigmoid of the margins 1, -1, 0 and 1, by hand
    CHECK(*each->result().find("p_correct_ranking") ==
          Approx((0.731058578630005 + 0.268941421369995 + 0.5 + 0.731058578630005) / 4));
    CHECK(*each->result().find("chosen_reward") == Approx(2));
    CHECK(*each->result().find("rejected_reward") == Approx(7.0 / 4));
    CHECK(*each->result().find("reward_margin") == Approx(0.25));
    CHECK(*each->result().find("rejected_log_probability") == Approx(-5));
    CHECK(*each->result().find("num_pairs") == 4);
  }
  CHECK_THROWS_WITH(again.restore_state(Value::table()), Contains("lacks 'sums'"));
  metrics.reset_state();
  CHECK(*metrics.result().find("num_pairs") == 0);
}

TEST_CASE("further losses and predictions of preferences", "[lm]") {
  PreferenceOptimizationConfig config;
  config.losses = {{"dpo_loss"}, {"chosen_xent", 0.5}};
  Fixture fixture(small_model(), config);
  fixture.part();
  FpropContext context;
  const NestedMap outputs = fixture.model->fprop(fixture.batch(true), context);
  CHECK(fixture.task->build_losses(fixture.batch(true), outputs, context).value.item() ==
        Approx(outputs.at("dpo_loss").item() + 0.5 * outputs.at("chosen_xent").item()));
  CHECK(fixture.task->build_metrics(Phase::training).size() == 2);
  const std::vector<Value> rows = fixture.task->predictions(fixture.batch(true), outputs);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].is_null());
  CHECK(rows[0].find("reward_margin")->as_float() ==
        Approx(outputs.at("chosen_reward").to_host<float>()[0] -
               outputs.at("rejected_reward").to_host<float>()[0]));
  CHECK(fixture.task->tokens(fixture.batch()) == 20);
}

TEST_CASE("preference optimization refuses what it cannot do", "[lm]") {
  LanguageModelConfig weighted = small_model();
  weighted.entropy_loss_weight = 0.1;
  CHECK_THROWS_WITH(Fixture(weighted), Contains("task.model.entropy_loss_weight"));
  Fixture fixture;
  CHECK_THROWS_WITH(fixture.task->initialize(fixture.store),
                    Contains("task.init_checkpoint") && Contains("trained model"));
  FpropContext context;
  CHECK_THROWS_WITH(fixture.model->fprop(fixture.batch().child("chosen"), context),
                    Contains("no pairs of answers"));
  PreferenceOptimizationConfig config;
  config.beta = std::numeric_limits<double>::infinity();
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "beta");
}

}  // namespace preference_optimization_test
