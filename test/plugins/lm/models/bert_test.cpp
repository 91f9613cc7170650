// SPDX-License-Identifier: Apache-2.0
// Bert and its encoder: logits and loss against float64, attention masks, weights in the loss,
// gradients, and errors for invalid batches and configs.
#include "lm/models/bert.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "encoder_fixture.h"
#include "lm/tasks/masked_lm.h"
#include "trivet/error.h"
#include "trivet/task.h"

namespace lm_bert_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int32_t kVocabulary = 11;
constexpr std::size_t kDims = 8;

lm::BertConfig small_config() {
  lm::BertConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = kDims;
  config.num_layers = 2;
  config.num_heads = 2;
  config.max_seq_len = 12;
  config.type_vocab_size = 2;
  config.embedding_norm_tpl = "nn/LayerNorm";
  return config;
}

using Fixture = EncoderFixture<lm::Bert>;

// A nonzero bias, so that a missing bias is detected.
void set_bias(Fixture& fixture) {
  Parameter* bias = fixture.store.find("embedding/b");
  REQUIRE(bias != nullptr);
  bias->assign(fixture.numbers(random_values(kVocabulary, 3), {kVocabulary}));
}

lm::BertConfig paper_config() {
  lm::BertConfig config = small_config();
  config.block_tpl = {"nn/TransformerBlock", Value::table({{"norm_policy", "post_skip"}})};
  config.final_norm_tpl = {};
  return config;
}

lm::BertConfig albert_config() {
  lm::BertConfig config = paper_config();
  config.embedding_dims = 6;
  config.block_tpl = {"nn/TransformerBlock",
                      Value::table({{"norm_policy", "post_skip"}, {"shared", "block"}})};
  return config;
}

// Devlin et al. 2018, 3.1, in double.
Rows reference_logits(const Fixture& fixture, const Tokens& ids, const Tokens& types,
                      bool paper = false) {
  Rows x = reference_encoding(fixture, ids, types, 2, paper);
  x = gelu(affine(x, fixture.parameter("mlm_dense/w"), fixture.parameter("mlm_dense/b")));
  x = layer_norm(x, fixture.parameter("mlm_norm/scale"), fixture.parameter("mlm_norm/bias"));
  return tied_logits(x, fixture.parameter("embedding/table"), fixture.parameter("embedding/b"));
}

}  // namespace

TEST_CASE("the logits of Bert match the published formulas in float64", "[lm-encoder]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(small_config(), backend);
    set_bias(fixture);
    const Tokens ids = some_tokens(7, 3, kVocabulary), types = {0, 0, 0, 1, 1, 0, 1};
    const std::vector<float> got = fixture.values(
        {{"ids", fixture.ids(ids, {1, 7})}, {"token_type_ids", fixture.ids(types, {1, 7})}});
    const auto want = flattened({reference_logits(fixture, ids, types)});
    INFO(backend);
    CHECK(largest_error(got, want) < 1e-5);
    const auto untold = flattened({reference_logits(fixture, ids, Tokens(7, 0))});
    CHECK(largest_error(fixture.values({{"ids", fixture.ids(ids, {1, 7})}}), untold) < 1e-5);
  }
}

