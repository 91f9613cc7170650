// SPDX-License-Identifier: Apache-2.0
// Generation of texts by whole tasks: settings of rows, guidance, ids and scores, batches of
// sources, and configs that are refused.
#include "lm/decoding/text_generation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include <catch2/catch.hpp>

#include "lm/models/sequence_model.h"
#include "lm/tasks/language_modeling.h"
#include "lm/tasks/seq2seq.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/extensions/target_decoding.h"

namespace text_generation_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

Value sizes() {
  return Value::table(
      {{"model_dims", 8}, {"num_layers", 1}, {"num_heads", 2}, {"max_seq_len", 24}});
}

// A task and its model with random weights, larger than those of a new model.
template <class Task>
struct Trained {
  explicit Trained(const lm::DecodeConfig& decode, const char* type, bool marks = true,
                   std::shared_ptr<Device> on = open_device("tiny/Backend"))
      : device(std::move(on)), store(*device, RngKey(7)) {
    for (const char* plugin : {"nn", "lm", "tokenizers"}) use_plugin(plugin);
    typename Task::Config config;
    config.tokenizer = {"tokenizers/Bytes", Value::table({{"bos", marks}, {"eos", marks}})};
    config.decode = decode;
    TaskContext context{*device, {}};
    task = std::make_unique<Task>(config, context);
    Scope scope(store);
    model = task->build_model(ConfigOf<Model>(type, sizes()), scope);
    store.build();
    for (const auto& parameter : store.parameters()) {
      if (parameter->shape().rank() < 2) continue;
      std::vector<float> values = parameter->value().template to_host<float>();
      for (float& value : values) value *= 4;
      parameter->assign(Tensor::from<float>(*device, values, parameter->shape()));
    }
  }
  std::vector<GeneratedText> generate(const std::vector<std::string>& prompts,
                                      const GenerateOptions& options) {
    return task->generate(*model, prompts, options, {});
  }

  std::shared_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<Task> task;
  std::unique_ptr<Model> model;
};

Trained<lm::LanguageModeling> language_model(const lm::DecodeConfig& decode = {},
                                             bool marks = true) {
  return Trained<lm::LanguageModeling>(decode, "lm/LanguageModel", marks);
}

Trained<lm::Seq2Seq> translator(const lm::DecodeConfig& decode = {}) {
  return Trained<lm::Seq2Seq>(decode, "lm/SequenceModel");
}

// Targets whose decoder has no cache.
class Forgetful final : public Model, public TargetDecoding {
 public:
  explicit Forgetful(std::unique_ptr<Model> model) : model_(std::move(model)) {}
  NestedMap fprop(const Batch& batch, FpropContext& context) override {
    return model_->fprop(batch, context);
  }
  const void* extension(std::string_view id) const noexcept override {
    return id == kModelTargetDecoding ? static_cast<const TargetDecoding*>(this) : nullptr;
  }
  std::shared_ptr<const NextToken> with_sources(std::span<const Tensor> ids) const override {
    const auto* inner = static_cast<const TargetDecoding*>(model_->extension(kModelTargetDecoding));
    return std::make_shared<Next>(inner->with_sources(ids));
  }

 private:
  struct Next final : NextToken {
    explicit Next(std::shared_ptr<const NextToken> next) : next(std::move(next)) {}
    std::int64_t vocabulary_size() const override { return next->vocabulary_size(); }
    std::int64_t longest_sequence() const override { return next->longest_sequence(); }
    std::unique_ptr<LayerCache> make_cache(std::int64_t, std::int64_t) const override {
      return nullptr;
    }
    bool sees_whole_prompt() const override { return next->sees_whole_prompt(); }
    Tensor next_logits(const Tensor& ids, LayerCache* cache, FpropContext& context) const override {
      return next->next_logits(ids, cache, context);
    }
    std::shared_ptr<const NextToken> next;
  };
  std::unique_ptr<Model> model_;
};

// "path: what" of each problem of a decode config.
std::vector<std::string> complaints(const std::function<void(lm::DecodeConfig&)>& change) {
  lm::DecodeConfig decode;
  change(decode);
  Diagnostics diagnostics;
  lm::check_decode(decode, diagnostics);
  std::vector<std::string> all;
  for (const Diagnostic& one : diagnostics.list()) all.push_back(one.path + ": " + one.what);
  return all;
}

}  // namespace

