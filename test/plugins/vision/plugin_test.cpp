// SPDX-License-Identifier: Apache-2.0
// The vision plugin, made by its keys as a config does: loss, metrics, confusion matrix, models.
#include <cmath>
#include <filesystem>
#include <limits>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/metric.h"
#include "trivet/plugin/registry.h"
#include "trivet/task.h"

namespace vision_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

struct Fixture {
  explicit Fixture(const std::string& backend = backends().front())
      : device(open_device(backend)), store(*device, RngKey(7)) {
    for (const char* plugin : {"nn", "vision"}) use_plugin(plugin);
  }
  Tensor floats(const std::vector<float>& values, const Shape& shape) {
    return Tensor::from(*device, std::span<const float>(values), shape);
  }
  Tensor labels(const std::vector<std::int32_t>& values) {
    return Tensor::from(*device, std::span<const std::int32_t>(values),
                        {static_cast<std::int64_t>(values.size())});
  }
  std::unique_ptr<Task> task(Value fields, std::filesystem::path logging_dir = {}) {
    TaskContext context{*device, std::move(logging_dir)};
    return make(ConfigOf<Task>("vision/ImageClassification", std::move(fields)), context);
  }
  std::unique_ptr<Model> model(const std::string& key, Value fields) {
    Scope scope(store);
    auto made = make(ConfigOf<Model>(key, std::move(fields)), scope);
    store.build();
    return made;
  }
  void set(const std::string& path, const std::vector<float>& values) {
    Parameter* parameter = store.find(path);
    if (parameter == nullptr) throw Error("no parameter " + path);
    parameter->assign(floats(values, parameter->shape()));
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
};

std::unique_ptr<Metric> metric(const std::string& key, Value fields = Value::table()) {
  use_plugin("vision");
  return make(ConfigOf<Metric>(key, std::move(fields)));
}

double only(const Logs& logs) {
  REQUIRE(logs.size() == 1);
  return logs.begin()->second;
}

// Four examples of three classes; the last is padding. Predictions 2, 0, 1, 0.
struct FourExamples : Fixture {
  using Fixture::Fixture;
  Batch batch = {{"label", labels({2, 1, 1, 0})}, {"weight", floats({1, 1, 1, 0}, {4})}};
  NestedMap outputs = {{"logits", floats({0, 1, 2, 3, 2, 1, 0, 5, 1, 9, 0, 0}, {4, 3})}};
};

double log_sum_exp(const std::vector<double>& row) {
  double sum = 0;
  for (const double x : row) sum += std::exp(x);
  return std::log(sum);
}

}  // namespace

TEST_CASE("accuracy counts examples of weight 1 whose label has the largest logit") {
  FourExamples four;
  const auto accuracy = metric("vision/Accuracy");
  CHECK(only(accuracy->result()) == 0);
  accuracy->update_state(four.batch, four.outputs);
  CHECK(accuracy->result().begin()->first == "accuracy");
  CHECK(only(accuracy->result()) == 2.0 / 3);
  const auto top_2 = metric("vision/TopK", Value::table({{"k", 2}}));
  top_2->update_state(four.batch, four.outputs);
  CHECK(top_2->result().begin()->first == "top_2_accuracy");
  CHECK(only(top_2->result()) == 1);

  // Saved in the middle and restored into a new one, it continues; reset restarts it.
  const auto other = metric("vision/Accuracy", Value::table({{"name", "mine"}}));
  other->restore_state(accuracy->save_state());
  four.batch.set("label", four.labels({0, 0, 0, 0}));
  other->update_state(four.batch, four.outputs);
  CHECK(other->result().begin()->first == "mine");
  CHECK(only(other->result()) == 3.0 / 6);
  other->reset_state();
  CHECK(only(other->result()) == 0);
  CHECK_THROWS_AS(other->restore_state(Value::table()), Error);
}

TEST_CASE("of equal logits the lower class wins, and one that is not a number never hits") {
  Fixture fixture;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Batch batch = {{"label", fixture.labels({0, 1, 0, 7})}};
  const NestedMap outputs = {{"logits", fixture.floats({1, 1, 1, 1, nan, 0, 0, 0}, {4, 2})}};
  const auto accuracy = metric("vision/Accuracy");
  accuracy->update_state(batch, outputs);
  CHECK(only(accuracy->result()) == 1.0 / 4);
}

