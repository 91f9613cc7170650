// SPDX-License-Identifier: Apache-2.0
// The limits of sampling and its report: constraints, nucleus sampling over all tokens, the
// likeliest tokens of each step and their entropy.
#include "lm/decoding/choices.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <catch2/catch.hpp>

#include "lm/decoding/token_sampler.h"
#include "lm/models/language_model.h"
#include "lm/tasks/language_modeling.h"
#include "plugins/lm/fake_decoder_state.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace choices_test {
namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;

constexpr float kOut = -std::numeric_limits<float>::infinity();

std::map<std::int32_t, int> draws(const std::vector<float>& logits, const DecodeConfig& config) {
  std::map<std::int32_t, int> counts;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    ++counts[choose_token(logits, config, RngKey(5).fold(i))];
  }
  return counts;
}

// Only even tokens, and which step it saw.
class Even final : public TokenConstraint {
 public:
  void adjust(std::span<const std::int32_t> prompt, std::span<const std::int32_t> generated,
              std::span<float> logits) const override {
    CHECK(prompt.size() == 2);
    steps.push_back(generated.size());
    for (std::size_t id = 1; id < logits.size(); id += 2) logits[id] = kOut;
    if (generated.size() >= limit) std::fill(logits.begin(), logits.end(), kOut);
  }
  std::size_t limit = 100;
  mutable std::vector<std::size_t> steps;
};

struct Sampled {
  Sampled() { config.max_decode_steps = 6; }
  std::vector<DecodedRow> run(const DecodeLimits& limits = {}) {
    FakeModel model(11);
    return sample_decode(model,
                         {.prompts = {&prompt, 1},
                          .configs = {&config, 1},
                          .keys = {&key, 1},
                          .constraint = constraint,
                          .top = top},
                         limits);
  }
  Tokens prompt = {1, 2};
  DecodeConfig config;
  RngKey key = RngKey(4);
  const TokenConstraint* constraint = nullptr;
  std::int64_t top = 0;
};

// log softmax in double.
std::vector<double> log_softmax(const std::vector<float>& logits) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  std::vector<double> out;
  for (const float logit : logits) out.push_back(double{logit} - std::log(sum));
  return out;
}

struct Generating {
  explicit Generating(const DecodeConfig& decode, bool has_end = true)
      : device(test::open_device("tiny/Backend")), store(*device, RngKey(7)) {
    for (const char* plugin : {"nn", "lm", "tokenizers"}) test::use_plugin(plugin);
    LanguageModelingConfig config;
    config.tokenizer = {"tokenizers/Bytes", Value::table({{"bos", true}, {"eos", has_end}})};
    config.decode = decode;
    TaskContext context{*device, {}};
    task = std::make_unique<LanguageModeling>(config, context);
    Scope scope(store);
    model =
        task->build_model({"lm/LanguageModel",
                           Value::table({{"model_dims", 8}, {"num_layers", 1}, {"num_heads", 2}})},
                          scope);
    store.build();
  }
  std::vector<GeneratedText> generate(const std::vector<std::string>& prompts,
                                      const GenerateOptions& options = {}) {
    return task->generate(*model, prompts, options, {});
  }
  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<LanguageModeling> task;
  std::unique_ptr<Model> model;
};

DecodeConfig with_choices(std::vector<std::string> texts) {
  DecodeConfig config;
  config.sample_constraint = {"lm/Choices", Value::table({{"texts", Value::array_of(texts)}})};
  return config;
}

}  // namespace

TEST_CASE("global_normalize compares p with the probabilities of all tokens", "[lm]") {
  // Probabilities 0.4, 0.3, 0.2, 0.1. Of the two largest alone they are 0.57 and 0.43.
  const std::vector<float> logits = {std::log(0.4F), std::log(0.3F), std::log(0.2F),
                                     std::log(0.1F)};
  DecodeConfig config;
  config.k = 2;
  config.p = 0.5;
  CHECK(draws(logits, config).size() == 1);  // 0.57 reaches 0.5
  config.global_normalize = true;
  CHECK(draws(logits, config).size() == 2);  // 0.4 does not
  config.p = 0.9;
  CHECK(draws(logits, config).size() == 2);  // all k stay, though they have 0.7
  config.k = 0;
  CHECK(draws(logits, config).size() == 3);
  config.global_normalize = false;
  CHECK(draws(logits, config).size() == 3);  // without k they are the same
}

