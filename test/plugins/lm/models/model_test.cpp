// SPDX-License-Identifier: Apache-2.0
// LanguageModel and its task: the loss against float64, attention masks, steps with a cache against
// the whole sequence, and errors for invalid models and tokenizers.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <catch2/catch.hpp>

#include "lm/metrics/token_metrics.h"
#include "lm/models/language_model.h"
#include "lm/tasks/language_modeling.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/layer/layer_template.h"
#include "trivet/task.h"

namespace lm_model_test {
namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;
using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kVocabulary = 13;

ConfigOf<Layer> rotary_block() {
  return {"nn/TransformerBlock",
          value_from_json(R"({"norm_tpl": {"type": "nn/RmsNorm"}, "use_gated_activation": true,
                              "activation": {"type": "nn/Silu"}, "has_bias": false,
                              "attention_tpl": {"type": "nn/MultiHeadAttention",
                                                "use_rotary_position_emb": true}})",
                          "test")};
}

LanguageModelConfig small_config() {
  LanguageModelConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = 8;
  config.num_layers = 2;
  config.num_heads = 2;
  config.max_seq_len = 12;
  return config;
}

LanguageModelConfig learned_positions() {
  LanguageModelConfig config = small_config();
  config.position_emb_tpl = "nn/TrainablePositionalEmbedding";
  return config;
}

LanguageModelConfig rotary() {
  LanguageModelConfig config = small_config();
  config.num_kv_heads = 1;
  config.block_tpl = rotary_block();
  config.final_norm_tpl = "nn/RmsNorm";
  config.embedding_tpl = "nn/Embedding";
  config.softmax_tpl = "nn/FullSoftmax";
  return config;
}

// The options of Praxis that MultiHeadAttention has beside the usual ones, and GShard's softmax.
LanguageModelConfig praxis(const char* attention) {
  LanguageModelConfig config = small_config();
  config.block_tpl = {"nn/TransformerBlock", Value::table({})};
  complete(config.block_tpl, "attention_tpl", value_from_json(attention, "test"), Value());
  config.softmax_tpl = "nn/GShardSharedEmbeddingSoftmax";
  return config;
}

std::vector<LanguageModelConfig> models() {
  return {learned_positions(), rotary(),
          praxis(R"({"type": "nn/MultiHeadAttention", "dconv_qkv": true, "window": 4,
                     "attention_extra_logit": 0.0, "relative_bias": "nn/AlibiBias"})"),
          praxis(R"({"type": "nn/MultiHeadAttention", "rel_pos_emb_dim": 6})")};
}

struct Fixture {
  explicit Fixture(const LanguageModelConfig& config, const std::string& backend = "tiny/Backend")
      : device(test::open_device(backend)), store(*device, RngKey(7)) {
    test::use_plugin("nn");
    Scope scope(store);
    model = std::make_unique<LanguageModel>(config, scope);
    store.build();
  }

  Tensor ids(const Tokens& tokens, const Shape& shape) const {
    return Tensor::from<std::int32_t>(*device, tokens, shape);
  }
  // [T * vocabulary] of one sequence.
  std::vector<float> logits(const Tokens& tokens) {
    FpropContext context;
    const auto length = static_cast<std::int64_t>(tokens.size());
    return model->fprop({{"ids", ids(tokens, {1, length})}}, context).at("logits").to_host<float>();
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<LanguageModel> model;
};

Tokens some_tokens(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> bits(count);
  random_bits(RngKey(seed), 0, bits);
  Tokens tokens;
  for (const std::uint32_t each : bits) {
    tokens.push_back(static_cast<std::int32_t>(each % kVocabulary));
  }
  return tokens;
}

double log_sum_exp(const float* logits) {
  double sum = 0;
  for (std::int64_t i = 0; i < kVocabulary; ++i) sum += std::exp(static_cast<double>(logits[i]));
  return std::log(sum);
}

TEST_CASE("the loss of a language model is the weighted mean of -log softmax, in float64") {
  Fixture fixture(learned_positions());
  const Tokens tokens = some_tokens(12, 3), labels = some_tokens(12, 4);
  const std::vector<float> weights = {1, 0, 1, 0.5F, 1, 1, 1, 0, 0, 1, 2, 1};
  FpropContext context;
  const NestedMap outputs =
      fixture.model->fprop({{"ids", fixture.ids(tokens, {2, 6})},
                            {"labels", fixture.ids(labels, {2, 6})},
                            {"weights", Tensor::from<float>(*fixture.device, weights, {2, 6})}},
                           context);
  double sum = 0, total = 0;
  std::vector<double> each;
  std::vector<std::int32_t> best;
  for (std::size_t row = 0; row < 2; ++row) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(6 * row);
    const std::vector<float> logits = fixture.logits(Tokens(begin, begin + 6));
    for (std::size_t t = 0; t < 6; ++t) {
      const std::size_t at = 6 * row + t;
      const float* z = &logits[t * kVocabulary];
      each.push_back(log_sum_exp(z) - static_cast<double>(z[labels[at]]));
      best.push_back(static_cast<std::int32_t>(std::max_element(z, z + kVocabulary) - z));
      sum += static_cast<double>(weights[at]) * each.back();
      total += static_cast<double>(weights[at]);
    }
  }
  CHECK(outputs.at("avg_xent").item() == Approx(sum / total).epsilon(1e-5));
  CHECK(outputs.at("total_weight").item() == Approx(total));
  CHECK(test::largest_error(outputs.at("per_example_xent").to_host<float>(), each) < 1e-5);
  CHECK(outputs.at("per_example_argmax").to_host<std::int32_t>() == best);
}

