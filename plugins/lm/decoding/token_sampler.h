// SPDX-License-Identifier: Apache-2.0
// Chooses one token from logits.
//
// Temperature 0 chooses the largest logit; ties prefer the lowest id. Otherwise these remain, in
// this order, always at least the likeliest (ties: the lowest id first):
//   1. tokens with a probability of at least epsilon_p (Hewitt et al. 2022)
//   2. those with at least min_p times the largest probability (Nguyen et al. 2024)
//   3. of these the k with the largest logits
//   4. of these the likeliest whose sum reaches p of the sum of all k (Holtzman et al. 2020), or,
//      with global_normalize, p of the sum of all tokens that have a logit
// One of them is drawn as argmax(logit / temperature + Gumbel noise), which samples by probability
// (Gumbel 1954). The noise of a token depends only on the key and its id.
//
// As in Praxis, 1 to 4 use the probabilities at temperature 1, so which tokens remain does not
// depend on the temperature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "trivet/extensions/text_generator.h"
#include "trivet/tensor/random.h"

namespace trivet::lm {

// Logits of -infinity are chosen only if there are no others; NaN never is. Throws Error if all are
// NaN.
std::int32_t choose_token(std::span<const float> logits, const DecodeConfig& config, RngKey key);

// Classifier-free guidance (Ho and Salimans 2022), of logits as in Praxis:
// unconditional + scale * (logits - unconditional).
void guide(std::span<float> logits, std::span<const float> unconditional, double scale);
// The penalty of CTRL (Keskar et al. 2019), with the formula of Hugging Face's transformers: a
// logit below 0 is multiplied by `penalty`, any other divided by it. `ids` has each id once.
void penalize(std::span<float> logits, std::span<const std::int32_t> ids, double penalty);

// log softmax(logits)[token], in double precision.
double log_probability(std::span<const float> logits, std::int32_t token);
// The n largest log probabilities with their tokens, or all where there are fewer, the largest
// first; ties: the lowest id first.
std::vector<TokenProbability> top_log_probabilities(std::span<const float> logits, std::int64_t n);
// -sum p log p of softmax(logits), in nats.
double entropy(std::span<const float> logits);
// log softmax(logits).
void to_log_probabilities(std::span<const float> logits, std::span<double> out);

}  // namespace trivet::lm
