// SPDX-License-Identifier: Apache-2.0
// SequenceModel and its task: logits against float64, attention to the source, gradients, decoding
// with a cache, and errors.
#include "lm/models/sequence_model.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "encoder_fixture.h"
#include "lm/tasks/seq2seq.h"
#include "plugins/data/jsonl.h"
#include "trivet/error.h"
#include "trivet/task.h"

namespace lm_sequence_model_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int32_t kVocabulary = 9;
constexpr std::size_t kDims = 8;

lm::SequenceModelConfig small_config() {
  lm::SequenceModelConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = kDims;
  config.num_layers = 2;
  config.num_heads = 2;
  config.max_seq_len = 12;
  return config;
}

lm::SequenceModelConfig config_with_own_embeddings() {
  lm::SequenceModelConfig config = small_config();
  config.source_vocab_size = 20;
  config.num_encoder_layers = 1;
  config.max_source_len = 14;
  config.encoder_embedding_tpl = "nn/Embedding";
  config.decoder_embedding_tpl = "nn/Embedding";
  config.softmax_tpl = "nn/FullSoftmax";
  return config;
}

struct Fixture : EncoderFixture<lm::SequenceModel> {
  using EncoderFixture::EncoderFixture;

  // [T * vocabulary] of one pair.
  std::vector<float> logits(const Tokens& source, const Tokens& target) {
    return values({{"src/ids", ids(source, {1, std::ssize(source)})},
                   {"tgt/ids", ids(target, {1, std::ssize(target)})}});
  }
  Rows norm(const Rows& x, const std::string& path) const {
    return layer_norm(x, parameter(path + "/scale"), parameter(path + "/bias"));
  }
  Rows embedded(const Tokens& tokens, const std::string& side) const {
    Tokens positions(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) positions[i] = static_cast<std::int32_t>(i);
    return sum(rows_of_table(parameter("softmax/table"), tokens, kDims),
               rows_of_table(parameter(side + "/position_emb/table"), positions, kDims));
  }
};

// Vaswani et al. 2017 with norms before each part, in double.
Rows reference_logits(const Fixture& fixture, const Tokens& source, const Tokens& target) {
  const Heads all{.heads = 2, .kv_heads = 2};
  const Heads causal{
      .heads = 2, .kv_heads = 2, .sees = [](std::size_t i, std::size_t j) { return j <= i; }};
  Rows s = fixture.embedded(source, "encoder");
  for (const char* layer : {"layer_0", "layer_1"}) {
    s = transformer_block(s, fixture.below(std::string("encoder/transformer/") + layer), all);
  }
  s = fixture.norm(s, "encoder/final_norm");
  Rows x = fixture.embedded(target, "decoder");
  for (const char* layer : {"layer_0", "layer_1"}) {
    const std::string path = std::string("decoder/transformer/") + layer;
    const Weights weight = fixture.below(path);
    const auto normed = [&](const char* name) { return fixture.norm(x, path + "/" + name); };
    x = sum(x, attention(normed("attention_norm"), fixture.below(path + "/attention"), causal));
    x = sum(x, attention(normed("cross_norm"), s, fixture.below(path + "/cross_attention"), all));
    x = sum(x, affine(gelu(affine(normed("mlp_norm"), weight("mlp_in/w"), weight("mlp_in/b"))),
                      weight("mlp_out/w"), weight("mlp_out/b")));
  }
  x = fixture.norm(x, "decoder/final_norm");
  return tied_logits(x, fixture.parameter("softmax/table"), std::vector<float>(kVocabulary, 0));
}

}  // namespace

TEST_CASE("the logits of an encoder with a decoder are the published formulas in float64",
          "[lm-sequence]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(small_config(), backend);
    const Tokens source = some_tokens(5, 3, kVocabulary), target = some_tokens(7, 4, kVocabulary);
    INFO(backend);
    CHECK(largest_error(fixture.logits(source, target),
                        flattened({reference_logits(fixture, source, target)})) < 1e-5);
  }
}