TEST_CASE("a token never affects earlier predictions") {
  for (const LanguageModelConfig& config : models()) {
    Fixture fixture(config);
    const Tokens tokens = some_tokens(10, 5);
    const std::vector<float> all = fixture.logits(tokens);
    for (std::size_t changed = 0; changed < tokens.size(); ++changed) {
      Tokens other = tokens;
      other[changed] = (other[changed] + 1) % kVocabulary;
      const std::vector<float> got = fixture.logits(other);
      const std::size_t before = changed * kVocabulary;
      CHECK(
          std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(before), all.begin()));
      CHECK_FALSE(std::equal(got.begin() + static_cast<std::ptrdiff_t>(before), got.end(),
                             all.begin() + static_cast<std::ptrdiff_t>(before)));
    }
  }
}

TEST_CASE("a bidirectional model sees later positions and does not decode") {
  LanguageModelConfig config = learned_positions();
  config.model_type = ModelType::bidirectional;
  Fixture fixture(config);
  Tokens tokens = some_tokens(6, 6);
  const std::vector<float> all = fixture.logits(tokens);
  tokens.back() = (tokens.back() + 1) % kVocabulary;
  CHECK(fixture.logits(tokens)[0] != all[0]);
  CHECK(fixture.model->extension(kModelNextToken) == nullptr);
}

