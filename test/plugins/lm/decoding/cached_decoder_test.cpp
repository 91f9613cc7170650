// SPDX-License-Identifier: Apache-2.0
// Rows that take the slots of others while these are decoded: each gets the tokens that it gets
// alone.
#include "lm/decoding/cached_decoder.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include <catch2/catch.hpp>

#include "lm/decoding/sample_decode.h"
#include "lm/models/language_model.h"
#include "lm/tasks/language_modeling.h"
#include "plugins/lm/fake_decoder_state.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/layer/layer_template.h"

namespace cached_decoder_test {
namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;

constexpr std::int64_t kVocabulary = 23;

LanguageModelConfig model_of(const char* attention, ModelType type = ModelType::causal) {
  LanguageModelConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = 8;
  config.num_layers = 2;
  config.num_heads = 2;
  config.max_seq_len = 40;
  config.model_type = type;
  config.block_tpl = {"nn/TransformerBlock", Value::table({})};
  complete(config.block_tpl, "attention_tpl", value_from_json(attention, "test"), Value());
  return config;
}

LanguageModelConfig learned_positions() {
  LanguageModelConfig config = model_of(R"({"type": "nn/MultiHeadAttention"})");
  config.position_emb_tpl = "nn/TrainablePositionalEmbedding";
  return config;
}

constexpr const char* kRotary =
    R"({"type": "nn/MultiHeadAttention", "use_rotary_position_emb": true, "num_kv_heads": 1})";
constexpr const char* kOptions =
    R"({"type": "nn/MultiHeadAttention", "dconv_qkv": true, "window": 4,
        "attention_extra_logit": 0.0, "relative_bias": "nn/AlibiBias"})";
constexpr const char* kXl = R"({"type": "nn/MultiHeadAttention", "rel_pos_emb_dim": 6})";

struct Fixture {
  Fixture(const LanguageModelConfig& config, const std::string& backend)
      : device(test::open_device(backend)), store(*device, RngKey(7)) {
    test::use_plugin("nn");
    Scope scope(store);
    model = std::make_unique<LanguageModel>(config, scope);
    store.build();
    for (const auto& parameter : store.parameters()) {
      if (parameter->shape().rank() < 2) continue;
      std::vector<float> values = parameter->value().to_host<float>();
      for (float& value : values) value *= 3;
      parameter->assign(Tensor::from<float>(*device, values, parameter->shape()));
    }
  }
  const NextToken& next() const { return *model; }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<LanguageModel> model;
};

// Prompts of 1 to 12 tokens, which end after 1 to 14 tokens or at token 3.
struct Prompts {
  explicit Prompts(std::size_t count, double temperature, double guidance = 1) {
    for (std::size_t i = 0; i < count; ++i) {
      Tokens& prompt = prompts.emplace_back(1 + (i * 7) % 12);
      for (std::size_t t = 0; t < prompt.size(); ++t) {
        prompt[t] = static_cast<std::int32_t>((i * 5 + t * 3) % kVocabulary);
      }
      DecodeConfig& config =
          configs.emplace_back(greedy(1 + static_cast<std::int64_t>((i * 5) % 14)));
      config.temperature = temperature;
      config.cf_guidance_scale = guidance;
      keys.push_back(RngKey(3).fold(i));
      if (guidance != 1) unconditional.push_back({1, 2, 3});
    }
  }
  std::vector<DecodedRow> decode(const Fixture& fixture, std::size_t slots) const {
    CachedDecoder state(fixture.next(), *fixture.device, 14, kVocabulary, 12);
    return sample_decode(state,
                         {.prompts = prompts,
                          .configs = configs,
                          .keys = keys,
                          .unconditional = unconditional,
                          .slots = slots},
                         {.end_tokens = {3}, .longest = 40});
  }
  std::vector<Tokens> prompts, unconditional;
  std::vector<DecodeConfig> configs;
  std::vector<RngKey> keys;
};

void check_equal(const std::vector<DecodedRow>& got, const std::vector<DecodedRow>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("row " << i);
    CHECK(got[i].ids == want[i].ids);
    CHECK(got[i].ended == want[i].ended);
    REQUIRE(got[i].log_probs.size() == want[i].log_probs.size());
    for (std::size_t t = 0; t < got[i].log_probs.size(); ++t) {
      CHECK(got[i].log_probs[t] == Approx(want[i].log_probs[t]).margin(1e-4));
    }
  }
}

}  // namespace

