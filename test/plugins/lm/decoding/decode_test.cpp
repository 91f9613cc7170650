// SPDX-License-Identifier: Apache-2.0
// Decoding without a real model: choosing tokens, continuing rows of different lengths.
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "lm/decoding/sample_decode.h"
#include "lm/decoding/token_sampler.h"
#include "plugins/lm/fake_decoder_state.h"
#include "trivet/error.h"

namespace {

using namespace trivet;
using namespace trivet::lm;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tokens ids_of(const DecodedRow& row) {
  return row.ids;
}

std::vector<DecodedRow> decode(const std::vector<Tokens>& prompts, const DecodeConfig& config,
                               const DecodeLimits& limits = {}) {
  FakeModel model(11);
  const std::vector<RngKey> keys(prompts.size(), RngKey(3));
  return sample(model, prompts, config, limits, keys);
}

TEST_CASE("choose_token at temperature 0 takes the first of the largest logits", "[lm]") {
  DecodeConfig config;
  config.temperature = 0;
  CHECK(choose_token(std::vector<float>{0, 3, 1, 3}, config, RngKey(1)) == 1);
  CHECK(choose_token(std::vector<float>{-kInfinity, -kInfinity}, config, RngKey(1)) == 0);
  CHECK(choose_token(std::vector<float>{NAN, -5}, config, RngKey(1)) == 1);
  CHECK_THROWS_AS(choose_token(std::vector<float>{NAN, NAN}, config, RngKey(1)), Error);
}

// Counts of tokens in many draws.
std::map<std::int32_t, int> draws(std::span<const float> logits, const DecodeConfig& config,
                                  int count) {
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < count; ++i) {
    ++counts[choose_token(logits, config, RngKey(5).fold(static_cast<std::uint64_t>(i)))];
  }
  return counts;
}

TEST_CASE("choose_token draws by softmax(logits / temperature)", "[lm]") {
  const std::vector<float> logits = {0, 1, -1, 0.5F, -kInfinity};
  DecodeConfig config;
  config.k = 0;
  for (const double temperature : {0.5, 1.0, 2.0}) {
    config.temperature = temperature;
    double sum = 0;
    for (int id = 0; id < 4; ++id) {
      sum += std::exp(double{logits[static_cast<std::size_t>(id)]} / temperature);
    }
    constexpr int kDraws = 20000;
    auto counts = draws(logits, config, kDraws);
    CHECK(counts[4] == 0);
    for (int id = 0; id < 4; ++id) {
      const double p = std::exp(double{logits[static_cast<std::size_t>(id)]} / temperature) / sum;
      // Five standard deviations.
      CHECK(counts[id] / double{kDraws} == Approx(p).margin(5 * std::sqrt(p * (1 - p) / kDraws)));
    }
  }
}

TEST_CASE("top-k comes before top-p, and one token always remains", "[lm]") {
  // Probabilities 0.4, 0.3, 0.2, 0.1.
  const std::vector<float> logits = {std::log(0.4F), std::log(0.3F), std::log(0.2F),
                                     std::log(0.1F)};
  DecodeConfig config;
  const auto seen = [&] {
    std::set<std::int32_t> ids;
    for (const auto& [id, count] : draws(logits, config, 2000)) ids.insert(id);
    return ids;
  };
  config.k = 2;
  CHECK(seen() == std::set<std::int32_t>{0, 1});
  config.k = 0;
  config.p = 0.65;
  CHECK(seen() == std::set<std::int32_t>{0, 1});
  config.p = 0.75;
  CHECK(seen() == std::set<std::int32_t>{0, 1, 2});
  // Of the two largest alone the first has 0.57.
  config.k = 2;
  config.p = 0.5;
  CHECK(seen() == std::set<std::int32_t>{0});
  config.p = 1e-9;
  CHECK(seen() == std::set<std::int32_t>{0});
  // Equal logits at the edge: the lower id stays.
  const std::vector<float> equal = {1, 1, 1};
  config.p = 1;
  CHECK(draws(equal, config, 500).count(2) == 0);
}

