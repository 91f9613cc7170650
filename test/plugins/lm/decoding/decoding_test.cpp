// SPDX-License-Identifier: Apache-2.0
// Decoding and evaluation give a text the same probability: for every type of model, with and
// without a cache, for prompts of different lengths together and separately.
#include <cmath>
#include <memory>

#include <catch2/catch.hpp>

#include "lm/models/language_model.h"
#include "lm/models/sequence_model.h"
#include "lm/tasks/language_modeling.h"
#include "lm/tasks/seq2seq.h"
#include "plugins/data/jsonl.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/input.h"

namespace lm_decoding_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

const std::vector<std::string> kModels = {"causal", "prefix"};
const std::vector<std::string> kPrompts = {"abc", "b", "fedcbaf", "ab", "ccc"};

ConfigOf<Tokenizer> letters() {
  return {
      "tokenizers/Characters",
      Value::table({{"alphabet", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"},
                    {"unknown", "error"},
                    {"bos", true},
                    {"eos", true}})};
}

// A model without a cache.
class Forgetful final : public Model, public NextToken {
 public:
  explicit Forgetful(std::unique_ptr<Model> model)
      : model_(std::move(model)),
        next_(*static_cast<const NextToken*>(model_->extension(kModelNextToken))) {}
  NestedMap fprop(const Batch& batch, FpropContext& context) override {
    return model_->fprop(batch, context);
  }
  const void* extension(std::string_view id) const noexcept override {
    return id == kModelNextToken ? static_cast<const NextToken*>(this) : model_->extension(id);
  }
  std::int64_t vocabulary_size() const override { return next_.vocabulary_size(); }
  std::int64_t longest_sequence() const override { return next_.longest_sequence(); }
  std::unique_ptr<LayerCache> make_cache(std::int64_t, std::int64_t) const override {
    return nullptr;
  }
  bool sees_whole_prompt() const override { return next_.sees_whole_prompt(); }
  Tensor next_logits(const Tensor& ids, LayerCache* cache, FpropContext& context) const override {
    return next_.next_logits(ids, cache, context);
  }

 private:
  std::unique_ptr<Model> model_;
  const NextToken& next_;
};

// A task, its model with random weights, and what both were made of.
template <class Task>
struct Trained {
  Trained(typename Task::Config config, const Value& model_fields, const std::string& type,
          const std::string& backend)
      : device(open_device(backend)), store(*device, RngKey(7)) {
    for (const char* plugin : {"nn", "lm", "tokenizers", "data"}) use_plugin(plugin);
    config.tokenizer = letters();
    config.decode.min_decode_steps = 3;
    TaskContext context{*device, {}};
    task = std::make_unique<Task>(config, context);
    Scope scope(store);
    model = task->build_model(ConfigOf<Model>(type, model_fields), scope);
    store.build();
    sharpen();
  }
  // Larger weights, so that texts differ from each other more than by rounding.
  void sharpen() {
    for (const auto& parameter : store.parameters()) {
      if (parameter->shape().rank() < 2) continue;
      std::vector<float> values = parameter->value().template to_host<float>();
      for (float& value : values) value *= 3;
      parameter->assign(Tensor::from<float>(*device, values, parameter->shape()));
    }
  }
  std::vector<GeneratedText> generate(const std::vector<std::string>& prompts,
                                      const GenerateOptions& options) {
    return task->generate(*model, prompts, options, {});
  }
  // -log p of one example as an evaluation computes it.
  double loss_of(const std::string& type, Value input, const std::string& prompt,
                 const GeneratedText& text) {
    const TempDir dir;
    const std::string line =
        to_json(Value::table({{"q", prompt}, {"a", text.text}})) + std::string("\n");
    input.set("source", jsonl_source(dir, line).to_value());
    input.set("inputs", "{q}");
    input.set("targets", "{a}");
    input.set("batch_size", 1);
    input.set("pack", false);
    input.set("add_eos", true);
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    const auto made = task->build_inputs(ConfigOf<Input>(type, input), context);
    const Batch batch = made->get_next()->to(*device);
    FpropContext step;
    const Tensor losses = model->fprop(batch, step).at("per_example_xent");
    const char* weights = batch.contains("weights") ? "weights" : "tgt/weights";
    return sum_of(losses.to_host<float>(), batch.at(weights).template to_host<float>(), text);
  }
  // The end token counts if the model generated one.
  static double sum_of(const std::vector<float>& losses, const std::vector<float>& weights,
                       const GeneratedText& text) {
    double sum = 0;
    std::int64_t counted = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (weights[i] == 0 || counted == text.tokens) continue;
      sum += losses[i];
      ++counted;
    }
    CHECK(counted == text.tokens);
    return sum;
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<Task> task;
  std::unique_ptr<Model> model;
};

std::vector<GenerateOptions> ways() {
  return {{.max_tokens = 6, .temperature = 0.0},
          {.max_tokens = 6, .temperature = 1.0, .top_k = 0, .seed = 4},
          {.max_tokens = 6, .beam_size = 3}};
}

Value sizes() {
  return Value::table(
      {{"model_dims", 8}, {"num_layers", 2}, {"num_heads", 2}, {"max_seq_len", 24}});
}

// Positions of the embedding, of the blocks, as a bias of the attention, and of places in a row.
std::vector<Value> language_models(const std::string& type) {
  std::vector<Value> models(5, sizes());
  for (Value& model : models) model.set("model_type", type);
  models[0].set("position_emb_tpl", Value::table({{"type", "nn/TrainablePositionalEmbedding"}}));
  models[1].set("block_tpl", value_from_json(R"({"type": "nn/TransformerBlock",
      "attention_tpl": {"type": "nn/MultiHeadAttention", "use_rotary_position_emb": true}})",
                                             "test"));
  models[2].set("block_tpl", value_from_json(R"({"type": "nn/TransformerBlock",
      "attention_tpl": {"type": "nn/MultiHeadAttention",
                        "relative_bias": {"type": "nn/RelativeBias"}}})",
                                             "test"));
  models[3].set("block_tpl", value_from_json(R"({"type": "nn/TransformerBlock",
      "attention_tpl": {"type": "nn/MultiHeadAttention", "rel_pos_emb_dim": 4}})",
                                             "test"));
  models[4].set("block_tpl", value_from_json(R"({"type": "nn/TransformerBlock",
      "attention_tpl": {"type": "nn/MultiHeadAttention", "dconv_qkv": true,
                        "attention_extra_logit": 0.0, "relative_bias": "nn/AlibiBias"}})",
                                             "test"));
  models[4].set("softmax_tpl", "nn/GShardSharedEmbeddingSoftmax");
  return models;
}