TEST_CASE("the gradients of encoder and decoder match central differences", "[lm-sequence][slow]") {
  lm::SequenceModelConfig own = config_with_own_embeddings();
  own.num_layers = 1;
  lm::SequenceModelConfig shared = small_config();
  shared.num_layers = 1;
  for (const auto& config : {own, shared}) {
    Fixture fixture(config);
    CHECK(fixture.gradient_check({{"src/ids", fixture.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                                  {"src/paddings", fixture.numbers({0, 0, 1, 0, 0, 0}, {2, 3})},
                                  {"tgt/ids", fixture.ids(some_tokens(4, 7, kVocabulary), {2, 2})},
                                  {"tgt/labels", fixture.ids({1, 5, 3, 2}, {2, 2})},
                                  {"tgt/weights", fixture.numbers({1, 1, 1, 0}, {2, 2})}},
                                 "avg_xent") == "");
  }
}

TEST_CASE("a target sees its whole source and earlier targets", "[lm-sequence]") {
  Fixture fixture(small_config());
  const Tokens source = some_tokens(5, 5, kVocabulary), target = some_tokens(6, 6, kVocabulary);
  const std::vector<float> all = fixture.logits(source, target);
  for (std::size_t changed = 0; changed < target.size(); ++changed) {
    Tokens other = target;
    other[changed] = (other[changed] + 1) % kVocabulary;
    const std::vector<float> got = fixture.logits(source, other);
    const auto before = static_cast<std::ptrdiff_t>(changed * kVocabulary);
    CHECK(std::equal(got.begin(), got.begin() + before, all.begin()));
    CHECK_FALSE(std::equal(got.begin() + before, got.end(), all.begin() + before));
  }
  for (std::size_t changed = 0; changed < source.size(); ++changed) {
    Tokens other = source;
    other[changed] = (other[changed] + 1) % kVocabulary;
    CHECK(fixture.logits(other, target)[0] != all[0]);
  }
}

TEST_CASE("padding has no effect, and packed pairs equal single ones", "[lm-sequence]") {
  Fixture fixture(small_config());
  const Tokens sources[] = {some_tokens(4, 8, kVocabulary), some_tokens(3, 9, kVocabulary)};
  const Tokens targets[] = {some_tokens(3, 10, kVocabulary), some_tokens(5, 11, kVocabulary)};
  const std::vector<float> first = fixture.logits(sources[0], targets[0]);
  Tokens source = sources[0], target = targets[0];
  source.insert(source.end(), {7, 1});
  target.insert(target.end(), {2, 6});
  const std::vector<float> padded =
      fixture.values({{"src/ids", fixture.ids(source, {1, 6})},
                      {"src/paddings", fixture.numbers({0, 0, 0, 0, 1, 1}, {1, 6})},
                      {"tgt/ids", fixture.ids(target, {1, 5})},
                      {"tgt/paddings", fixture.numbers({0, 0, 0, 1, 1}, {1, 5})}});
  CHECK(largest_error(std::span(padded).first(first.size()), first) < 1e-5);

  source = sources[0];
  source.insert(source.end(), sources[1].begin(), sources[1].end());
  source.push_back(0);
  target = targets[0];
  target.insert(target.end(), targets[1].begin(), targets[1].end());
  target.push_back(0);
  const std::vector<float> packed =
      fixture.values({{"src/ids", fixture.ids(source, {1, 8})},
                      {"src/segment_ids", fixture.ids({1, 1, 1, 1, 2, 2, 2, 0}, {1, 8})},
                      {"src/segment_pos", fixture.ids({0, 1, 2, 3, 0, 1, 2, 0}, {1, 8})},
                      {"src/paddings", fixture.numbers({0, 0, 0, 0, 0, 0, 0, 1}, {1, 8})},
                      {"tgt/ids", fixture.ids(target, {1, 9})},
                      {"tgt/segment_ids", fixture.ids({1, 1, 1, 2, 2, 2, 2, 2, 0}, {1, 9})},
                      {"tgt/segment_pos", fixture.ids({0, 1, 2, 0, 1, 2, 3, 4, 0}, {1, 9})},
                      {"tgt/paddings", fixture.numbers({0, 0, 0, 0, 0, 0, 0, 0, 1}, {1, 9})}});
  std::vector<float> want = first;
  const std::vector<float> second = fixture.logits(sources[1], targets[1]);
  want.insert(want.end(), second.begin(), second.end());
  CHECK(largest_error(std::span(packed).first(want.size()), want) < 1e-5);
}

TEST_CASE("targets decoded step by step match the whole sequence", "[lm-sequence]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(small_config(), backend);
    const Tokens source = some_tokens(5, 12, kVocabulary);
    const Tokens rows = some_tokens(12, 13, kVocabulary);  // two targets of 6 for the one source
    const Tensor ids = fixture.ids(source, {1, 5});
    const auto targets = fixture.model->with_sources({&ids, 1});
    CHECK(targets->vocabulary_size() == kVocabulary);
    CHECK(targets->longest_sequence() == 12);
    for (const bool cached : {true, false}) {
      const auto cache = cached ? targets->make_cache(2, 12) : nullptr;
      for (std::int64_t at = 0; at < 6; at += 2) {
        Tokens part;
        const std::int64_t from = cached ? at : 0, end = at + 2;
        for (const std::int64_t row : {0, 1}) {
          part.insert(part.end(), rows.begin() + 6 * row + from, rows.begin() + 6 * row + end);
        }
        FpropContext context;
        const std::vector<float> got =
            targets->next_logits(fixture.ids(part, {2, end - from}), cache.get(), context)
                .to_host<float>();
        std::vector<float> want;
        for (const std::int64_t row : {0, 1}) {
          const std::vector<float> all =
              fixture.logits(source, Tokens(rows.begin() + 6 * row, rows.begin() + 6 * row + end));
          want.insert(want.end(), all.end() - kVocabulary, all.end());
        }
        INFO(backend << ", with a cache: " << cached << ", " << end << " positions");
        CHECK(largest_error(got, want) < 1e-5);
      }
    }
  }
}