TEST_CASE("each prompt of a batch has its own options, ids and score", "[lm-text]") {
  auto fixture = language_model();
  GenerateOptions options{.max_tokens = 7, .top_k = 0, .seed = 4};
  options.rows = {{}, {.temperature = 0.0}, {.max_tokens = 3, .top_k = 4}, {.top_p = 0.3}};
  const std::vector<std::string> prompts = {"abc", "abc", "b", "abc"};
  const auto together = fixture.generate(prompts, options);
  for (std::size_t i = 0; i < 4; ++i) {
    GenerateOptions alone = options;
    alone.draws = {{.prompt = i}};
    alone.rows = {options.rows[i]};
    const GeneratedText text = fixture.generate({prompts[i]}, alone).at(0);
    INFO("prompt " << i);
    CHECK(text.ids == together[i].ids);
    CHECK(std::ssize(text.ids) == text.tokens);
    CHECK(text.score == text.log_probability);
  }
  CHECK(together[1].text ==
        fixture.generate({"abc"}, {.max_tokens = 7, .temperature = 0.0})[0].text);
  CHECK(together[2].tokens <= 3);
  options.rows.pop_back();
  CHECK_THROWS_WITH(fixture.generate(prompts, options),
                    Contains("options of 3 rows, and 4 prompts"));
  options.rows = {{}, {}, {}, {.top_p = 0.0}};
  CHECK_THROWS_AS(fixture.generate(prompts, options), UsageError);
}

TEST_CASE("a draft must have the tokenizer of the model", "[lm-text]") {
  auto fixture = language_model();
  using Model = Trained<lm::LanguageModeling>;
  Model same({}, "lm/LanguageModel", true, fixture.device);
  Model other({}, "lm/LanguageModel", false, fixture.device);
  const auto options_with = [](auto& draft) {
    GenerateOptions options{.max_tokens = 5, .temperature = 0};
    options.draft.model = draft.model.get();
    options.draft.generator =
        static_cast<const TextGenerator*>(draft.task->extension(kTaskTextGenerator));
    return options;
  };
  const auto texts = fixture.generate({"abc", "b"}, options_with(same));
  CHECK(texts[1].text == fixture.generate({"b"}, {.max_tokens = 5, .temperature = 0})[0].text);
  CHECK(texts[1].guessed > 0);
  CHECK_THROWS_WITH(fixture.generate({"abc"}, options_with(other)),
                    Contains("the draft has 256 tokens, and the model 258"));
  GenerateOptions none = options_with(same);
  none.draft.tokens = 0;
  CHECK_THROWS_WITH(fixture.generate({"abc"}, none), Contains("at least 1 token"));
  none = options_with(same);
  none.draft.generator = nullptr;
  CHECK_THROWS_WITH(fixture.generate({"abc"}, none), Contains("has no tokenizer to compare"));
  auto seq2seq = translator();
  CHECK_THROWS_WITH(seq2seq.generate({"abc"}, options_with(same)),
                    Contains("this task reads a source"));
}

TEST_CASE("the score of a beam is its normalized log probability", "[lm-text]") {
  auto fixture = language_model();
  const auto text = fixture.generate({"abc"}, {.max_tokens = 5, .beam_size = 3}).at(0);
  const double norm = std::pow((static_cast<double>(text.tokens) + 5) / 5, 0.8);
  CHECK(text.score == Approx(text.log_probability / norm).margin(1e-6));
}

TEST_CASE("the samples of a search are its sequences, the best first", "[lm-text]") {
  const auto check = [](auto fixture) {
    GenerateOptions options{.max_tokens = 6, .beam_size = 3};
    options.draws = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {2, 1}};
    const auto texts = fixture.generate({"abc", "abc", "abc", "d", "abc"}, options);
    REQUIRE(texts.size() == 5);
    CHECK(texts[0].score >= texts[1].score);
    CHECK(texts[1].score >= texts[2].score);
    CHECK(texts[0].ids != texts[1].ids);
    CHECK(texts[4].ids == texts[1].ids);
    CHECK(texts[3].ids == fixture.generate({"d"}, {.max_tokens = 6, .beam_size = 3})[0].ids);
    // One step finishes one sequence. Live ones follow it, the best first.
    options.max_tokens = 1;
    const auto few = fixture.generate({"abc", "abc", "abc", "d", "abc"}, options);
    CHECK(few[0].end == FinishReason::end_token);
    CHECK(few[1].end == FinishReason::max_tokens);
    CHECK(few[2].end == FinishReason::max_tokens);
    CHECK(few[1].score >= few[2].score);
    CHECK(few[1].ids != few[2].ids);
  };
  check(language_model());
  check(translator());
}

