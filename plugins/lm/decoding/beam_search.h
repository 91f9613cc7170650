// SPDX-License-Identifier: Apache-2.0
// Beam search over the continuations of one prompt, step by step as in Praxis' beam_search:
//
// Live sequences start with scores 0, -1e9, -2e9, ..., so that the first step expands one. In each
// step, (1) every live sequence followed by its likeliest end token is a candidate for the finished
// ones, with its sum of log probabilities divided by ((length + 5) / 5)^length_norm_alpha (Wu et
// al. 2016), where length counts the tokens after the prompt. The best beam_size are kept, earlier
// ones first if equal. (2) For every live sequence the tokens_per_beam likeliest continuations are
// tried; end tokens among them are given up (-1e9). The best beam_size of all stay live; ties
// prefer the better sequence, then the likelier token.
//
// The search ends early when no live sequence can still enter the result, which is that of all
// steps.
//
// With early_exit end tokens are not given up in (2), and the search ends when all live sequences
// have ended. As in Praxis an ended sequence is continued like others until then: a result may have
// tokens, also end tokens, after an end token.
//
// With flat_beam scores are sums of logits instead of log probabilities, as in Praxis'
// flat_beam_search. Such sums may rise, so all steps are done.
//
// If fewer than beam_size sequences finished (without an end token before the last step), the live
// sequences follow them in the result, best first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "lm/decoding/decoder_state.h"
#include "lm/decoding/sample_decode.h"

namespace trivet::lm {

struct Beam {
  std::vector<std::int32_t> ids;  // after the prompt, with the end token
  std::vector<double> log_probs;  // per token
  double score = 0;               // normalized
  bool ended = false;
};

// `model` must be empty. Returns at most beam_size beams, finished ones first, then best first;
// none if the prompt leaves no room.
std::vector<Beam> beam_search(DecoderState& model, std::span<const std::int32_t> prompt,
                              const DecodeConfig& config, const DecodeLimits& limits);

}  // namespace trivet::lm