TEST_CASE("targets of several sources are those of each source alone", "[lm-sequence]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(small_config(), backend);
    const std::vector<Tokens> sources = {
        some_tokens(5, 12, kVocabulary), {3}, some_tokens(9, 14, kVocabulary)};
    std::vector<Tensor> ids;
    for (const Tokens& source : sources) {
      ids.push_back(fixture.ids(source, {1, std::ssize(source)}));
    }
    const auto targets = fixture.model->with_sources(ids);
    const auto cache = targets->make_cache(3, 12);
    FpropContext context;
    const std::vector<float> first =
        targets->next_logits(fixture.ids({1, 2, 3}, {3, 1}), cache.get(), context).to_host<float>();
    // The second target leaves, and the others change places.
    const std::vector<std::int32_t> rows = {2, 0};
    cache->reorder(rows);
    FpropContext later;
    const std::vector<float> second =
        targets->next_logits(fixture.ids({5, 6}, {2, 1}), cache.get(), later).to_host<float>();
    const auto last_of = [&](std::size_t source, const Tokens& target) {
      const std::vector<float> all = fixture.logits(sources[source], target);
      return std::vector<float>(all.end() - kVocabulary, all.end());
    };
    const auto row_of = [](const std::vector<float>& all, std::size_t row) {
      return std::span(all).subspan(row * kVocabulary, kVocabulary);
    };
    INFO(backend);
    CHECK(largest_error(row_of(first, 0), last_of(0, {1})) < 1e-5);
    CHECK(largest_error(row_of(first, 1), last_of(1, {2})) < 1e-5);
    CHECK(largest_error(row_of(first, 2), last_of(2, {3})) < 1e-5);
    CHECK(largest_error(row_of(second, 0), last_of(2, {3, 5})) < 1e-5);
    CHECK(largest_error(row_of(second, 1), last_of(0, {1, 6})) < 1e-5);
    FpropContext none;
    CHECK_THROWS_WITH(targets->next_logits(fixture.ids({1, 2, 3}, {3, 1}), nullptr, none),
                      Contains("one source at a time"));
    CHECK_THROWS_WITH(fixture.model->with_sources({}), Contains("targets need a source"));
  }
}