TEST_CASE("rows in slots of others get the tokens that they get alone", "[slow][lm]") {
  for (const std::string& backend : test::backends()) {
    for (const LanguageModelConfig& config :
         {learned_positions(), model_of(kRotary), model_of(kOptions),
          model_of(kRotary, ModelType::prefix)}) {
      const Fixture fixture(config, backend);
      CHECK(CachedDecoder::can_insert_into(fixture.next()));
      for (const double temperature : {0.0, 1.0}) {
        const Prompts prompts(17, temperature);
        const std::vector<DecodedRow> alone = prompts.decode(fixture, 1);
        std::size_t tokens = 0;
        for (const DecodedRow& row : alone) tokens += row.ids.size();
        CHECK(tokens > 50);
        for (const std::size_t slots : {2, 3, 5, 16, 0}) {
          INFO(backend << " slots " << slots << " temperature " << temperature);
          check_equal(prompts.decode(fixture, slots), alone);
        }
      }
    }
  }
}

TEST_CASE("guided rows take slots together with their unconditional ones", "[lm]") {
  const Fixture fixture(learned_positions(), "tiny/Backend");
  const Prompts prompts(11, 1, 2.5);
  const std::vector<DecodedRow> alone = prompts.decode(fixture, 1);
  for (const std::size_t slots : {2, 4, 0}) check_equal(prompts.decode(fixture, slots), alone);
}

TEST_CASE("a row that stays long after others have left has room", "[lm]") {
  const Fixture fixture(learned_positions(), "tiny/Backend");
  Prompts prompts(6, 0);
  // The longest prompt ends at once, and a short one takes all steps behind it.
  prompts.prompts = {Tokens(12, 5), {7}, {8}, {9}, {10}, {11}};
  for (std::size_t i = 0; i < 6; ++i) prompts.configs[i].max_decode_steps = i == 0 ? 1 : 14;
  const std::vector<DecodedRow> alone = prompts.decode(fixture, 1);
  check_equal(prompts.decode(fixture, 2), alone);
  check_equal(prompts.decode(fixture, 4), alone);
}

TEST_CASE("models whose caches take no further rows decode in waves", "[lm]") {
  const auto device = test::open_device("tiny/Backend");
  for (const char* plugin : {"nn", "lm", "tokenizers"}) test::use_plugin(plugin);
  const Fixture xl(model_of(kXl), "tiny/Backend");
  CHECK_FALSE(CachedDecoder::can_insert_into(xl.next()));
  const auto cache = xl.model->make_cache(1, 4);
  CHECK_THROWS_WITH(cache->append_rows(*xl.model->make_cache(1, 4)), Contains("further rows"));
  CachedDecoder state(xl.next(), *xl.device, 4, kVocabulary);
  const std::vector<Tokens> prompt = {{1, 2}};
  state.start(prompt);
  CHECK_FALSE(state.can_insert());
  FakeModel fake(11);
  CHECK_THROWS_WITH(fake.insert(prompt), Contains("cannot take rows"));

  std::vector<std::vector<GeneratedText>> texts;
  for (const std::int64_t slots : {1, 2, 16}) {
    LanguageModelingConfig config;
    config.tokenizer = "tokenizers/Bytes";
    config.decode.num_cache_slots = slots;
    config.decode.max_decode_steps = 5;
    TaskContext context{*device, {}};
    LanguageModeling task(config, context);
    ParameterStore store(*device, RngKey(7));
    Scope scope(store);
    LanguageModelConfig model_config = model_of(kXl);
    model_config.vocab_size = 256;
    const auto model = task.build_model({"lm/LanguageModel", encode(model_config)}, scope);
    store.build();
    texts.push_back(
        task.generate(*model, std::vector<std::string>{"a", "bcd", "ef", "ghijk", "l"}, {}, {}));
  }
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(texts[1][i].ids == texts[0][i].ids);
    CHECK(texts[2][i].ids == texts[0][i].ids);
  }
}

}  // namespace cached_decoder_test