TEST_CASE("metrics refuse logits and labels that do not fit") {
  FourExamples four;
  const auto accuracy = metric("vision/Accuracy");
  four.batch.set("label", four.labels({1, 2}));
  CHECK_THROWS_WITH(accuracy->update_state(four.batch, four.outputs),
                    Contains("expected logits [B, classes] and label i32 [B]"));
  CHECK_THROWS_WITH(accuracy->update_state(four.batch, {}), Contains("logits"));
}

TEST_CASE("the loss is the weighted mean of softmax cross entropy") {
  for (const std::string& backend : backends()) {
    FourExamples four(backend);
    const double losses[] = {log_sum_exp({0, 1, 2}) - 2, log_sum_exp({3, 2, 1}) - 2,
                             log_sum_exp({0, 5, 1}) - 5};
    const double expected = (losses[0] + losses[1] + losses[2]) / 3;
    FpropContext context;
    double weight = 0;
    const auto task = four.task(Value::table({{"num_classes", 3}, {"top_k", 2}}));
    const auto loss = [&] {
      const WeightedScalar made = task->build_losses(four.batch, four.outputs, context);
      weight = made.weight;
      return static_cast<double>(made.value.item());
    };
    // f32 of numbers around 1.
    CHECK(loss() == Approx(expected).epsilon(1e-6));
    CHECK(weight == 3);
    context.aux_losses.set("a", Tensor::scalar(*four.device, 0.5F));
    CHECK(loss() == Approx(expected + 0.5).epsilon(1e-6));
    four.batch.erase("weight");
    context.aux_losses = {};
    const double fourth = log_sum_exp({9, 0, 0}) - 9;
    CHECK(loss() == Approx((3 * expected + fourth) / 4).epsilon(1e-6));
    CHECK(weight == 4);
  }
}

TEST_CASE("label smoothing mixes the label with the mean of all classes") {
  FourExamples four;
  const auto task =
      four.task(Value::table({{"num_classes", 3}, {"top_k", 2}, {"label_smoothing", 0.3}}));
  four.batch = {{"label", four.labels({2})}};
  four.outputs = {{"logits", four.floats({0, 1, 2}, {1, 3})}};
  FpropContext context;
  // Szegedy et al. 2016: target 0.7 + 0.1 on the label, 0.1 elsewhere.
  const double expected = log_sum_exp({0, 1, 2}) - (0.8 * 2 + 0.1 * 1 + 0.1 * 0);
  CHECK(task->build_losses(four.batch, four.outputs, context).value.item() ==
        Approx(expected).epsilon(1e-6));
}

TEST_CASE("the task has accuracy and top-k, named after k, and refuses odd logits") {
  FourExamples four;
  const auto task = four.task(Value::table({{"num_classes", 3}, {"top_k", 2}}));
  const Metrics metrics = task->build_metrics(Phase::training);
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0]->result().begin()->first == "accuracy");
  CHECK(metrics[1]->result().begin()->first == "top_2_accuracy");
  FpropContext context;
  four.outputs = {{"logits", four.floats(std::vector<float>(8), {4, 2})}};
  CHECK_THROWS_WITH(task->build_losses(four.batch, four.outputs, context),
                    Contains("expected logits [B, 3]"));
  CHECK_THROWS_AS(four.task(Value::table({{"num_classes", 3}, {"top_k", 4}})), ConfigError);
}

TEST_CASE("the confusion matrix is a file, and precision and recall are means over classes") {
  FourExamples four;
  const TempDir dir;
  const auto task = four.task(
      Value::table({{"num_classes", 3}, {"top_k", 1}, {"confusion_matrix", true}}), dir.path());
  StepOutput step;
  step.batch = four.batch;
  step.outputs = four.outputs;
  auto state = task->aggregate_logs(nullptr, step);
  state = task->aggregate_logs(std::move(state), step);
  REQUIRE(state != nullptr);
  const Logs logs = task->reduce_aggregated_logs(*state, 10);
  // Labels 2, 1, 1 taken for 2, 0, 1: class 1 has precision 1 and recall 1/2, class 2 has 1 and 1;
  // class 0 does not occur.
  CHECK(*logs.find("macro_precision") == 1);
  CHECK(*logs.find("macro_recall") == 0.75);
  CHECK(read_file(dir / "confusion_matrix.csv") ==
        "label,predicted_0,predicted_1,predicted_2\n0,0,0,0\n1,2,2,0\n2,0,0,2\n");
  const auto plain = four.task(
      Value::table({{"num_classes", 3}, {"top_k", 1}, {"confusion_matrix", false}}), dir.path());
  CHECK(plain->aggregate_logs(nullptr, step) == nullptr);
}