TEST_CASE("embeddings of sources and targets are the softmax's unless they have their own",
          "[lm-sequence]") {
  CHECK(Fixture(small_config()).store.find("softmax/table")->shape() == Shape{kVocabulary, kDims});
  CHECK(Fixture(small_config()).store.find("encoder_embedding/table") == nullptr);
  Fixture own(config_with_own_embeddings());
  CHECK(own.store.find("encoder_embedding/table")->shape() == Shape{20, kDims});
  CHECK(own.store.find("decoder_embedding/table")->shape() == Shape{kVocabulary, kDims});
  CHECK(own.store.find("encoder/transformer/layer_1/mlp_in/w") == nullptr);
  CHECK(own.store.find("decoder/transformer/layer_1/cross_attention/query/w") != nullptr);
  CHECK(own.store.find("encoder/transformer/layer_0/cross_attention/query/w") == nullptr);
  CHECK(own.logits(Tokens(14, 19), {1, 2}).size() == 2 * kVocabulary);
}

TEST_CASE("a sequence model reports invalid inputs", "[lm-sequence]") {
  Fixture fixture(small_config());
  CHECK_THROWS_WITH(fixture.logits(Tokens(13, 1), {1}), Contains("a sequence of 13 tokens"));
  CHECK_THROWS_WITH(fixture.logits({1}, Tokens(13, 1)), Contains("a sequence of 13 tokens"));
  CHECK_THROWS_AS(fixture.logits({kVocabulary}, {1}), Error);
  lm::SequenceModelConfig config = config_with_own_embeddings();
  config.decoder_embedding_tpl = {};
  CHECK_THROWS_WITH(Fixture(config), Contains("the softmax has no table of embeddings"));
  config.encoder_embedding_tpl = {};
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "encoder_embedding_tpl");
}

namespace {

struct Writer {
  explicit Writer(lm::Seq2SeqConfig config = {}) : device(open_device("tiny/Backend")) {
    for (const char* plugin : {"nn", "lm", "tokenizers"}) use_plugin(plugin);
    const Value marks = Value::table({{"bos", true}, {"eos", true}});
    if (!config.tokenizer) config.tokenizer = {"tokenizers/Bytes", marks};
    TaskContext context{*device, {}};
    task = std::make_unique<lm::Seq2Seq>(config, context);
  }
  void build(lm::SequenceModelConfig config) {
    store = std::make_unique<ParameterStore>(*device, RngKey(7));
    Scope scope(*store);
    config.vocab_size = 0;
    model = task->build_model(ConfigOf<Model>("lm/SequenceModel", encode(config)), scope);
    store->build();
  }
  std::vector<GeneratedText> generate(const std::vector<std::string>& prompts,
                                      const GenerateOptions& options) const {
    return task->generate(*model, prompts, options, {});
  }
  std::unique_ptr<Device> device;
  std::unique_ptr<lm::Seq2Seq> task;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Model> model;
};

}  // namespace

