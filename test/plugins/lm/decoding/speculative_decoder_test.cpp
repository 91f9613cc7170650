// SPDX-License-Identifier: Apache-2.0
// A draft changes no token and no probability, whatever it guesses.
#include "lm/decoding/speculative_decoder.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/decoding/sample_decode.h"
#include "lm/models/language_model.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/layer/layer_template.h"

namespace speculative_decoder_test {
namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;

using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kVocabulary = 23, kSteps = 20;

LanguageModelConfig model_of(const char* attention, std::int64_t layers = 2) {
  LanguageModelConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = 32;
  config.num_layers = layers;
  config.num_heads = 2;
  config.max_seq_len = 40;
  config.block_tpl = {"nn/TransformerBlock", Value::table({})};
  complete(config.block_tpl, "attention_tpl", value_from_json(attention, "test"), Value());
  return config;
}

constexpr const char* kPlain = R"({"type": "nn/MultiHeadAttention"})";
constexpr const char* kRotary =
    R"({"type": "nn/MultiHeadAttention", "use_rotary_position_emb": true, "num_kv_heads": 1,
        "window": 6})";

class Random {
 public:
  Random(const LanguageModelConfig& config, Device& device, std::uint64_t seed)
      : store_(device, RngKey(seed)) {
    test::use_plugin("nn");
    Scope scope(store_);
    model_ = std::make_unique<LanguageModel>(config, scope);
    store_.build();
    for (const auto& parameter : store_.parameters()) {
      if (parameter->shape().rank() < 2) continue;
      std::vector<float> values = parameter->value().to_host<float>();
      for (float& value : values) value *= 3;
      parameter->assign(Tensor::from<float>(device, values, parameter->shape()));
    }
  }
  const NextToken& next() const { return *model_; }

 private:
  ParameterStore store_;
  std::unique_ptr<LanguageModel> model_;
};

struct Decoded {
  DecodedRow row;
  std::int64_t guessed = 0, accepted = 0;
};

DecodedRow decode(DecoderState& state, const Tokens& prompt, double temperature) {
  DecodeConfig config;
  config.max_decode_steps = kSteps;
  config.temperature = temperature;
  config.k = 0;
  const std::vector<Tokens> prompts = {prompt};
  const RngKey key(3);
  return sample_decode(state, {.prompts = prompts, .configs = {&config, 1}, .keys = {&key, 1}},
                       {.end_tokens = {3}, .longest = 40})
      .at(0);
}

Decoded decode_with(const NextToken& model, const NextToken& draft, Device& device,
                    std::int64_t guesses, const Tokens& prompt, double temperature) {
  CachedDecoder state(model, device, kSteps, kVocabulary),
      small(draft, device, kSteps, kVocabulary);
  SpeculativeDecoder speculative(state, small, draft.longest_sequence(), guesses);
  Decoded decoded;
  decoded.row = decode(speculative, prompt, temperature);
  decoded.guessed = speculative.guessed(), decoded.accepted = speculative.accepted();
  return decoded;
}

const std::vector<Tokens> kPrompts = {{1}, {5, 9, 2, 7, 7, 11, 4, 0, 8, 20, 1, 2}, {14, 6}};

}  // namespace

TEST_CASE("a draft changes neither the tokens nor their probabilities") {
  for (const std::string& backend : test::backends()) {
    const auto device = test::open_device(backend);
    for (const char* attention : {kPlain, kRotary}) {
      const Random model(model_of(attention), *device, 7);
      LanguageModelConfig short_config = model_of(kPlain, 1);
      short_config.max_seq_len = 16;
      const Random small(model_of(kPlain, 1), *device, 8), short_draft(short_config, *device, 9);
      std::int64_t accepted = 0, refused = 0;
      for (const Random* draft : {&model, &small, &short_draft}) {
        for (const double temperature : {0.0, 0.7}) {
          for (const std::int64_t guesses : {1, 4, 30}) {
            for (const Tokens& prompt : kPrompts) {
              INFO(backend << ", " << attention << ", temperature " << temperature << ", "
                           << guesses << " guesses, prompt of " << prompt.size());
              CachedDecoder alone(model.next(), *device, kSteps, kVocabulary);
              const DecodedRow want = decode(alone, prompt, temperature);
              const Decoded got =
                  decode_with(model.next(), draft->next(), *device, guesses, prompt, temperature);
              CHECK(got.row.ids == want.ids);
              CHECK(got.row.log_probs == want.log_probs);
              CHECK(got.accepted <= got.guessed);
              accepted += got.accepted, refused += got.guessed - got.accepted;
            }
          }
        }
      }
      CHECK(accepted > 0);
      CHECK(refused > 0);
    }
  }
}

TEST_CASE("a model that guesses for itself is right at temperature 0") {
  const auto device = test::open_device("cpu/Highway");
  const Random model(model_of(kPlain), *device, 7);
  const Decoded got = decode_with(model.next(), model.next(), *device, 4, {5, 9}, 0);
  const std::int64_t tokens = std::ssize(got.row.ids);
  // After the first token, and then after each 4 guesses, the model reads one that it has chosen.
  CHECK(got.accepted == tokens - 1 - (tokens - 1 + 4) / 5);
  CHECK(got.guessed - got.accepted < 4);
}

TEST_CASE("a model or a draft that cannot give positions back is refused") {
  const auto device = test::open_device("tiny/Backend");
  const Random plain(model_of(kPlain), *device, 7);
  const char* const kXl = R"({"type": "nn/MultiHeadAttention", "rel_pos_emb_dim": 6})";
  const char* const kConvolutions = R"({"type": "nn/MultiHeadAttention", "dconv_qkv": true})";
  for (const char* attention : {kXl, kConvolutions}) {
    const Random other(model_of(attention), *device, 7);
    CHECK_THROWS_WITH(decode_with(other.next(), plain.next(), *device, 4, {1}, 0),
                      Contains("needs a model whose layers can give positions back"));
    CHECK_THROWS_WITH(decode_with(plain.next(), other.next(), *device, 4, {1}, 0),
                      Contains("needs a draft whose layers can give positions back"));
  }
}

}  // namespace speculative_decoder_test
