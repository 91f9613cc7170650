// SPDX-License-Identifier: Apache-2.0
// Beam search over the continuations of one prompt, step by step as in Praxis' beam_search:
//
// Live sequences start with scores 0, -1e9, -2e9, ..., so that the first step expands one. In each
// step, (1) every live sequence followed by its likeliest end token is a candidate for the finished
// ones, with its sum of log probabilities divided by ((length + 5) / 5)^length_norm_alpha (Wu et
// al. 2016), length counting the tokens behind the prompt; the best beam_size are kept, earlier
// ones where equal. (2) Of every live sequence the tokens_per_beam likeliest continuations are
// tried, end tokens among them only to be given up (-1e9); the best beam_size of all go on, where
// equal those of the better sequence, then those of the likelier token.
//
// With flat_beam there are no finished ones aside: in (2) end tokens are tried like others, and a
// sequence that ends stays among the beam_size best with the score it has, as the only continuation
// of itself, until better ones push it out. The search is over when all have ended; the result is
// ordered by normalized scores.
//
// The search ends early where no live sequence can still become one of the result.
//
// Where nothing was finished (there is no end token, or not before the last step), the live
// sequences are the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "lm/decoding/decoder_state.h"
#include "lm/decoding/sample_decode.h"

namespace trivet::lm {

struct Beam {
  std::vector<std::int32_t> ids;  // behind the prompt, with the end token
  std::vector<double> log_probs;  // of each
  double score = 0;               // normalized
  bool ended = false;
};

// `model` has nothing in it. At most beam_size beams, best first; none
// where the prompt leaves no place.
std::vector<Beam> beam_search(DecoderState& model, std::span<const std::int32_t> prompt,
                              const DecodeConfig& config, const DecodeLimits& limits);

}  // namespace trivet::lm