TEST_CASE("texts written for prompts do not depend on the other prompts", "[lm-sequence]") {
  Writer fixture;
  fixture.build(small_config());
  CHECK(fixture.store->find("softmax/table")->shape() == Shape{258, kDims});
  CHECK_FALSE(fixture.task->continues_prompts());
  const GenerateOptions options{.max_tokens = 6, .top_k = 0, .seed = 4};
  const auto together = fixture.generate({"a", "bcdef"}, options);
  REQUIRE(together.size() == 2);
  CHECK(together[1].prompt_tokens == 6);  // with EOS
  GenerateOptions second = options;
  second.draws = {{.prompt = 1}};
  CHECK(fixture.generate({"bcdef"}, second)[0].text == together[1].text);
  CHECK(fixture.generate({"bcdeg"}, options)[0].log_probability != together[1].log_probability);
  const auto greedy = fixture.generate({"abc"}, {.max_tokens = 5, .temperature = 0.0});
  const auto beam = fixture.generate({"abc"}, {.max_tokens = 5, .beam_size = 6});
  CHECK(beam[0].log_probability >= greedy[0].log_probability - 1e-6);
  CHECK_THROWS_WITH(fixture.generate({""}, options), Contains("the prompt is empty"));
  CHECK_THROWS_WITH(fixture.generate({"abcdefghijklm"}, options),
                    Contains("a sequence of 14 tokens"));
}

TEST_CASE("a task with two tokenizers sets both sizes in the model", "[lm-sequence]") {
  lm::Seq2SeqConfig config;
  config.tokenizer = {"tokenizers/Bytes", Value::table({{"eos", true}})};
  config.target_tokenizer = {
      "tokenizers/Characters",
      Value::table({{"alphabet", "abc"}, {"unknown", "error"}, {"bos", true}, {"eos", true}})};
  Writer fixture(config);
  lm::SequenceModelConfig model = small_config();
  model.encoder_embedding_tpl = "nn/Embedding";
  fixture.build(model);
  CHECK(fixture.store->find("encoder_embedding/table")->shape() == Shape{257, kDims});
  CHECK(fixture.store->find("softmax/table")->shape() == Shape{5, kDims});
  CHECK(fixture.task->expected_initial_loss().reason == "ln(5) = 1.61 for 5 classes");
  CHECK(fixture.generate({"xyz"}, {.max_tokens = 4}).at(0).prompt_tokens == 4);

  const TempDir dir;
  const auto input = [&](const char* target) {
    Value fields = Value::table({{"inputs_len", 8},
                                 {"targets_len", 8},
                                 {"batch_size", 1},
                                 {"inputs", "{q}"},
                                 {"targets", "{a}"}});
    fields.set("source", jsonl_source(dir, "{\"q\": \"x\", \"a\": \"b\"}\n").to_value());
    fields.set("target_tokenizer", Value::table({{"type", "tokenizers/Characters"},
                                                 {"alphabet", target},
                                                 {"unknown", "error"},
                                                 {"bos", true},
                                                 {"eos", true}}));
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    return fixture.task->build_inputs(ConfigOf<Input>("data/SequenceToSequence", fields), context);
  };
  CHECK(input("abc")->get_next()->at("tgt/ids").to_host<std::int32_t>()[0] == 3);
  CHECK_THROWS_WITH(input("abd"), Contains("differs from the tokenizer of the task's targets"));
  CHECK_THROWS_WITH(input("abcd"), Contains("has ids below 6, but the model has 5"));
}

TEST_CASE("a text task reports missing settings", "[lm-sequence]") {
  lm::Seq2SeqConfig config;
  config.tokenizer = "tokenizers/Bytes";
  Writer fixture(config);
  fixture.build(small_config());
  CHECK_THROWS_WITH(fixture.generate({"a"}, {}), Contains("the tokenizer has none"));
  config.bos_id = 0;
  Writer set(config);
  set.build(small_config());
  CHECK(set.generate({"a"}, {.max_tokens = 3}).at(0).tokens == 3);
  config.tokenizer = {};
  config.target_tokenizer = "tokenizers/Bytes";
  config.decode.min_decode_steps = 1000;
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 2);
  CHECK(diagnostics.list()[0].path == "decode.min_decode_steps");
  CHECK(diagnostics.list()[1].path == "tokenizer");
}

}  // namespace lm_sequence_model_test
