// SPDX-License-Identifier: Apache-2.0
// Chooses one token from logits.
//
// Temperature 0 chooses the largest logit; ties prefer the lowest id. Otherwise the k largest
// remain (ties: the lowest id first). Of those, by their probabilities at this temperature, the
// likeliest whose sum reaches p remain, at least one (Holtzman et al. 2020). One of them is drawn
// as argmax(logit / temperature + Gumbel noise), which samples by probability (Gumbel 1954). The
// noise of a token depends only on the key and its id.
#pragma once

#include <cstdint>
#include <span>

#include "lm/decoding/decode_config.h"
#include "trivet/tensor/random.h"

namespace trivet::lm {

// Logits of -infinity are chosen only if there are no others; NaN never is. Throws Error if all are
// NaN.
std::int32_t choose_token(std::span<const float> logits, const DecodeConfig& config, RngKey key);

// log softmax(logits)[token], in double precision.
double log_probability(std::span<const float> logits, std::int32_t token);
// log softmax(logits).
void to_log_probabilities(std::span<const float> logits, std::span<double> out);

}  // namespace trivet::lm