bool is_whole(const GeneratedText& text) {
  const bool ended = text.end == FinishReason::end_token;
  return std::ssize(text.text) + (ended ? 1 : 0) == text.tokens;
}

template <class Fixture>
void check(Fixture& fixture, const std::string& input_type, const Value& input) {
  for (const GenerateOptions& options : ways()) {
    INFO("seed " << options.seed << ", beams " << options.beam_size.value_or(1));
    const auto together = fixture.generate(kPrompts, options);
    REQUIRE(together.size() == kPrompts.size());
    std::size_t compared = 0;
    for (std::size_t i = 0; i < kPrompts.size(); ++i) {
      INFO("prompt " << kPrompts[i] << ", text " << together[i].text);
      // A start token in the middle is not part of the text, so no input can contain it.
      if (!is_whole(together[i])) continue;
      ++compared;
      CHECK(-together[i].log_probability ==
            Approx(fixture.loss_of(input_type, input, kPrompts[i], together[i])).margin(2e-4));
      GenerateOptions alone = options;
      alone.draws = {{.prompt = i}};
      const GeneratedText same = fixture.generate({kPrompts[i]}, alone).at(0);
      CHECK(same.text == together[i].text);
      CHECK(same.log_probability == Approx(together[i].log_probability).margin(1e-4));
    }
    CHECK(compared >= 3);
  }
}

