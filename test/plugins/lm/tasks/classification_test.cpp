// SPDX-License-Identifier: Apache-2.0
// Classifiers on encoders and their tasks: logits against float64, gradients, losses by hand, and
// errors.
#include <cmath>

#include <catch2/catch.hpp>

#include "lm/models/bert_classifier.h"
#include "lm/tasks/sentence_prediction.h"
#include "lm/tasks/tagging.h"
#include "plugins/data/jsonl.h"
#include "plugins/lm/models/encoder_fixture.h"
#include "trivet/error.h"
#include "trivet/task.h"

namespace lm_classification_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int32_t kVocabulary = 11;
constexpr std::size_t kDims = 8;

template <class Config>
Config small_config() {
  Config config;
  config.vocab_size = kVocabulary;
  config.model_dims = kDims;
  config.num_layers = 1;
  config.num_heads = 2;
  config.max_seq_len = 12;
  config.type_vocab_size = 2;
  config.embedding_norm_tpl = "nn/LayerNorm";
  config.num_classes = 3;
  return config;
}

using Classifier = EncoderFixture<lm::BertClassifier>;
using Tagger = EncoderFixture<lm::BertTagger>;

Rows classified(const auto& fixture, const Rows& h) {
  return affine(h, fixture.parameter("classifier/w"), fixture.parameter("classifier/b"));
}

Rows with_tanh(Rows rows) {
  for (Row& row : rows) {
    for (double& v : row) v = std::tanh(v);
  }
  return rows;
}

}  // namespace

TEST_CASE("the logits of classifiers on encoders are their formulas in float64", "[lm-classify]") {
  const Tokens ids = some_tokens(6, 3, kVocabulary), types = {0, 0, 0, 1, 1, 1};
  for (const std::string& backend : backends()) {
    INFO(backend);
    auto config = small_config<lm::BertClassifierConfig>();
    for (const bool pooled : {true, false}) {
      config.use_pooler = pooled;
      Classifier fixture(config, backend);
      Rows h = {reference_encoding(fixture, ids, types, 1)[0]};
      if (pooled) {
        h = with_tanh(affine(h, fixture.parameter("pooler/w"), fixture.parameter("pooler/b")));
      }
      const Batch batch = {{"ids", fixture.ids(ids, {1, 6})},
                           {"token_type_ids", fixture.ids(types, {1, 6})}};
      CHECK(fixture.run(batch).shape() == Shape{1, 3});
      CHECK(largest_error(fixture.values(batch), flattened({classified(fixture, h)})) < 1e-5);
    }
    Tagger tagger(small_config<lm::BertTaggerConfig>(), backend);
    const Rows logits = classified(tagger, reference_encoding(tagger, ids, Tokens(6, 0), 1));
    CHECK(largest_error(tagger.values({{"ids", tagger.ids(ids, {1, 6})}}), flattened({logits})) <
          1e-5);
  }
}