TEST_CASE("the MLP computes relu(x w + b) w + b over the flattened image") {
  for (const std::string& backend : backends()) {
    Fixture fixture(backend);
    const auto model =
        fixture.model("vision/Mlp", Value::table({{"image_shape", Value::array({1, 2, 1})},
                                                  {"hidden_dims", Value::array({2})},
                                                  {"num_classes", 2}}));
    REQUIRE(fixture.store.parameters().size() == 4);
    fixture.set("hidden_0/w", {1, -1, 2, 1});
    fixture.set("hidden_0/b", {0.5, 0});
    fixture.set("output/w", {1, 2, 3, 4});
    fixture.set("output/b", {0, -1});
    FpropContext context;
    const auto outputs =
        model->fprop({{"image", fixture.floats({1, 2, 3, 1}, {2, 1, 2, 1})}}, context);
    // Hidden: (5.5, 1) and (5.5, relu(-2) = 0).
    CHECK(outputs.at("logits").to_host<float>() == std::vector<float>{8.5, 14, 5.5, 10});
    CHECK_THROWS_WITH(model->fprop({{"image", fixture.floats({1, 2}, {1, 2, 1, 1})}}, context),
                      Contains("vision/Mlp: expected images [B, 1, 2, 1]"));
  }
}

TEST_CASE("the CNN is convolution, relu and 2 x 2 max pooling, then two layers") {
  for (const std::string& backend : backends()) {
    Fixture fixture(backend);
    const auto model =
        fixture.model("vision/Cnn", Value::table({{"image_shape", Value::array({2, 2, 1})},
                                                  {"channels", Value::array({1})},
                                                  {"hidden_dims", 1},
                                                  {"num_classes", 2}}));
    CHECK(fixture.store.find("conv_0/w")->shape() == Shape{3, 3, 1, 1});
    fixture.set("conv_0/w", {0, 0, 0, 0, 2, 1, 0, 0, 0});  // 2 x + the pixel to the right
    fixture.set("conv_0/b", {1});
    fixture.set("hidden/w", {3});
    fixture.set("hidden/b", {-1});
    fixture.set("output/w", {1, -1});
    fixture.set("output/b", {0, 5});
    FpropContext context;
    const auto outputs = model->fprop(
        {{"image", fixture.floats({1, 2, 3, -9, -1, -1, -2, -1}, {2, 2, 2, 1})}}, context);
    // First image: 5, 5, -2, -17 -> 5 -> 14. Second: all negative but 1 - 2 - 1: 0 -> relu(-1) = 0.
    CHECK(outputs.at("logits").to_host<float>() == std::vector<float>{14, -9, 0, 5});
  }
}

TEST_CASE("the models' shapes follow their configs") {
  Fixture fixture;
  const auto cnn = fixture.model("vision/Cnn", Value::table());
  // 28 x 28 halved twice is 7 x 7; 3 x 3 filters.
  CHECK(fixture.store.find("conv_1/w")->shape() == Shape{3, 3, 32, 64});
  CHECK(fixture.store.find("hidden/w")->shape() == Shape{7 * 7 * 64, 128});
  CHECK(fixture.store.trainable_count() ==
        9 * 32 + 32 + 9 * 32 * 64 + 64 + 3136 * 128 + 128 + 128 * 10 + 10);
  FpropContext context;
  const Tensor image = fixture.floats(random_values(3 * 784, 1), {3, 28, 28, 1});
  CHECK(cnn->fprop({{"image", image}}, context).at("logits").shape() == Shape{3, 10});

  Fixture other;
  const auto mlp =
      other.model("vision/Mlp",
                  Value::table({{"hidden_dims", Value::array({5, 4})}, {"activation", "nn/Tanh"}}));
  CHECK(other.store.trainable_count() == 784 * 5 + 5 + 5 * 4 + 4 + 4 * 10 + 10);
}

TEST_CASE("configs of models that cannot be are refused") {
  Fixture fixture;
  CHECK_THROWS_AS(
      fixture.model("vision/Cnn", Value::table({{"image_shape", Value::array({4, 28, 1})},
                                                {"channels", Value::array({1, 1, 1})}})),
      ConfigError);
  CHECK_THROWS_AS(
      fixture.model("vision/Mlp", Value::table({{"image_shape", Value::array({28, 28})}})),
      ConfigError);
}

}  // namespace vision_test