TEST_CASE("Bert loses the mean of -log p over the positions with a weight", "[lm-encoder]") {
  Fixture fixture(small_config());
  set_bias(fixture);
  const Tokens ids = some_tokens(12, 4, kVocabulary), types(6, 0);
  Tokens labels = some_tokens(12, 5, kVocabulary);
  const std::vector<float> weights = {0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
  double sum = 0;
  for (const std::size_t position : {1U, 4U, 9U}) {
    const auto begin = ids.begin() + (position < 6 ? 0 : 6);
    const Row z = reference_logits(fixture, Tokens(begin, begin + 6), types)[position % 6];
    double total = 0;
    for (const double logit : z) total += std::exp(logit);
    sum += std::log(total) - z[static_cast<std::size_t>(labels[position])];
  }
  const auto outputs = [&] {
    FpropContext context;
    return fixture.model->fprop({{"ids", fixture.ids(ids, {2, 6})},
                                 {"labels", fixture.ids(labels, {2, 6})},
                                 {"weights", fixture.numbers(weights, {2, 6})}},
                                context);
  };
  CHECK(outputs().at("avg_xent").item() == Approx(sum / 3).epsilon(1e-5));
  CHECK(outputs().at("total_weight").item() == 3);
  // Unmasked tokens do not count.
  labels[0] = (labels[0] + 1) % kVocabulary;
  CHECK(outputs().at("avg_xent").item() == Approx(sum / 3).epsilon(1e-5));
  labels[1] = (labels[1] + 1) % kVocabulary;
  CHECK(std::abs(outputs().at("avg_xent").item() - sum / 3) > 1e-3);
}

TEST_CASE("the gradients of Bert's weights match central differences", "[lm-encoder]") {
  lm::BertConfig config = small_config();
  config.num_layers = 1;
  for (const std::string& backend : backends()) {
    Fixture fixture(config, backend);
    set_bias(fixture);
    INFO(backend);
    CHECK(fixture.gradient_check({{"ids", fixture.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                                  {"token_type_ids", fixture.ids({0, 1, 1, 0, 0, 1}, {2, 3})},
                                  {"labels", fixture.ids(some_tokens(6, 7, kVocabulary), {2, 3})},
                                  {"weights", fixture.numbers({1, 0, 1, 0, 1, 0}, {2, 3})}},
                                 "avg_xent") == "");
  }
}

TEST_CASE("a position of an encoder sees later positions, but neither padding nor other segments",
          "[lm-encoder]") {
  Fixture fixture(small_config());
  const Tokens first = some_tokens(5, 8, kVocabulary), second = some_tokens(6, 9, kVocabulary);
  const auto alone = [&](const Tokens& tokens) {
    return fixture.values({{"ids", fixture.ids(tokens, {1, std::ssize(tokens)})}});
  };
  Tokens other = first;
  other.back() = (other.back() + 1) % kVocabulary;
  CHECK(alone(other)[0] != alone(first)[0]);

  Tokens padded = first;
  padded.insert(padded.end(), {3, 9, 1});
  const std::vector<float> got =
      fixture.values({{"ids", fixture.ids(padded, {1, 8})},
                      {"paddings", fixture.numbers({0, 0, 0, 0, 0, 1, 1, 1}, {1, 8})}});
  CHECK(largest_error(std::span(got).first(5 * kVocabulary), alone(first)) < 1e-5);

  Tokens packed = first;
  packed.insert(packed.end(), second.begin(), second.end());
  packed.push_back(0);
  const std::vector<float> both = fixture.values(
      {{"ids", fixture.ids(packed, {1, 12})},
       {"segment_ids", fixture.ids({1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0}, {1, 12})},
       {"segment_pos", fixture.ids({0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 0}, {1, 12})},
       {"paddings", fixture.numbers({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, {1, 12})}});
  std::vector<float> want = alone(first);
  const std::vector<float> behind = alone(second);
  want.insert(want.end(), behind.begin(), behind.end());
  CHECK(largest_error(std::span(both).first(want.size()), want) < 1e-5);
}

TEST_CASE("the paper's order of norms is a matter of templates", "[lm-encoder]") {
  Fixture fixture(paper_config());
  set_bias(fixture);
  const Tokens ids = some_tokens(7, 3, kVocabulary), types(7, 0);
  CHECK(fixture.store.find("final_norm/scale") == nullptr);
  CHECK(largest_error(fixture.values({{"ids", fixture.ids(ids, {1, 7})}}),
                      flattened({reference_logits(fixture, ids, types, true)})) < 1e-5);
}

TEST_CASE("embeddings of another depth and shared blocks make ALBERT", "[lm-encoder][slow]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(albert_config(), backend);
    set_bias(fixture);
    const Tokens ids = some_tokens(7, 3, kVocabulary), types = {0, 0, 0, 1, 1, 0, 1};
    INFO(backend);
    CHECK(fixture.store.find("embedding/table")->shape() == Shape{kVocabulary, 6});
    CHECK_FALSE(fixture.has("transformer/layer_1/mlp_in/w"));
    CHECK(largest_error(fixture.values({{"ids", fixture.ids(ids, {1, 7})},
                                        {"token_type_ids", fixture.ids(types, {1, 7})}}),
                        flattened({reference_logits(fixture, ids, types, true)})) < 1e-5);
    CHECK(fixture.gradient_check({{"ids", fixture.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                                  {"labels", fixture.ids(some_tokens(6, 7, kVocabulary), {2, 3})},
                                  {"weights", fixture.numbers({1, 0, 1, 0, 1, 0}, {2, 3})}},
                                 "avg_xent") == "");
  }
}

TEST_CASE("ALBERT's base model has the published number of weights", "[lm-encoder]") {
  // Lan et al. 2020, table 1: base, 12M. The authors' file has 11,683,584 weights: those of the
  // encoder, and a pooler of 768 * 768 + 768, which a Bert does not have.
  lm::BertConfig config = albert_config();
  config.vocab_size = 30000;
  config.embedding_dims = 128;
  config.model_dims = 768;
  config.num_layers = config.num_heads = 12;
  config.max_seq_len = 512;
  use_plugin("nn");
  const auto device = open_device("tiny/Backend");
  ParameterStore store(*device, RngKey(7));
  Scope scope(store);
  const lm::Bert model(config, scope);
  std::int64_t encoder = 0;
  for (const auto& parameter : store.parameters()) {
    if (parameter->path().starts_with("mlm_") || parameter->path() == "embedding/b") continue;
    encoder += parameter->shape().size();
  }
  CHECK(encoder == 11'683'584 - 768 * 768 - 768);
}

TEST_CASE("a block of Fourier transforms makes FNet", "[lm-encoder]") {
  lm::BertConfig config = small_config();
  config.block_tpl = {"nn/TransformerBlock", Value::table({{"attention_tpl", "nn/FourierMixing"}})};
  Fixture fixture(config);
  CHECK_FALSE(fixture.has("transformer/layer_0/attention/query/w"));
  CHECK(fixture.has("transformer/layer_0/attention_norm/scale"));
  CHECK(fixture.gradient_check({{"ids", fixture.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                                {"labels", fixture.ids(some_tokens(6, 7, kVocabulary), {2, 3})},
                                {"weights", fixture.numbers({1, 0, 1, 0, 1, 0}, {2, 3})}},
                               "avg_xent") == "");
}

TEST_CASE("Bert reports invalid inputs", "[lm-encoder]") {
  Fixture fixture(small_config());
  CHECK_THROWS_WITH(fixture.values({{"ids", fixture.ids(Tokens(13, 1), {1, 13})}}),
                    Contains("lm/Bert: a sequence of 13 tokens, and max_seq_len is 12"));
  CHECK_THROWS_WITH(fixture.values({{"ids", fixture.ids({1, 2}, {2})}}),
                    Contains("ids i32 [B, T]"));
  CHECK_THROWS_AS(fixture.values({{"ids", fixture.ids({kVocabulary}, {1, 1})}}), Error);
  CHECK_THROWS_AS(fixture.values({{"ids", fixture.ids({1}, {1, 1})},
                                  {"token_type_ids", fixture.ids({2}, {1, 1})}}),
                  Error);
  lm::BertConfig config = small_config();
  config.softmax_tpl = "nn/FullSoftmax";
  CHECK_THROWS_WITH(Fixture(config), Contains("has no table of embeddings"));
  config = small_config();
  config.vocab_size = 0;
  CHECK_THROWS_WITH(Fixture(config), Contains("set task.tokenizer"));
  config.num_kv_heads = 3;
  config.stacked_transformer_tpl = {};
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 2);
  CHECK(diagnostics.list()[0].path == "num_kv_heads");
  CHECK(diagnostics.list()[1].path == "stacked_transformer_tpl");
}

TEST_CASE("MaskedLm uses its tokenizer's vocabulary and counts masked tokens", "[lm-encoder]") {
  use_plugin("nn");
  use_plugin("lm");
  use_plugin("tokenizers");
  const auto device = open_device("tiny/Backend");
  lm::MaskedLmConfig config;
  config.tokenizer = "tokenizers/Bytes";
  TaskContext context{*device, {}};
  lm::MaskedLm task(config, context);
  ParameterStore store(*device, RngKey(7));
  Scope scope(store);
  lm::BertConfig model = small_config();
  model.vocab_size = 0;
  const auto made = task.build_model(ConfigOf<Model>("lm/Bert", encode(model)), scope);
  CHECK(store.find("embedding/table")->shape() == Shape{256, kDims});
  CHECK(task.expected_initial_loss().reason == "ln(256) = 5.55 for 256 classes");

  const Metrics metrics = task.build_metrics(Phase::evaluation);
  REQUIRE(metrics.size() == 1);
  const auto i32 = [&](const Tokens& values) {
    return Tensor::from<std::int32_t>(*device, values, {1, 4});
  };
  const auto f32 = [&](const std::vector<float>& values) {
    return Tensor::from<float>(*device, values, {1, 4});
  };
  metrics[0]->update_state(
      {{"labels", i32({5, 6, 7, 8})},
       {"weights", f32({0, 1, 1, 0})},
       {"label_bytes", i32({1, 1, 1, 1})}},
      {{"per_example_xent", f32({9, 1, 4, 9})}, {"per_example_argmax", i32({5, 6, 0, 8})}});
  const Logs logs = metrics[0]->result();
  CHECK(*logs.find("masked_lm_accuracy") == 0.5);
  CHECK(*logs.find("log_pplx") == 2.5);
  CHECK(*logs.find("num_predictions") == 2);
  CHECK(logs.find("bits_per_byte") == nullptr);
}

}  // namespace lm_bert_test
