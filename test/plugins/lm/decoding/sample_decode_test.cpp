// SPDX-License-Identifier: Apache-2.0
// Sampling with settings of each row, guidance, penalties, and ends chosen afterwards.
#include "lm/decoding/sample_decode.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <catch2/catch.hpp>

#include "lm/decoding/token_sampler.h"
#include "plugins/lm/fake_decoder_state.h"
#include "trivet/error.h"

namespace sample_decode_test {
namespace {

using namespace trivet;
using namespace trivet::lm;

std::vector<RngKey> some_keys(std::size_t count) {
  std::vector<RngKey> keys;
  for (std::uint64_t i = 0; i < count; ++i) keys.push_back(RngKey(3).fold(i));
  return keys;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Praxis' test_sample_decode_with_optimize_eos: logits by step of two samples; 1 and 2 end.
const std::vector<std::vector<std::vector<float>>> kPraxisSteps = {
    {{1, -1e4F, 0, 1}, {1, -1e4F, -1e4F, 1}},
    {{1, -1e4F, 1, 2}, {1, -1e4F, -1e4F, 2}},
    {{-1e4F, 1, -1e4F, -1e4F}, {1, -1e4F, -1e4F, 3}},
    {{1, 2, 1, 2}, {-1e4F, 1, 3, -1e4F}}};

}  // namespace

TEST_CASE("each row has its own settings", "[lm-sample]") {
  const std::vector<Tokens> prompts = {{1}, {1, 2, 3}, {4, 4}, {1}};
  std::vector<DecodeConfig> configs(4);
  configs[0].temperature = 0;
  configs[0].max_decode_steps = 9;
  configs[1].k = 2;
  configs[1].max_decode_steps = 3;
  configs[2].p = 0.5;
  configs[2].temperature = 2;
  configs[2].max_decode_steps = 6;
  configs[3].repetition_penalty = 3;
  configs[3].max_decode_steps = 9;
  const std::vector<RngKey> keys = some_keys(4);
  FakeModel model(11);
  const auto together =
      sample_decode(model, {.prompts = prompts, .configs = configs, .keys = keys}, {});
  for (std::size_t i = 0; i < 4; ++i) {
    FakeModel alone(11);
    const auto row = sample(alone, std::span(prompts).subspan(i, 1), configs[i], {},
                            std::span(keys).subspan(i, 1));
    INFO("row " << i);
    CHECK(together[i].ids == row[0].ids);
    CHECK(together[i].log_probs == row[0].log_probs);
    CHECK(std::ssize(together[i].ids) == configs[i].max_decode_steps);
  }
  CHECK(together[0].ids != together[3].ids);
}

// {3, 2.5, 0}: token 0, then 0 has 2, then 1 has 1.667.
TEST_CASE("tokens of the prompt and of the text are penalized once", "[lm-sample]") {
  DecodeConfig config = greedy(4);
  config.repetition_penalty = 1.5;
  const std::vector<float> logits = {3, 2.5F, 0.1F};
  ScriptedModel model(3, [&](auto...) { return logits; });
  const std::vector<Tokens> prompts = {{2}};
  const auto rows = sample(model, prompts, config, {}, some_keys(1));
  CHECK(rows[0].ids == Tokens{0, 1, 0, 0});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rows[0].log_probs[i] == Approx(log_probability(logits, rows[0].ids[i])).margin(1e-12));
  }
  // 3 / 1.5 = 2 is less than 2.5.
  ScriptedModel again(3, [&](auto...) { return logits; });
  const std::vector<Tokens> other = {{2, 0}};
  CHECK(sample(again, other, config, {}, some_keys(1))[0].ids == Tokens{1, 0, 0, 0});
}

TEST_CASE("both branches of guidance see the chosen tokens, also when rows leave", "[lm-sample]") {
  const std::vector<Tokens> prompts = {{1}, {2, 3, 4}, {5, 6}};
  const std::vector<Tokens> unconditional = {{7, 7}, {8}, {9, 1, 2}};
  std::vector<DecodeConfig> configs(3, greedy(8));
  configs[0].cf_guidance_scale = 1.75;
  configs[0].max_decode_steps = 2;
  configs[1].cf_guidance_scale = 4;
  configs[2].max_decode_steps = 5;  // not guided
  FakeModel model(11);
  const std::vector<RngKey> keys = some_keys(3);
  const auto rows = sample_decode(
      model, {.prompts = prompts, .configs = configs, .keys = keys, .unconditional = unconditional},
      {});
  for (std::size_t row = 0; row < 3; ++row) {
    Tokens with = prompts[row], without = unconditional[row];
    REQUIRE(std::ssize(rows[row].ids) == configs[row].max_decode_steps);
    for (std::size_t i = 0; i < rows[row].ids.size(); ++i) {
      std::vector<float> logits = model.logits_behind(with);
      const std::vector<float> other = model.logits_behind(without);
      const auto scale = static_cast<float>(configs[row].cf_guidance_scale);
      for (std::size_t id = 0; id < 11; ++id) {
        logits[id] = other[id] + scale * (logits[id] - other[id]);
      }
      const auto best =
          static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
      INFO("row " << row << ", step " << i);
      CHECK(rows[row].ids[i] == best);
      CHECK(rows[row].log_probs[i] == Approx(log_probability(logits, best)).margin(1e-5));
      with.push_back(best);
      without.push_back(best);
    }
  }
  FakeModel plain(11);
  CHECK_THROWS_AS(sample(plain, prompts, configs[0], {}, keys), Error);
}

