// SPDX-License-Identifier: Apache-2.0
// The choice of one token from logits.
//
// With temperature 0 the largest logit is chosen, of equal ones that with the lowest id. Otherwise
// the k largest remain (ties: the lowest id first); of those, by their probabilities at this
// temperature, the likeliest whose sum reaches p, at least one (Holtzman et al. 2020); and among
// them one is drawn as argmax(logit / temperature + Gumbel noise), which draws by probability
// (Gumbel 1954). The noise of a token depends on the key and its id alone.
#pragma once

#include <cstdint>
#include <span>

#include "lm/decoding/decode_config.h"
#include "trivet/tensor/random.h"

namespace trivet::lm {

// Logits of -infinity are never chosen unless there are no others; those that are not numbers
// never. Throws Error when all are not numbers.
std::int32_t choose_token(std::span<const float> logits, const DecodeConfig& config, RngKey key);

// log softmax(logits)[token], in double precision.
double log_probability(std::span<const float> logits, std::int32_t token);
// log softmax(logits).
void to_log_probabilities(std::span<const float> logits, std::span<double> out);

}  // namespace trivet::lm