Value learning_input(bool inputs_eos) {
  return Value::table(
      {{"seq_len", 24}, {"weights_on_targets_only", true}, {"inputs_eos", inputs_eos}});
}

Trained<lm::LanguageModeling> language_model(const Value& model, bool inputs_eos,
                                             const std::string& backend) {
  lm::LanguageModelingConfig config;
  // As in a run's config: the task reads from it how prompts end.
  config.train_input = {"data/LanguageModel", Value::table({{"inputs_eos", inputs_eos}})};
  return {config, model, "lm/LanguageModel", backend};
}

}  // namespace

TEST_CASE("generated texts have the probability that an evaluation reports",
          "[slow][lm-decoding]") {
  const std::string type = GENERATE(from_range(kModels));
  const bool inputs_eos = GENERATE(false, true);
  for (const Value& model : language_models(type)) {
    INFO(type << ", inputs_eos " << inputs_eos << "\n" << to_toml(model));
    auto fixture = language_model(model, inputs_eos, "tiny/Backend");
    check(fixture, "data/LanguageModel", learning_input(inputs_eos));
  }
}

TEST_CASE("a model decodes the same with and without a cache", "[lm-decoding]") {
  const std::string type = GENERATE(from_range(kModels));
  INFO(type);
  auto fixture = language_model(language_models(type)[0], false, backends().back());
  const auto cached = fixture.generate(kPrompts, ways()[1]);
  fixture.model = std::make_unique<Forgetful>(std::move(fixture.model));
  check(fixture, "data/LanguageModel", learning_input(false));
  const auto forgetful = fixture.generate(kPrompts, ways()[1]);
  for (std::size_t i = 0; i < kPrompts.size(); ++i) CHECK(forgetful[i].text == cached[i].text);
}

TEST_CASE("state space models write texts with the probability of an evaluation", "[lm-decoding]") {
  Value model = sizes();
  model.set("block_tpl", value_from_json(R"({"type": "nn/TransformerBlock",
      "attention_tpl": {"type": "nn/Ssm", "state_dims": 4, "step_size": 0.5}})",
                                         "test"));
  auto fixture = language_model(model, false, GENERATE(from_range(backends())));
  check(fixture, "data/LanguageModel", learning_input(false));
}

// Experts that choose positions have no cache and choose among all positions of a batch.
TEST_CASE("expert-choice experts decode a prompt the same in any batch", "[lm-decoding]") {
  const std::string type = GENERATE(from_range(kModels));
  Value model = language_models(type)[0];
  model.set("block_tpl", value_from_json(R"({"type": "nn/TransformerBlock",
      "ffn_tpl": {"type": "nn/MoeFeedForward", "num_experts": 3,
                           "gating_func": "expert_choice", "expert_capacity_factor": 1.0}})",
                                         "test"));
  auto fixture = language_model(model, false, backends().back());
  const std::vector<std::string> prompts = {"abc", "fed", "ccc", "zyx", "abcd"};
  for (const GenerateOptions& options : ways()) {
    INFO(type << ", beams " << options.beam_size.value_or(1));
    const auto together = fixture.generate(prompts, options);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      INFO(prompts[i]);
      GenerateOptions alone = options;
      alone.draws = {{.prompt = i}};
      const GeneratedText same = fixture.generate({prompts[i]}, alone).at(0);
      CHECK(same.text == together[i].text);
      CHECK(same.log_probability == Approx(together[i].log_probability).margin(1e-4));
    }
  }
}