TEST_CASE("the gradients of classifiers on encoders match central differences", "[lm-classify]") {
  Classifier classifier(small_config<lm::BertClassifierConfig>());
  CHECK(classifier.gradient_check(
            {{"ids", classifier.ids(some_tokens(6, 6, kVocabulary), {2, 3})}}) == "");
  Tagger tagger(small_config<lm::BertTaggerConfig>());
  CHECK(tagger.gradient_check({{"ids", tagger.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                               {"tags", tagger.ids({-1, 2, 0, 1, -1, -1}, {2, 3})},
                               {"weights", tagger.numbers({0, 1, 1, 1, 0, 0}, {2, 3})}},
                              "avg_xent") == "");
}

TEST_CASE("padding does not affect classifiers", "[lm-classify]") {
  const Tokens ids = some_tokens(5, 8, kVocabulary);
  Tokens padded = ids;
  padded.insert(padded.end(), {3, 9});
  const std::vector<float> paddings = {0, 0, 0, 0, 0, 1, 1};
  Classifier classifier(small_config<lm::BertClassifierConfig>());
  CHECK(largest_error(classifier.values({{"ids", classifier.ids(padded, {1, 7})},
                                         {"paddings", classifier.numbers(paddings, {1, 7})}}),
                      classifier.values({{"ids", classifier.ids(ids, {1, 5})}})) < 1e-5);
  Tagger tagger(small_config<lm::BertTaggerConfig>());
  const std::vector<float> got = tagger.values(
      {{"ids", tagger.ids(padded, {1, 7})}, {"paddings", tagger.numbers(paddings, {1, 7})}});
  CHECK(largest_error(std::span(got).first(15), tagger.values({{"ids", tagger.ids(ids, {1, 5})}})) <
        1e-5);
}

TEST_CASE("the head's dropout applies only in training", "[lm-classify]") {
  auto config = small_config<lm::BertClassifierConfig>();
  config.head_dropout = 0.5;
  Classifier dropping(config);
  config.head_dropout = 0;
  Classifier keeping(config);
  // Each has its own device.
  const auto batch_for = [](Classifier& fixture) {
    return Batch{{"ids", fixture.ids({1, 2, 3}, {1, 3})}};
  };
  const auto trained = [&](Classifier& fixture) {
    return fixture.run(batch_for(fixture), "logits", true).to_host<float>();
  };
  const std::vector<float> kept = keeping.values(batch_for(keeping));
  CHECK(dropping.values(batch_for(dropping)) == kept);
  CHECK(trained(keeping) == kept);
  CHECK(trained(dropping) != kept);
}

TEST_CASE("a classifier without classes or an embedding is refused", "[lm-classify]") {
  auto config = small_config<lm::BertClassifierConfig>();
  config.num_classes = 0;
  CHECK_THROWS_WITH(Classifier(config), Contains("task.model.num_classes"));
  auto tagger = small_config<lm::BertTaggerConfig>();
  tagger.embedding_tpl = {};
  CHECK_THROWS_WITH(Tagger(tagger), Contains("needs an embedding_tpl"));
}

namespace {

template <class T>
struct TaskFixture {
  explicit TaskFixture(const typename T::Config& config) : device(open_device("tiny/Backend")) {
    for (const char* plugin : {"nn", "lm", "data", "tokenizers"}) use_plugin(plugin);
    TaskContext context{*device, {}};
    task = std::make_unique<T>(config, context);
  }
  void build(const char* key, Value fields) {
    for (const char* size : {"model_dims", "num_heads", "num_layers"}) fields.set(size, 2);
    if (fields.find("vocab_size") == nullptr) fields.set("vocab_size", 7);
    store = std::make_unique<ParameterStore>(*device, RngKey(7));
    Scope scope(*store);
    model = task->build_model(ConfigOf<Model>(std::string(key), fields), scope);
  }
  Tensor f32(const std::vector<float>& values, const Shape& shape) const {
    return Tensor::from<float>(*device, values, shape);
  }
  Tensor i32(const Tokens& values, const Shape& shape) const {
    return Tensor::from<std::int32_t>(*device, values, shape);
  }
  std::unique_ptr<Device> device;
  std::unique_ptr<T> task;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Model> model;
};

using Sentences = TaskFixture<lm::SentencePrediction>;

lm::SentencePredictionConfig classes(std::int64_t num_classes) {
  lm::SentencePredictionConfig config;
  config.num_classes = num_classes;
  return config;
}

}  // namespace

TEST_CASE("sentences are classified by cross entropy, and scored", "[lm-classify]") {
  const Sentences fixture(classes(2));
  const NestedMap outputs = {{"logits", fixture.f32({2, 0, 0, 1, 5, 0, 0, 9}, {4, 2})}};
  const Batch batch = {{"label", fixture.i32({0, 0, 1, 1}, {4})},
                       {"weight", fixture.f32({1, 1, 1, 0}, {4})}};
  const WeightedScalar loss = fixture.task->build_losses(batch, outputs, {});
  const double want =
      (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(1.0)) + std::log1p(std::exp(5.0))) / 3;
  CHECK(loss.value.item() == Approx(want));
  CHECK(loss.weight == 3);
  const Metrics metrics = fixture.task->build_metrics(Phase::training);
  REQUIRE(metrics.size() == 1);
  metrics[0]->update_state(batch, outputs);
  // Predicted 0, 1, 0 for 0, 0, 1: one of three right, none of class 1.
  CHECK(*metrics[0]->result().find("accuracy") == Approx(1.0 / 3));
  CHECK(*metrics[0]->result().find("f1") == 0);
  CHECK(*metrics[0]->result().find("matthews_corrcoef") == Approx(-0.5));
  const Metrics again = fixture.task->build_metrics(Phase::training);
  again[0]->restore_state(metrics[0]->save_state());
  CHECK(*again[0]->result().find("accuracy") == Approx(1.0 / 3));
  metrics[0]->reset_state();
  CHECK(*metrics[0]->result().find("accuracy") == 0);
  CHECK_THROWS_WITH(Sentences(classes(3))
                        .task->build_metrics(Phase::training)[0]
                        ->restore_state(again[0]->save_state()),
                    Contains("does not have 3 classes"));
  CHECK(Sentences(classes(3)).task->build_metrics(Phase::training)[0]->result().find("macro_f1") !=
        nullptr);
}