TEST_CASE("guidance changes texts by the unconditional prompt", "[lm-text]") {
  const GenerateOptions options{.max_tokens = 8, .top_k = 0, .seed = 2};
  lm::DecodeConfig decode;
  decode.min_decode_steps = 8;
  const auto texts = [&](auto fixture) { return fixture.generate({"abc", "f"}, options); };
  const auto plain = texts(language_model(decode)), plain_target = texts(translator(decode));
  decode.cf_guidance_scale = 30;
  const auto guided = texts(language_model(decode)), guided_target = texts(translator(decode));
  CHECK(guided[0].ids != plain[0].ids);
  CHECK(guided_target[0].ids != plain_target[0].ids);
  // A prompt that is the unconditional one is led nowhere.
  decode.unconditional_prompt = "f";
  const auto same = texts(language_model(decode)), same_target = texts(translator(decode));
  CHECK(same[1].ids == plain[1].ids);
  CHECK(same_target[1].ids == plain_target[1].ids);
  CHECK(same[0].ids != plain[0].ids);
  CHECK(same_target[0].ids != plain_target[0].ids);
  CHECK(same[1].prompt_tokens == 2);
  // Beam search does not sample.
  const auto searched = [&] {
    return translator(decode).generate({"abc"}, {.max_tokens = 8, .beam_size = 2})[0].ids;
  };
  decode.unconditional_prompt.clear();
  const std::vector<std::int32_t> beam = searched();
  decode.cf_guidance_scale = 1;
  CHECK(searched() == beam);
  decode.cf_guidance_scale = 3;
  auto markless = language_model(decode, false);
  CHECK_THROWS_WITH(markless.generate({"a"}, options),
                    Contains("task.decode.unconditional_prompt is empty"));
}

TEST_CASE("an end that is chosen afterwards needs an end token", "[lm-text]") {
  lm::DecodeConfig decode;
  decode.optimize_eos = true;
  decode.max_decode_steps = 6;
  const auto texts = language_model(decode).generate({"abc", "b", "d"}, {.seed = 3});
  for (const GeneratedText& text : texts) {
    CHECK(text.end == FinishReason::end_token);
    CHECK(text.tokens <= 6);
  }
  auto markless = language_model(decode, false);
  CHECK_THROWS_WITH(markless.generate({"a"}, {}), Contains("has no end token"));
}

TEST_CASE("further end tokens end a text and are not part of it", "[lm-text]") {
  const GenerateOptions options{.max_tokens = 12, .temperature = 1.0, .top_k = 0, .seed = 3};
  const auto plain = language_model().generate({"abc"}, options).at(0);
  REQUIRE(plain.tokens == 12);
  lm::DecodeConfig decode;
  decode.eos_ids = {plain.ids[4], plain.ids[7]};
  const std::size_t first =
      1 + static_cast<std::size_t>(std::ranges::find_first_of(plain.ids, decode.eos_ids) -
                                   plain.ids.begin());
  for (const bool marks : {true, false}) {
    auto fixture = language_model(decode, marks);
    const auto text = fixture.generate({"abc"}, options).at(0);
    CHECK(text.end == FinishReason::end_token);
    CHECK(std::ranges::count(decode.eos_ids, text.ids.back()) > 0);
    CHECK(std::ssize(text.text) <= text.tokens - 1);
    if (!marks) continue;
    const auto end = plain.ids.begin() + static_cast<std::ptrdiff_t>(first);
    CHECK(text.ids == std::vector(plain.ids.begin(), end));
  }
  decode.eos_ids = {999};
  CHECK_THROWS_WITH(language_model(decode).generate({"abc"}, options),
                    Contains("task.decode.eos_ids has token 999, and the model has 258"));
}

TEST_CASE("targets of many sources are decoded in batches, with the texts of each alone",
          "[lm-text]") {
  auto fixture = translator();
  std::vector<std::string> prompts;
  for (int i = 0; i < 19; ++i) {
    prompts.push_back(std::string(static_cast<std::size_t>(1 + i * 7 % 12), char('a' + i)));
  }
  const GenerateOptions options{.max_tokens = 6, .temperature = 1.0, .top_k = 0, .seed = 4};
  const auto together = fixture.generate(prompts, options);
  const auto check = [&](const std::vector<GeneratedText>& texts) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      INFO("source " << i);
      CHECK(texts[i].ids == together[i].ids);
      CHECK(texts[i].log_probability == Approx(together[i].log_probability).margin(1e-4));
      CHECK(texts[i].prompt_tokens == std::ssize(prompts[i]) + 1);
    }
  };
  std::vector<GeneratedText> alone;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    GenerateOptions one = options;
    one.draws = {{.prompt = i}};
    alone.push_back(fixture.generate({prompts[i]}, one).at(0));
  }
  check(alone);
  fixture.model = std::make_unique<Forgetful>(std::move(fixture.model));
  check(fixture.generate(prompts, options));
  lm::DecodeConfig guided;
  guided.cf_guidance_scale = 2;
  auto other = translator(guided);
  other.model = std::make_unique<Forgetful>(std::move(other.model));
  CHECK_THROWS_WITH(other.generate(prompts, options), Contains("needs a decoder with a cache"));
}

