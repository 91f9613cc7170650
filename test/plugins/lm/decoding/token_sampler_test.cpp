// SPDX-License-Identifier: Apache-2.0
// Which tokens are drawn, and how often: against distributions computed by hand.
#include "lm/decoding/token_sampler.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/lm/fake_decoder_state.h"

namespace token_sampler_test {
namespace {

using namespace trivet;
using namespace trivet::lm;

constexpr int kDraws = 20000;

// Compares the shares of drawn tokens with probabilities, to five standard deviations.
void check_shares(const std::vector<int>& counts, const std::vector<double>& wanted) {
  REQUIRE(counts.size() == wanted.size());
  for (std::size_t id = 0; id < wanted.size(); ++id) {
    const double p = wanted[id];
    INFO("token " << id);
    CHECK(counts[id] / double{kDraws} == Approx(p).margin(5 * std::sqrt(p * (1 - p) / kDraws)));
  }
}

// Probabilities 0.4, 0.3, 0.2, 0.1.
const std::vector<float> kLogits = {std::log(0.4F), std::log(0.3F), std::log(0.2F), std::log(0.1F)};

void check_draws(const DecodeConfig& config, const std::vector<double>& wanted) {
  std::vector<int> counts(kLogits.size());
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ++counts[static_cast<std::size_t>(choose_token(kLogits, config, RngKey(5).fold(i)))];
  }
  check_shares(counts, wanted);
}

// The first token after the prompt, in many rows. Unconditional prompts are {2}.
void check_first_token(const ScriptedModel::Script& script, const Tokens& prompt, bool guided,
                       const DecodeConfig& config, const std::vector<double>& wanted) {
  ScriptedModel model(std::ssize(wanted), script);
  const std::vector<Tokens> prompts(kDraws, prompt);
  const std::vector<Tokens> unconditional(guided ? kDraws : 0, Tokens{2});
  std::vector<RngKey> keys;
  for (std::uint64_t i = 0; i < kDraws; ++i) keys.push_back(RngKey(6).fold(i));
  const SampleBatch batch{
      .prompts = prompts, .configs = {&config, 1}, .keys = keys, .unconditional = unconditional};
  std::vector<int> counts(wanted.size());
  for (const DecodedRow& row : sample_decode(model, batch, {})) {
    ++counts[static_cast<std::size_t>(row.ids.at(0))];
  }
  check_shares(counts, wanted);
}

DecodeConfig one_token() {
  DecodeConfig config;
  config.max_decode_steps = 1;
  config.k = 0;
  return config;
}

}  // namespace

TEST_CASE("epsilon sampling leaves tokens of at least that probability", "[lm-sampler]") {
  DecodeConfig config;
  config.epsilon_p = 0.15;
  check_draws(config, {4.0 / 9, 3.0 / 9, 2.0 / 9, 0});
  config.epsilon_p = 0.25;
  check_draws(config, {4.0 / 7, 3.0 / 7, 0, 0});
  config.epsilon_p = 0.9;
  check_draws(config, {1, 0, 0, 0});
  // The probabilities are those of all tokens, not of the k largest.
  config.epsilon_p = 0.35;
  config.k = 2;
  check_draws(config, {1, 0, 0, 0});
}

TEST_CASE("min-p leaves tokens by the probability of the most likely one", "[lm-sampler]") {
  DecodeConfig config;
  config.min_p = 0.3;  // 0.12
  check_draws(config, {4.0 / 9, 3.0 / 9, 2.0 / 9, 0});
  config.min_p = 0.6;  // 0.24
  check_draws(config, {4.0 / 7, 3.0 / 7, 0, 0});
  config.min_p = 1;
  check_draws(config, {1, 0, 0, 0});
}

TEST_CASE("epsilon, min-p and k come before p", "[lm-sampler]") {
  DecodeConfig config;
  config.p = 0.75;
  check_draws(config, {4.0 / 9, 3.0 / 9, 2.0 / 9, 0});
  // Of three tokens the first two have 7/9.
  config.epsilon_p = 0.15;
  check_draws(config, {4.0 / 7, 3.0 / 7, 0, 0});
  config.epsilon_p = 0;
  config.min_p = 0.3;
  check_draws(config, {4.0 / 7, 3.0 / 7, 0, 0});
  config.min_p = 0;
  config.k = 3;
  check_draws(config, {4.0 / 7, 3.0 / 7, 0, 0});
}