TEST_CASE("an end chosen afterwards is where Praxis' test has it", "[lm-sample]") {
  DecodeConfig config;
  config.max_decode_steps = 4;
  config.optimize_eos = true;
  bool seen = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<Tokens> prompts = {{0}, {0}};
    const std::vector<RngKey> keys = {RngKey(seed).fold(std::uint64_t{0}),
                                      RngKey(seed).fold(std::uint64_t{1})};
    // One row at a time: a row that leaves would move the logits of the other.
    for (std::size_t sample_of : {0U, 1U}) {
      ScriptedModel model(4, [&](std::size_t step, std::size_t, const Tokens&) {
        return kPraxisSteps[step][sample_of];
      });
      const auto row = sample(model, std::span(prompts).first(1), config, {.end_tokens = {1, 2}},
                              std::span(keys).subspan(sample_of, 1))[0];
      CHECK(row.ended);
      REQUIRE(row.log_probs.size() == row.ids.size());
      if (sample_of == 0 && row.ids.size() == 3 && row.ids[0] == 3 && row.ids[1] == 3) {
        CHECK(row.ids == Tokens{3, 3, 1});
        // -0.862 - 0.552 + 0, by hand
        CHECK(sum_of(row.log_probs) == Approx(-1.413440).margin(1e-5));
        seen = true;
      }
      if (sample_of == 1 && row.ids[0] == 3 && row.ids[1] == 3 && row.ids[2] == 3) {
        CHECK(row.ids == Tokens{3, 3, 3, 2});
        CHECK(sum_of(row.log_probs) == Approx(-1.260265).margin(1e-5));
      }
    }
  }
  CHECK(seen);
}

TEST_CASE("an end chosen afterwards is the most likely of all, and ends the work", "[lm-sample]") {
  std::ptrdiff_t steps = 0;
  for (std::int32_t start = 0; start < 20; ++start) {
    DecodeConfig config;
    config.max_decode_steps = 30;
    config.min_decode_steps = start % 4;
    config.optimize_eos = true;
    const std::vector<Tokens> prompts = {{start, 1}};
    const std::vector<RngKey> keys = some_keys(1);
    FakeModel model(5);
    std::size_t told = 0;
    const SampleBatch batch{.prompts = prompts, .configs = {&config, 1}, .keys = keys};
    const auto row = sample_decode(model, batch, {.end_tokens = {3}},
                                   [&](std::size_t, std::int32_t) { return ++told > 0; })[0];
    steps += model.longest() - 1;
    // All steps without an end token, with the same noise.
    config.optimize_eos = false;
    config.min_decode_steps = config.max_decode_steps;
    FakeModel full(5);
    const auto all = sample(full, prompts, config, {.end_tokens = {3}}, keys)[0];
    double sum = 0, best = -std::numeric_limits<double>::infinity();
    std::size_t at = 0;
    Tokens sequence = prompts[0];
    for (std::size_t i = 0; i < all.ids.size(); ++i) {
      const double end = sum + log_probability(model.logits_behind(sequence), 3);
      if (static_cast<std::int32_t>(i) >= start % 4 && end > best) best = end, at = i;
      sum += all.log_probs[i];
      sequence.push_back(all.ids[i]);
    }
    INFO("start " << start);
    REQUIRE(row.ids.size() == at + 1);
    CHECK(row.ids.back() == 3);
    CHECK(std::equal(row.ids.begin(), row.ids.end() - 1, all.ids.begin()));
    CHECK(sum_of(row.log_probs) == Approx(best).margin(1e-9));
    CHECK(told == at);
  }
  CHECK(steps < 20 * 30 / 2);
  DecodeConfig config;
  config.optimize_eos = true;
  FakeModel model(5);
  const std::vector<Tokens> prompts = {{1}};
  CHECK_THROWS_AS(sample(model, prompts, config, {}, some_keys(1)), Error);
}

}  // namespace sample_decode_test