TEST_CASE("log_probability is log softmax in float64", "[lm]") {
  const std::vector<float> logits = {1000, 1001, 999};
  // ln(1 / (1 + e + 1/e)) = -ln(4.0861612696...) = -1.4076059644443804
  CHECK(log_probability(logits, 0) == Approx(-1.4076059644443804).margin(1e-12));
  CHECK(log_probability(logits, 1) == Approx(-0.4076059644443804).margin(1e-12));
}

TEST_CASE("greedy decoding follows the largest logits of the whole history", "[lm]") {
  const Tokens prompt = {4, 2};
  const std::vector<DecodedRow> rows = decode({prompt}, greedy(6));
  REQUIRE(rows.size() == 1);
  FakeModel model(11);
  Tokens sequence = prompt;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<float> logits = model.logits_behind(sequence);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    CHECK(rows[0].ids.at(i) == best);
    CHECK(rows[0].log_probs.at(i) ==
          Approx(log_probability(logits, static_cast<std::int32_t>(best))).margin(1e-12));
    sequence.push_back(static_cast<std::int32_t>(best));
  }
  CHECK_FALSE(rows[0].ended);
}

TEST_CASE("a batch of prompts of different lengths gives the results of each alone", "[lm]") {
  const std::vector<Tokens> prompts = {{1}, {3, 3, 3, 3, 3, 3, 3}, {2, 9}, {5, 1, 0}};
  DecodeConfig config;
  config.max_decode_steps = 9;
  config.k = 5;
  const std::vector<DecodedRow> together = decode(prompts, config);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<DecodedRow> alone = decode({prompts[i]}, config);
    CHECK(together[i].ids == alone[0].ids);
    CHECK(together[i].ids.size() == 9);
    CHECK(together[i].log_probs == alone[0].log_probs);
  }
}

TEST_CASE("end tokens end a row, not before min_decode_steps, and not in the prompt", "[lm]") {
  const Tokens prompt = {6, 2, 6};
  const Tokens all = ids_of(decode({prompt}, greedy(20))[0]);
  const std::int32_t end = all[3];
  const auto first = static_cast<std::size_t>(std::find(all.begin(), all.end(), end) - all.begin());
  const DecodedRow row = decode({prompt}, greedy(20), {.end_tokens = {end}})[0];
  CHECK(row.ended);
  CHECK(row.ids == Tokens(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first) + 1));

  DecodeConfig later = greedy(20);
  later.min_decode_steps = 8;
  const DecodedRow forced = decode({prompt}, later, {.end_tokens = {end}})[0];
  REQUIRE(forced.ids.size() >= 8);
  CHECK(std::find(forced.ids.begin(), forced.ids.begin() + 8, end) == forced.ids.begin() + 8);

  CHECK(decode({{end, 1}}, greedy(3), {.end_tokens = {end}})[0].ids.size() >= 1);
}

TEST_CASE("no sequence exceeds the model's longest sequence", "[lm]") {
  const std::vector<Tokens> prompts = {{1, 2}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}};
  FakeModel model(11);
  const std::vector<RngKey> keys(prompts.size(), RngKey(3));
  const auto rows = sample(model, prompts, greedy(50), {.end_tokens = {}, .longest = 5}, keys);
  CHECK(rows[0].ids.size() == 3);
  CHECK(rows[1].ids.size() == 1);
  CHECK(rows[2].ids.empty());
  // The last token is chosen, and not fed.
  CHECK(model.longest() == 4);
  CHECK(sample(model, {}, greedy(5), {}, {}).empty());
}

TEST_CASE("an observer sees each token and can end a row", "[lm]") {
  FakeModel model(11);
  const std::vector<Tokens> prompts = {{1}, {2}};
  const std::vector<RngKey> keys(2, RngKey(3));
  std::map<std::size_t, Tokens> seen;
  const auto rows =
      sample(model, prompts, greedy(5), {}, keys, [&](std::size_t row, std::int32_t id) {
        seen[row].push_back(id);
        return row == 1 || seen[row].size() < 2;
      });
  CHECK(rows[0].ids == seen[0]);
  CHECK(rows[0].ids.size() == 2);
  CHECK(rows[0].ended);
  CHECK(rows[1].ids == seen[1]);
  CHECK(rows[1].ids.size() == 5);
}

}  // namespace