TEST_CASE("numbers are predicted by squared error, and evaluations correlate them",
          "[lm-classify]") {
  const Sentences fixture(classes(1));
  // SciPy's documentation of spearmanr (1.11): 0.8207826816681233 for these.
  const Batch batch = {{"label", fixture.f32({1, 2, 3, 4, 5, 99}, {6})},
                       {"weight", fixture.f32({1, 1, 1, 1, 1, 0}, {6})}};
  const NestedMap outputs = {{"logits", fixture.f32({5, 6, 7, 8, 7, -99}, {6, 1})}};
  const WeightedScalar loss = fixture.task->build_losses(batch, outputs, {});
  CHECK(loss.value.item() == Approx((16 + 16 + 16 + 16 + 4) / 5.0));
  CHECK(loss.weight == 5);
  CHECK(fixture.task->build_metrics(Phase::evaluation).empty());
  StepOutput step;
  step.outputs = outputs;
  step.batch = batch;
  auto state = fixture.task->aggregate_logs(nullptr, step);
  REQUIRE(state != nullptr);
  const Logs logs = fixture.task->reduce_aggregated_logs(*state, 1);
  CHECK(*logs.find("mean_squared_error") == Approx(13.6));
  CHECK(*logs.find("spearman") == Approx(0.8207826816681233));
  // By hand: sums of products of the distances from the means 3 and 6.6.
  const double r = 6 / std::sqrt(10 * 5.2);
  CHECK(*logs.find("pearson") == Approx(r));
  CHECK(*logs.find("pearson_spearman_corr") == Approx((r + 0.8207826816681233) / 2));
}

TEST_CASE("the model has the task's classes, and labels must fit", "[lm-classify]") {
  Sentences fixture(classes(3));
  fixture.build("lm/BertClassifier", Value::table());
  CHECK(fixture.store->find("classifier/w")->shape() == Shape{2, 3});
  CHECK_THROWS_WITH(fixture.build("lm/BertClassifier", Value::table({{"num_classes", 4}})),
                    Contains("is 4, but the task has 3 classes"));
  CHECK(fixture.task->expected_initial_loss().reason == "ln(3) = 1.10 for 3 classes");
  const NestedMap outputs = {{"logits", fixture.f32({1, 2, 3}, {1, 3})}};
  CHECK_THROWS_WITH(fixture.task->build_losses({{"label", fixture.f32({1}, {1})}}, outputs, {}),
                    Contains("num_classes is 3, but the input has labels"));
  CHECK_THROWS_WITH(
      Sentences(classes(2)).task->build_losses({{"label", fixture.i32({1}, {1})}}, outputs, {}),
      Contains("expected logits [B, 2]"));
  CHECK_THROWS_AS(fixture.task->build_losses({{"label", fixture.i32({3}, {1})}}, outputs, {}),
                  Error);
  InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
  CHECK_THROWS_WITH(
      fixture.task->build_inputs(
          {"data/SentencePairs", Value::table({{"class_names", Value::array({"no", "yes"})}})},
          context),
      Contains("has 2 names, but task.num_classes is 3"));
}

TEST_CASE("a tagger has the task's tags, and its input must have the same", "[lm-classify]") {
  lm::TaggingConfig config;
  config.class_names = {"O", "B-X", "I-X"};
  TaskFixture<lm::Tagging> fixture(config);
  fixture.build("lm/BertTagger", Value::table());
  CHECK(fixture.store->find("classifier/w")->shape() == Shape{2, 3});
  CHECK(fixture.task->expected_initial_loss().reason == "ln(3) = 1.10 for 3 classes");
  const TempDir dir;
  const auto input = [&](const Value& names) {
    Value fields = Value::table({{"seq_len", 8},
                                 {"batch_size", 1},
                                 {"tokenizer", "tokenizers/Bytes"},
                                 {"class_names", names}});
    fields.set("source", jsonl_source(dir, R"({"words": "x", "tags": "O"})").to_value());
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    return fixture.task->build_inputs({"data/TaggedSequences", fields}, context);
  };
  CHECK_THROWS_WITH(input(Value::array({"O", "I-X", "B-X"})), Contains("differ from the task's"));
  // Bytes are more than the 7 tokens of the model.
  CHECK_THROWS_WITH(input(Value::array({"O", "B-X", "I-X"})),
                    Contains("has ids below 256, but the model has 7"));
  config.class_names = {"O"};
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "class_names");
}

}  // namespace lm_classification_test