TEST_CASE("next_logits with a cache, in pieces of any size, match the whole sequence") {
  for (const std::string& backend : test::backends()) {
    for (const LanguageModelConfig& config : models()) {
      Fixture fixture(config, backend);
      const Tokens tokens = some_tokens(24, 8);  // two rows of 12
      for (const std::int64_t piece : {1, 2, 5, 12}) {
        INFO(backend << ", pieces of " << piece);
        const auto cache = fixture.model->make_cache(2, 12);
        REQUIRE(cache != nullptr);
        for (std::int64_t at = 0; at < 12; at += piece) {
          const std::int64_t end = std::min<std::int64_t>(at + piece, 12);
          Tokens part;
          for (std::int64_t row = 0; row < 2; ++row) {
            part.insert(part.end(), tokens.begin() + 12 * row + at,
                        tokens.begin() + 12 * row + end);
          }
          FpropContext context;
          const std::vector<float> got =
              fixture.model->next_logits(fixture.ids(part, {2, end - at}), cache.get(), context)
                  .to_host<float>();
          std::vector<float> want;
          for (std::int64_t row = 0; row < 2; ++row) {
            const std::vector<float> all =
                fixture.logits(Tokens(tokens.begin() + 12 * row, tokens.begin() + 12 * row + end));
            want.insert(want.end(), all.end() - kVocabulary, all.end());
          }
          CHECK(test::largest_error(got, want) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("packed documents have the same losses as alone") {
  for (const LanguageModelConfig& config : models()) {
    Fixture fixture(config);
    const Tokens first = some_tokens(5, 9), second = some_tokens(6, 10);
    Tokens packed = first;
    packed.insert(packed.end(), second.begin(), second.end());
    packed.push_back(0);
    FpropContext context;
    const std::vector<float> got =
        fixture.model
            ->fprop({{"ids", fixture.ids(packed, {1, 12})},
                     {"segment_ids", fixture.ids({1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0}, {1, 12})},
                     {"segment_pos", fixture.ids({0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 0}, {1, 12})}},
                    context)
            .at("logits")
            .to_host<float>();
    std::vector<float> want = fixture.logits(first);
    const std::vector<float> behind = fixture.logits(second);
    want.insert(want.end(), behind.begin(), behind.end());
    CHECK(test::largest_error(std::span(got).first(want.size()), want) < 1e-5);
  }
}

TEST_CASE("the softmax shares the embedding's weights unless it has its own") {
  CHECK(Fixture(learned_positions()).store.find("softmax/table") != nullptr);
  CHECK(Fixture(learned_positions()).store.find("embedding/table") == nullptr);
  CHECK(Fixture(rotary()).store.find("softmax/w") != nullptr);
  CHECK(Fixture(rotary()).store.find("embedding/table") != nullptr);
  LanguageModelConfig none = rotary();
  none.embedding_tpl = {};
  CHECK_THROWS_WITH(Fixture(none), Contains("has no table of embeddings"));
}

TEST_CASE("a language model reports invalid inputs") {
  Fixture fixture(learned_positions());
  FpropContext context;
  CHECK_THROWS_WITH(fixture.logits(some_tokens(13, 1)), Contains("a sequence of 13 tokens"));
  CHECK_THROWS_WITH(fixture.model->fprop({{"ids", fixture.ids({1, 2}, {2})}}, context),
                    Contains("ids i32 [B, T]"));
  CHECK_THROWS_AS(fixture.logits({kVocabulary}), Error);
  LanguageModelConfig no_size = learned_positions();
  no_size.vocab_size = 0;
  CHECK_THROWS_WITH(Fixture(no_size), Contains("task.tokenizer"));
  LanguageModelConfig longer = learned_positions();
  longer.max_seq_len = 0;
  CHECK(Fixture(longer).model->longest_sequence() == 10240);  // the size of the table
  CHECK(fixture.model->longest_sequence() == 12);
}

TEST_CASE("metrics of tokens by hand") {
  const auto device = test::open_device("tiny/Backend");
  TokenMetrics metrics({});
  const auto update = [&](std::vector<float> xent, const std::vector<float>& weights,
                          const Tokens& labels, const Tokens& predicted, const Tokens& bytes) {
    metrics.update_state(
        {{"weights", Tensor::from<float>(*device, weights, {1, 3})},
         {"labels", Tensor::from<std::int32_t>(*device, labels, {1, 3})},
         {"label_bytes", Tensor::from<std::int32_t>(*device, bytes, {1, 3})}},
        {{"per_example_xent", Tensor::from<float>(*device, xent, {1, 3})},
         {"per_example_argmax", Tensor::from<std::int32_t>(*device, predicted, {1, 3})}});
  };
  CHECK(*metrics.result().find("num_predictions") == 0);
  CHECK(metrics.result().find("log_pplx") == nullptr);
  update({1, 2, 100}, {1, 1, 0}, {5, 6, 7}, {5, 0, 7}, {4, 1, 9});
  update({3, 50, 50}, {1, 0, 0}, {5, 6, 7}, {5, 6, 7}, {3, 9, 9});
  // (1 + 2 + 3) / 3; 6 / ln 2 bits over 4 + 1 + 3 bytes; two of three.
  CHECK(*metrics.result().find("log_pplx") == Approx(2));
  CHECK(*metrics.result().find("bits_per_byte") == Approx(6 / std::log(2.0) / 8));
  CHECK(*metrics.result().find("fraction_of_correct_next_step_preds") == Approx(2.0 / 3));
  CHECK(*metrics.result().find("num_predictions") == 3);
  TokenMetrics again({});
  again.restore_state(metrics.save_state());
  CHECK(*again.result().find("bits_per_byte") == *metrics.result().find("bits_per_byte"));
  CHECK_THROWS_WITH(again.restore_state(Value::table()), Contains("lacks 'xent'"));
  metrics.reset_state();
  CHECK(*metrics.result().find("num_predictions") == 0);
}

struct TaskFixture {
  explicit TaskFixture(LanguageModelingConfig config = {})
      : device(test::open_device("tiny/Backend")), store(*device, RngKey(7)) {
    test::use_plugin("nn");
    test::use_plugin("lm");
    test::use_plugin("tokenizers");
    config.tokenizer = "tokenizers/Bytes";
    TaskContext context{*device, {}};
    task = std::make_unique<LanguageModeling>(config, context);
  }

  void build(std::int64_t vocab_size = 0) {
    LanguageModelConfig config = learned_positions();
    config.vocab_size = vocab_size;
    Scope scope(store);
    model = task->build_model(ConfigOf<Model>("lm/LanguageModel", encode(config)), scope);
    store.build();
  }

  std::vector<GeneratedText> generate(const std::vector<std::string>& prompts,
                                      const GenerateOptions& options) {
    return task->generate(*model, prompts, options, {});
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<LanguageModeling> task;
  std::unique_ptr<Model> model;
};

TEST_CASE("a model without a size has that of the tokenizer; a smaller one is refused") {
  TaskFixture fixture;
  fixture.build();
  CHECK(fixture.store.find("softmax/table")->shape() == Shape{256, 8});
  TaskFixture small;
  CHECK_THROWS_WITH(small.build(100), Contains("the tokenizer has 256 tokens"));
  TaskFixture larger;
  larger.build(300);
  CHECK(larger.store.find("softmax/table")->shape() == Shape{300, 8});
}

TEST_CASE("generated texts depend on the seed, not on other prompts") {
  TaskFixture fixture;
  fixture.build();
  const GenerateOptions options{.max_tokens = 6, .seed = 4};
  const std::vector<std::string> prompts = {"a", "abcde", "", "xyz"};
  CHECK_THROWS_WITH(fixture.generate(prompts, options), Contains("prompt 3 is empty"));
  const std::vector<std::string> good = {"a", "abcde", "xyz"};
  const auto together = fixture.generate(good, options);
  REQUIRE(together.size() == 3);
  for (std::size_t i = 0; i < good.size(); ++i) {
    GenerateOptions one = options;
    one.draws = {{.prompt = i}};
    const auto alone = fixture.generate({good[i]}, one);
    CHECK(alone[0].text == together[i].text);
    CHECK(alone[0].log_probability == Approx(together[i].log_probability).epsilon(1e-5));
    CHECK(together[i].tokens == 6);
    CHECK(together[i].end == FinishReason::max_tokens);
  }
  CHECK(fixture.generate({"a"}, {.max_tokens = 6, .seed = 5})[0].text != together[0].text);
  // Twelve positions in all.
  const auto longest = fixture.generate({"abcde"}, {.max_tokens = 50});
  CHECK(longest[0].tokens == 7);
  CHECK(longest[0].end == FinishReason::model_length);
  const auto unequal =
      fixture.generate({"abcdefghij", "a", "abcdefghijklmnop"}, {.max_tokens = 50});
  CHECK(unequal[0].tokens == 2);
  CHECK(unequal[1].tokens == 11);
  CHECK(unequal[2].tokens == 0);
  const auto full = fixture.generate({"abcdefghijklmnop"}, {.max_tokens = 50});
  CHECK(full[0].tokens == 0);
  CHECK(full[0].end == FinishReason::model_length);
}

TEST_CASE("a stop text ends a continuation and is not part of it") {
  TaskFixture fixture;
  fixture.build();
  const GenerateOptions options{.max_tokens = 9, .temperature = 1.0, .top_k = 0, .seed = 2};
  const std::string whole = fixture.generate({"ab"}, options)[0].text;
  const std::vector<std::string> pieces = {whole.substr(3, 2), whole.substr(5, 1)};
  GenerateOptions stopping = options;
  stopping.stop = {pieces[0]};
  std::string streamed;
  const std::vector<std::string> prompt = {"ab"};
  const auto stopped =
      fixture.task->generate(*fixture.model, prompt, stopping,
                             [&](std::size_t, std::string_view piece) { streamed += piece; });
  CHECK(stopped[0].text == whole.substr(0, whole.find(pieces[0])));
  CHECK(stopped[0].end == FinishReason::stop_text);
  CHECK(streamed == stopped[0].text);
  stopping.stop = {"", "no such text comes"};
  CHECK(fixture.generate({"ab"}, stopping)[0].text == whole);
}

TEST_CASE("beam search over a model finds texts at least as likely as greedy decoding") {
  TaskFixture fixture;
  fixture.build();
  const auto greedy = fixture.generate({"ab"}, {.max_tokens = 5, .temperature = 0.0});
  const auto beam = fixture.generate({"ab"}, {.max_tokens = 5, .beam_size = 8});
  CHECK(beam[0].tokens == 5);
  CHECK(beam[0].log_probability >= greedy[0].log_probability - 1e-6);
  const auto one = fixture.generate({"ab"}, {.max_tokens = 5, .temperature = 0.0, .beam_size = 1});
  CHECK(one[0].text == greedy[0].text);
}

TEST_CASE("options of generation that cannot be are refused") {
  TaskFixture fixture;
  fixture.build();
  CHECK_THROWS_AS(fixture.generate({"a"}, {.max_tokens = 0}), UsageError);
  CHECK_THROWS_AS(fixture.generate({"a"}, {.temperature = -1.0}), UsageError);
  CHECK_THROWS_AS(fixture.generate({"a"}, {.temperature = std::nan("")}), UsageError);
  CHECK_THROWS_AS(fixture.generate({"a"}, {.top_k = -1}), UsageError);
  CHECK_THROWS_AS(fixture.generate({"a"}, {.top_p = 0.0}), UsageError);
  CHECK_THROWS_AS(fixture.generate({"a"}, {.top_p = 1.5}), UsageError);
  CHECK_THROWS_AS(fixture.generate({"a"}, {.beam_size = 0}), UsageError);
}

TEST_CASE("a start token is an error if the tokenizer has none") {
  LanguageModelingConfig config;
  config.add_bos = true;
  CHECK_THROWS_WITH(TaskFixture(config), Contains("no start token"));
}

}  // namespace

}  // namespace lm_model_test