TEST_CASE("texts that an encoder's decoder writes have the probability of an evaluation",
          "[lm-decoding]") {
  Value model = sizes();
  model.set("max_source_len", 24);
  for (const std::string& backend : backends()) {
    INFO(backend);
    Trained<lm::Seq2Seq> fixture({}, model, "lm/SequenceModel", backend);
    check(fixture, "data/SequenceToSequence",
          Value::table({{"inputs_len", 24}, {"targets_len", 24}}));
  }
}

// Its last token sees the first one, and the first the last: as in training.
TEST_CASE("the positions of a prefix see all of it while its text is written", "[lm-decoding]") {
  const auto first_text = [](const std::string& type, const std::vector<std::string>& prompts) {
    auto fixture = language_model(language_models(type)[0], false, "tiny/Backend");
    return fixture.generate(prompts, {.max_tokens = 6, .temperature = 0.0}).at(0);
  };
  CHECK(first_text("causal", {"abcdef"}).log_probability !=
        first_text("prefix", {"abcdef"}).log_probability);
}

TEST_CASE("equal prompts and samples of one are drawn apart, each by its number", "[lm-decoding]") {
  auto fixture = language_model(language_models("causal")[0], false, "tiny/Backend");
  GenerateOptions options{.max_tokens = 12, .temperature = 1.0, .top_k = 0, .seed = 4};
  const auto both = fixture.generate({"abc", "abc"}, options);
  CHECK(both[0].text != both[1].text);
  options.draws = {{.prompt = 1}, {.prompt = 0}, {.prompt = 0, .sample = 1}};
  const auto again = fixture.generate({"abc", "abc", "abc"}, options);
  CHECK(again[0].text == both[1].text);
  CHECK(again[1].text == both[0].text);
  CHECK(again[2].text != both[0].text);
  CHECK(again[2].text != both[1].text);
}

TEST_CASE("beam search refuses options that it would ignore", "[lm-decoding]") {
  auto fixture = language_model(language_models("causal")[0], false, "tiny/Backend");
  const auto complaint = [&](GenerateOptions options) {
    options.beam_size = 2;
    CHECK_THROWS_WITH(fixture.generate({"a"}, options), Contains("beam search does not sample"));
  };
  complaint({.temperature = 0.5});
  complaint({.top_k = 3});
  complaint({.top_p = 0.5});
  CHECK_THROWS_WITH(
      fixture.generate({"a"}, {.beam_size = 2, .draws = {{.prompt = 0, .sample = 2}}}),
      Contains("beam search has 2 sequences, so it has no sample 3"));
}

TEST_CASE("prompts end as the inputs that a task was trained with", "[lm-decoding]") {
  const Value model = language_models("causal")[0];
  const auto tokens = [&](bool inputs_eos) {
    return language_model(model, inputs_eos, "tiny/Backend")
        .generate({"abc"}, {.max_tokens = 1})
        .at(0)
        .prompt_tokens;
  };
  CHECK(tokens(false) == 4);
  CHECK(tokens(true) == 5);
}

TEST_CASE("a prompt of several is named by its number", "[lm-decoding]") {
  lm::LanguageModelingConfig config;
  config.add_bos = false;
  Trained<lm::LanguageModeling> fixture(config, language_models("causal")[0], "lm/LanguageModel",
                                        "tiny/Backend");
  CHECK_THROWS_WITH(fixture.generate({"a", "b", ""}, {}), Contains("prompt 3 is empty"));
  CHECK_THROWS_WITH(fixture.generate({""}, {}), Contains("the prompt is empty"));
  GenerateOptions samples{.draws = {{.prompt = 0}, {.prompt = 0, .sample = 1}}};
  CHECK_THROWS_WITH(fixture.generate({"", ""}, samples), Contains("the prompt is empty"));
  samples.draws = {{.prompt = 0}, {.prompt = 4}, {.prompt = 4, .sample = 1}};
  CHECK_THROWS_WITH(fixture.generate({"a", "", ""}, samples), Contains("prompt 5 is empty"));
}

}  // namespace lm_decoding_test
