// SPDX-License-Identifier: Apache-2.0
// The choice of words and spans to predict.
#include "data/tokens/span_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "data/sequences/masked_language_model_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"
#include "support/plugins.h"

namespace span_choice_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using data::SampleStrategy;
using data::SpanRules;
using Begins = std::vector<std::size_t>;

RngKey key_of(std::uint64_t number) {
  return RngKey(5).fold(number);
}

std::size_t count(const std::vector<bool>& chosen) {
  return static_cast<std::size_t>(std::ranges::count(chosen, true));
}

// Words of so many tokens each.
Begins words_of(std::size_t tokens, std::size_t length) {
  Begins begins;
  for (std::size_t at = 0; at <= length; at += tokens) begins.push_back(at);
  return begins;
}

}  // namespace

TEST_CASE("single tokens are as many as there may be, of candidates alone", "[data-masked]") {
  std::vector<bool> candidates(20, true);
  candidates[0] = candidates[7] = candidates[19] = false;
  // 3000 * 5 / 17 = 882 with a standard deviation of 25.
  std::vector<int> seen(20, 0);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto chosen = data::choose_spans({.max_predictions = 5}, key_of(i), candidates, {});
    CHECK(count(chosen) == 5);
    for (std::size_t at = 0; at < 20; ++at) seen[at] += chosen[at];
  }
  for (std::size_t at = 0; at < 20; ++at) {
    INFO(at);
    CHECK(candidates[at] == (seen[at] > 0));
    if (candidates[at]) CHECK(std::abs(seen[at] - 882) < 130);
  }
  CHECK(count(data::choose_spans({.max_predictions = 40}, key_of(0), candidates, {})) == 17);
}

TEST_CASE("whole words are chosen until there are enough tokens", "[data-masked]") {
  const Begins begins = {0, 1, 4, 6, 9, 14, 16};
  const std::vector<bool> all(16, true);
  std::set<std::vector<bool>> choices;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto chosen = data::choose_spans(
        {.strategy = SampleStrategy::whole_word, .max_predictions = 6}, key_of(i), all, begins);
    CHECK(count(chosen) == 6);
    int cut = 0;
    for (std::size_t word = 0; word + 1 < begins.size(); ++word) {
      std::size_t own = 0;
      bool is_start = true;
      for (std::size_t at = begins[word]; at < begins[word + 1]; ++at) {
        own += chosen[at];
        if (at > begins[word] && chosen[at] && !chosen[at - 1]) is_start = false;
      }
      CHECK(is_start);
      cut += own > 0 && own < begins[word + 1] - begins[word];
    }
    CHECK(cut <= 1);
    choices.insert(chosen);
  }
  CHECK(choices.size() > 10);
}

// By hand: T = 16 and P = 4 make parts of 4 tokens; a span of 1 token begins round(3 u) tokens
// after its part: 0 for u < 1/6, 1 for u < 1/2, 2 for u < 5/6 (where half an even number is rounded
// up or down alike), else 3.
TEST_CASE("spans of tokens lie in parts of the row", "[data-masked]") {
  const std::vector<bool> all(16, true);
  std::map<std::size_t, int> seen;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto chosen = data::choose_spans({.strategy = SampleStrategy::token_span,
                                            .max_predictions = 4,
                                            .min_length = 1,
                                            .max_length = 1},
                                           key_of(i), all, {});
    for (std::size_t part = 0; part < 16; part += 4) {
      int own = 0;
      for (std::size_t at = part; at < part + 4; ++at) {
        own += chosen[at];
        if (chosen[at]) ++seen[at - part];
      }
      CHECK((own == 1 || (own == 0 && part == 12)));
    }
    // A span may not end at the end of the row.
    CHECK_FALSE(chosen[15]);
  }
  // 12000 spans, less a sixth of the last parts: 2000, 4000 and 4000 with deviations of 41 and 52.
  CHECK(std::abs(seen[0] - 2000) < 210);
  CHECK(std::abs(seen[1] - 4000) < 260);
  CHECK(std::abs(seen[2] - 4000) < 260);
  CHECK(std::abs(seen[3] - 1500) < 190);
}

// P(1) : P(2) : P(3) = 1/2 : 1/3 : 1/4, of the first span: its part, of at most 3 * 200 tokens, has
// all candidates, so the limit of 10 tokens cuts none.
TEST_CASE("lengths of spans have the probabilities of Zipf's law", "[data-masked]") {
  std::vector<bool> candidates(2000, false);
  std::fill(candidates.begin(), candidates.begin() + 600, true);
  std::vector<int> lengths(7, 0);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto chosen = data::choose_spans({.strategy = SampleStrategy::token_span,
                                            .max_predictions = 10,
                                            .min_length = 1,
                                            .max_length = 3},
                                           key_of(i), candidates, {});
    const auto begin = std::find(chosen.begin(), chosen.end(), true);
    ++lengths.at(static_cast<std::size_t>(std::find(begin, chosen.end(), false) - begin));
  }
  // 3000 * 6/13, 4/13 and 3/13, with standard deviations of 27, 25 and 23.
  CHECK(std::abs(lengths[1] - 1385) < 140);
  CHECK(std::abs(lengths[2] - 923) < 130);
  CHECK(std::abs(lengths[3] - 692) < 120);
}