// At temperature 2 the first two have 0.607 of all, and at 0.5 the first alone has 0.533.
TEST_CASE("the temperature comes last", "[lm-sampler]") {
  DecodeConfig config;
  config.p = 0.65;
  config.temperature = 2;
  // sqrt(0.4) = 0.632456, sqrt(0.3) = 0.547723
  check_draws(config, {0.535898, 0.464102, 0, 0});
  config.temperature = 0.5;
  check_draws(config, {16.0 / 25, 9.0 / 25, 0, 0});
  config.p = 0.5;
  check_draws(config, {16.0 / 25, 9.0 / 25, 0, 0});
  config.p = 1;
  config.min_p = 0.6;
  check_draws(config, {16.0 / 25, 9.0 / 25, 0, 0});
  config.min_p = 0;
  config.epsilon_p = 0.25;
  check_draws(config, {16.0 / 25, 9.0 / 25, 0, 0});
}

// transformers' RepetitionPenaltyLogitsProcessor: {2, -1, 0.5, 1} with tokens 0 and 1 and penalty 2
// gives {1, -2, 0.5, 1}; exp: 2.718282, 0.135335, 1.648721, 2.718282, in all 7.220620.
TEST_CASE("the penalty divides positive logits and multiplies negative ones", "[lm-sampler]") {
  std::vector<float> logits = {2, -1, 0.5F, 1};
  const Tokens ids = {0, 1};
  penalize(logits, ids, 2);
  CHECK(logits == std::vector<float>{1, -2, 0.5F, 1});
  DecodeConfig config = one_token();
  config.repetition_penalty = 2;
  check_first_token(
      [](auto...) {
        return std::vector<float>{2, -1, 0.5F, 1};
      },
      {1, 0, 1}, false, config, {0.376461, 0.018743, 0.228335, 0.376461});
}

// Praxis' formula: {0, 1, 0} + 2 ({1, 0, 0} - {0, 1, 0}) = {2, -1, 0}; exp: 7.389056, 0.367879, 1.
TEST_CASE("guidance leads away from the unconditional logits", "[lm-sampler]") {
  DecodeConfig config = one_token();
  config.cf_guidance_scale = 2;
  const auto script = [](std::size_t, std::size_t, const Tokens& sequence) {
    return sequence[0] == 2 ? std::vector<float>{0, 1, 0} : std::vector<float>{1, 0, 0};
  };
  check_first_token(script, {0}, true, config, {0.843795, 0.042010, 0.114195});
  // Scale 0 has the unconditional logits: e, 1, 1.
  config.cf_guidance_scale = 0;
  check_first_token(script, {0}, true, config, {0.211942, 0.576117, 0.211942});
}

// {0, 1, 0} and {1, 0, 0} give {2, -1, 0}, then token 0 is halved: {1, -1, 0}; exp: 2.718282,
// 0.367879, 1. Halved before guidance it would be {1, -1, 0} with 0.5 for 1: another distribution.
TEST_CASE("guidance comes before the penalty", "[lm-sampler]") {
  DecodeConfig config = one_token();
  config.cf_guidance_scale = 2;
  config.repetition_penalty = 2;
  const auto script = [](std::size_t, std::size_t, const Tokens& sequence) {
    return sequence[0] == 2 ? std::vector<float>{0.5F, 1, 0} : std::vector<float>{1.5F, 0, 0};
  };
  // 0.5 + 2 * 1 = 2.5, -1, 0; halved 1.25: exp 3.490343, 0.367879, 1, in all 4.858222. Before
  // guidance it would be 0.75: 0.5 + 2 * 0.25 = 1.
  check_first_token(script, {0}, true, config, {0.718440, 0.075723, 0.205837});
}

}  // namespace token_sampler_test