TEST_CASE("a constraint decides what is sampled, and sees the tokens so far", "[lm]") {
  Sampled sampled;
  Even even;
  sampled.constraint = &even;
  const DecodedRow row = sampled.run()[0];
  REQUIRE(row.ids.size() == 6);
  for (const std::int32_t id : row.ids) CHECK(id % 2 == 0);
  CHECK(even.steps == std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
  // Log probabilities are those of the model.
  const FakeModel model(11);
  CHECK(row.log_probs[0] ==
        Approx(log_softmax(model.logits_behind({1, 2}))[static_cast<std::size_t>(row.ids[0])]));
  sampled.config.temperature = 0;
  const Tokens likeliest = sampled.run()[0].ids;
  for (const std::int32_t id : likeliest) CHECK(id % 2 == 0);

  even.limit = 3;
  CHECK_THROWS_WITH(sampled.run(),
                    Contains("task.decode.sample_constraint leaves no token after 3 generated"));
  // The only token that is left is an end token that is not allowed yet.
  even.limit = 100;
  sampled.config.min_decode_steps = 2;
  CHECK_THROWS_WITH(sampled.run({.end_tokens = {0, 2, 4, 6, 8, 10}}),
                    Contains("leaves no token after 0 generated"));
}

TEST_CASE("lm/Choices generates one of its texts, each by its probability", "[lm]") {
  Generating fixture(with_choices({"yes", "yet", "no"}));
  std::map<std::string, int> counts;
  GenerateOptions options;
  const std::vector<std::string> prompts(60, "q");
  for (const GeneratedText& text : fixture.generate(prompts, options)) {
    ++counts[text.text];
    CHECK(text.end == FinishReason::end_token);
  }
  CHECK(counts.size() == 3);
  CHECK(counts["yes"] + counts["yet"] + counts["no"] == 60);
  // A text that is the start of another may end or continue.
  counts.clear();
  Generating nested(with_choices({"a", "ab"}));
  for (const GeneratedText& text : nested.generate(prompts, options)) ++counts[text.text];
  CHECK(counts["a"] + counts["ab"] == 60);
  CHECK(counts.size() == 2);
}

TEST_CASE("wrong constraints are refused", "[lm]") {
  CHECK_THROWS_WITH(Generating(with_choices({"yes"}), false).generate({"q"}),
                    Contains("needs a token that ends a text"));
  GenerateOptions beams;
  beams.beam_size = 2;
  CHECK_THROWS_WITH(Generating(with_choices({"yes"})).generate({"q"}, beams),
                    Contains("task.decode.sample_constraint applies to sampling only"));
  const auto problems = [](const auto& check) {
    Diagnostics diagnostics;
    check(diagnostics);
    std::vector<std::string> paths;
    for (const Diagnostic& each : diagnostics.list()) paths.push_back(each.path);
    return paths;
  };
  ChoicesConfig choices;
  const auto of_choices = [&](Diagnostics& diagnostics) { choices.validate(diagnostics); };
  CHECK(problems(of_choices) == std::vector<std::string>{"texts"});
  choices.texts = {"a", "", "a"};
  CHECK(problems(of_choices) == std::vector<std::string>{"texts[1]", "texts[2]"});
  DecodeConfig decode = with_choices({"a"});
  const auto of_decode = [&](Diagnostics& diagnostics) { check_decode(decode, diagnostics); };
  CHECK(problems(of_decode).empty());
  decode.beam_size = 2;
  decode.global_normalize = true;
  CHECK(problems(of_decode) ==
        std::vector<std::string>{"decode.global_normalize", "decode.sample_constraint"});
  decode = with_choices({"a"});
  decode.optimize_eos = true;
  CHECK(problems(of_decode) == std::vector<std::string>{"decode.sample_constraint"});
}

TEST_CASE("the likeliest tokens of each step and the entropy, in double", "[lm]") {
  const std::vector<float> logits = {0.5F, 2, -1, 2, kOut};
  const std::vector<double> log_p = log_softmax(logits);
  const auto top = top_log_probabilities(logits, 3);
  REQUIRE(top.size() == 3);
  CHECK((top[0].id == 1 && top[1].id == 3 && top[2].id == 0));  // equal ones by their id
  for (const TokenProbability& each : top) {
    CHECK(each.log_probability == Approx(log_p[static_cast<std::size_t>(each.id)]));
  }
  CHECK(top_log_probabilities(logits, 9).size() == 5);
  CHECK(top_log_probabilities(logits, 0).empty());
  double want = 0;
  for (std::size_t id = 0; id < 4; ++id) want -= std::exp(log_p[id]) * log_p[id];
  CHECK(entropy(logits) == Approx(want));
  CHECK(entropy(std::vector<float>(8, 3)) == Approx(std::log(8)));

  Sampled sampled;
  sampled.top = 2;
  const DecodedRow row = sampled.run()[0];
  REQUIRE(row.top.size() == row.ids.size());
  REQUIRE(row.entropies.size() == row.ids.size());
  const FakeModel model(11);
  Tokens sequence = sampled.prompt;
  for (std::size_t step = 0; step < row.ids.size(); ++step) {
    const auto expected = top_log_probabilities(model.logits_behind(sequence), 2);
    CHECK(row.top[step][0].id == expected[0].id);
    CHECK(row.top[step][1].log_probability == expected[1].log_probability);
    CHECK(row.entropies[step] == entropy(model.logits_behind(sequence)));
    sequence.push_back(row.ids[step]);
  }
  // With optimize_eos the last step is that of the end that was chosen.
  sampled.config.optimize_eos = true;
  const DecodedRow ended = sampled.run({.end_tokens = {3}})[0];
  CHECK(ended.ids.back() == 3);
  REQUIRE(ended.top.size() == ended.ids.size());
  Tokens before = sampled.prompt;
  before.insert(before.end(), ended.ids.begin(), ended.ids.end() - 1);
  CHECK(ended.entropies.back() == entropy(model.logits_behind(before)));
}

TEST_CASE("generated texts have the likeliest tokens where they are asked for", "[lm]") {
  DecodeConfig decode;
  decode.max_decode_steps = 4;
  Generating fixture(decode);
  GenerateOptions options;
  CHECK(fixture.generate({"q"}, options)[0].top_log_probabilities.empty());
  options.top_log_probabilities = 3;
  const GeneratedText text = fixture.generate({"q"}, options)[0];
  REQUIRE(text.top_log_probabilities.size() == text.ids.size());
  CHECK(text.entropies.size() == text.ids.size());
  CHECK(text.top_log_probabilities[0].size() == 3);
  options.beam_size = 2;
  CHECK_THROWS_WITH(fixture.generate({"q"}, options), Contains("likeliest tokens of each step"));
  options.beam_size = 1;
  options.top_log_probabilities = -1;
  CHECK_THROWS_WITH(fixture.generate({"q"}, options), Contains("at least 0"));
}

}  // namespace choices_test