// T = 24 and P = 5 make parts of 24 / 5 / 1.2 = 4 words; the twelve words have two tokens each.
TEST_CASE("spans of words hold whole words", "[data-masked]") {
  const std::vector<bool> all(24, true);
  const Begins begins = words_of(2, 24);
  std::set<std::size_t> first_words;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto chosen = data::choose_spans({.strategy = SampleStrategy::word_span,
                                            .max_predictions = 5,
                                            .min_length = 1,
                                            .max_length = 1},
                                           key_of(i), all, begins);
    // Three parts: two words and the first token of a third, or without one in the last part.
    const std::size_t tokens = count(chosen);
    CHECK((tokens == 5 || tokens == 4));
    int halves = 0;
    for (std::size_t at = 0; at < 24; at += 2) {
      CHECK_FALSE((!chosen[at] && chosen[at + 1]));
      halves += chosen[at] && !chosen[at + 1];
    }
    CHECK(halves == (tokens == 5 ? 1 : 0));
    std::size_t first = 0, second = 0;
    for (std::size_t at = 0; at < 8; at += 2) {
      if (chosen[at]) first_words.insert(at / 2);
      first += chosen[at];
      second += chosen[at + 8];
    }
    CHECK((first == 1 && second == 1));
  }
  CHECK(first_words == std::set<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("words begin at spaces, and not at the rest of a word", "[data-masked]") {
  use_plugin("tokenizers");
  const auto begins = [](const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
    return data::word_begins_of(tokenizer, ids, std::vector<bool>(ids.size(), true));
  };
  const auto bytes = make(ConfigOf<Tokenizer>("tokenizers/Bytes"));
  CHECK(begins(*bytes, bytes->encode("ab cd\ne")) == Begins{0, 2, 5, 7});
  const TempDir dir;
  const std::string file =
      dir.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\n##s\nball\n");
  const auto bert = make(ConfigOf<Tokenizer>("tokenizers/Bert", Value::table({{"file", file}})));
  const std::vector<std::int32_t> ids = bert->encode("playing balls play");
  CHECK(begins(*bert, ids) == Begins{0, 2, 4, 5});
  // What is no candidate ends words.
  std::vector<bool> candidates(ids.size(), true);
  candidates[1] = false;
  CHECK(data::word_begins_of(*bert, ids, candidates) == Begins{0, 1, 2, 4, 5});
}

TEST_CASE("data/MaskedLanguageModel chooses words and spans", "[data-masked]") {
  const TempDir dir;
  data::MaskedLanguageModelConfig config;
  config.source = jsonl_source(dir, "{\"text\": \"aa bb cc dd ee ff gg hh ii jj\"}\n");
  config.tokenizer = letters();
  config.seq_len = 31;
  config.batch_size = 1;
  config.mask_id = 4;
  config.permutation.enabled = true;
  config.permutation.sample_strategy = SampleStrategy::whole_word;
  config.permutation.max_predictions_per_seq = 7;
  check_round_trip(config);
  std::set<std::string> choices;
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    config.seed = seed;
    InputContext context{.phase = Phase::evaluation, .name = "task.train_input"};
    data::MaskedLanguageModelInput input(config, context);
    const SequenceRows rows = rows_of(*input.get_next());
    const std::string& weights = rows.weights[0];
    CHECK(std::ranges::count(weights, '1') == 7);
    CHECK(weights[0] == '0');
    CHECK(rows.ids[0].starts_with("^aa bb"));
    // Words are "aa", " bb", " cc", ...; the last of the chosen ones is cut.
    CHECK(weights.substr(1, 2) != "01");
    for (std::size_t at = 3; at < 30; at += 3) {
      const std::string word = weights.substr(at, 3);
      CHECK((word == "000" || word == "100" || word == "110" || word == "111"));
    }
    choices.insert(weights);
  }
  CHECK(choices.size() > 10);
}

TEST_CASE("fields of spans that have no effect are refused", "[data-masked]") {
  const TempDir dir;
  data::MaskedLanguageModelConfig config;
  config.seq_len = 16;
  config.permutation.enabled = true;
  const auto problems = [&] {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    config.permutation.validate(diagnostics);
    std::string all;
    for (const Diagnostic& one : diagnostics.list()) all += one.path + " " + one.what + "\n";
    return all;
  };
  data::PermutationConfig& permutation = config.permutation;
  permutation.sample_strategy = SampleStrategy::token_span;
  CHECK_THAT(problems(), Contains("max_predictions_per_seq is required"));
  permutation.max_predictions_per_seq = 16;
  permutation.min_num_tokens = 2;
  CHECK(problems() == "");
  permutation.max_num_tokens = 1;
  CHECK_THAT(problems(), Contains("min_num_tokens is more than max_num_tokens"));
  permutation.max_num_tokens.reset();
  permutation.max_predictions_per_seq = 17;
  CHECK_THAT(problems(), Contains("permutation.max_predictions_per_seq is 17, which leaves"));
  permutation.sample_strategy = SampleStrategy::word_span;
  permutation.max_predictions_per_seq = 14;
  CHECK_THAT(problems(), Contains("min_num_tokens has no effect") && Contains("is 14, which"));
  permutation.min_num_tokens.reset();
  permutation.max_predictions_per_seq = 13;
  permutation.max_num_words = 3;
  CHECK(problems() == "");
  config.mask_rate = 0.3;
  CHECK_THAT(problems(), Contains("mask_rate has no effect"));
  permutation.enabled = false;
  CHECK_THAT(problems(), Contains("sample_strategy is not used") &&
                             Contains("max_predictions_per_seq is not used") &&
                             Contains("max_num_words is not used"));
}

}  // namespace span_choice_test