TEST_CASE("a prompt from a file is named by its line", "[lm-text]") {
  GenerateOptions options{.prompts_file = "p.txt"};
  CHECK_THROWS_WITH(language_model({}, false).generate({"a", "", "b"}, options),
                    Contains("line 2 of p.txt is empty"));
  CHECK_THROWS_WITH(translator().generate({"a", ""}, options),
                    Contains("line 2 of p.txt is empty"));
  options.draws = {{.prompt = 6}};
  CHECK_THROWS_WITH(translator().generate({""}, options), Contains("line 7 of p.txt is empty"));
}

TEST_CASE("settings of decoding that contradict each other are named", "[lm-text]") {
  using Decode = lm::DecodeConfig;
  using Strings = std::vector<std::string>;
  CHECK(complaints([](Decode&) {}).empty());
  CHECK(complaints([](Decode& c) { c.beam_size = 4, c.early_exit = true; }).empty());
  CHECK(complaints([](Decode& c) { c.min_decode_steps = 129; }) ==
        Strings{"decode.min_decode_steps: is more than max_decode_steps"});
  CHECK(complaints([](Decode& c) { c.flat_beam = c.early_exit = true; }) ==
        Strings{"decode.early_exit: is set, but decode.flat_beam does not use it"});
  CHECK(complaints([](Decode& c) { c.flat_beam = true, c.tokens_per_beam = 2; }).size() == 1);
  CHECK(complaints([](Decode& c) { c.flat_beam = true, c.min_decode_steps = 2; }).size() == 1);
  CHECK(complaints([](Decode& c) { c.beam_size = 2, c.optimize_eos = true; }) ==
        Strings{"decode.optimize_eos: is set, but decode.beam_size > 1 does not use it"});
  CHECK(complaints([](Decode& c) {
          c.beam_size = 2, c.epsilon_p = 0.1, c.min_p = 0.1, c.repetition_penalty = 2,
          c.cf_guidance_scale = 2;
        }).size() == 4);
  CHECK(complaints([](Decode& c) { c.unconditional_prompt = "a"; }).size() == 1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(complaints([](Decode& c) { c.temperature = kInfinity; }) ==
        Strings{"decode.temperature: must be finite"});
  CHECK(complaints([](Decode& c) { c.repetition_penalty = kInfinity; }).size() == 1);
  CHECK(complaints([](Decode& c) { c.cf_guidance_scale = kInfinity; }).size() == 1);
}

TEST_CASE("a number of decoding out of its range is named with its place", "[lm-text]") {
  const auto check = [](const std::string& field, Value value) {
    INFO(field << " = " << to_json(Value::table({{"value", value}})));
    const Value config = Value::table({{"decode", Value::table({{field, std::move(value)}})}});
    Diagnostics diagnostics;
    using Config = lm::LanguageModelingConfig;
    validate(config, schema_of<Config>(), nullptr, diagnostics, {.path = "task"});
    try_decode<Config>(config, "task", diagnostics);
    REQUIRE(diagnostics.list().size() == 1);
    CHECK(diagnostics.list()[0].path == "task.decode." + field);
  };
  check("max_decode_steps", 0);
  check("min_decode_steps", -1);
  check("k", -1);
  check("beam_size", 0);
  check("tokens_per_beam", -1);
  for (const char* field : {"temperature", "p", "epsilon_p", "min_p", "repetition_penalty",
                            "cf_guidance_scale", "length_norm_alpha"}) {
    check(field, std::numeric_limits<double>::quiet_NaN());
    check(field, std::numeric_limits<double>::infinity());
    check(field, std::string(field) == "length_norm_alpha" ? -200.0 : -0.5);
  }
  check("p", 0);
  check("p", 1.5);
  check("epsilon_p", 1);
  check("min_p", 1.5);
  check("repetition_penalty", 0);
}

}  // namespace text_generation_test
