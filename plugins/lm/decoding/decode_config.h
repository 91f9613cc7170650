// SPDX-License-Identifier: Apache-2.0
// How to continue sequences. Field names follow Praxis' decoder hyper-parameters where it has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/config.h"
#include "trivet/extensions/token_constraint.h"

namespace trivet::lm {

struct DecodeConfig {
  std::int64_t max_decode_steps = 128;
  std::int64_t min_decode_steps = 0;
  double temperature = 1;
  std::int64_t k = 40;
  double p = 1;
  double epsilon_p = 0;
  double min_p = 0;
  double repetition_penalty = 1;
  double cf_guidance_scale = 1;
  std::string unconditional_prompt;
  std::vector<std::int32_t> eos_ids;
  bool optimize_eos = false;
  bool global_normalize = false;
  ConfigOf<TokenConstraint> sample_constraint{};
  std::int64_t beam_size = 1;
  std::int64_t tokens_per_beam = 0;
  bool early_exit = false;
  bool flat_beam = false;
  double length_norm_alpha = 0.8;
  std::int64_t num_cache_slots = 16;
};
TRIVET_CONFIG(
    DecodeConfig, trivet::NoBase,
    (max_decode_steps, "Maximum number of tokens to generate after a prompt.", at_least(1)),
    (min_decode_steps, "Minimum number of tokens to generate before an end token is allowed.",
     at_least(0)),
    (temperature, "Divides the logits. 0: always takes the most likely token.", at_least(0)),
    (k, "Samples from the k largest logits only. 0: all logits.", at_least(0)),
    (p,
     "Nucleus sampling: samples from the smallest set of tokens whose probability adds up to at "
     "least p. 1: all tokens.",
     more_than(0), at_most(1)),
    (epsilon_p, "Does not sample tokens with a probability below epsilon_p. 0: off.", at_least(0),
     less_than(1)),
    (min_p,
     "Does not sample tokens with a probability below min_p times that of the most likely token. "
     "0: off.",
     at_least(0), at_most(1)),
    (repetition_penalty,
     "Divides the positive logits of the sequence's own tokens, and multiplies the negative ones. "
     "1: off.",
     more_than(0)),
    (cf_guidance_scale,
     "Classifier-free guidance: logits u + cf_guidance_scale * (c - u), of the prompt c and of "
     "unconditional_prompt u. 1: off.",
     at_least(0)),
    (unconditional_prompt, "Prompt of the texts that classifier-free guidance avoids."),
    (eos_ids, "Tokens that end a text, beside the end token of the tokenizer.", at_least(0)),
    (optimize_eos,
     "Samples without end tokens, then ends each sequence where that has the largest probability."),
    (global_normalize,
     "Nucleus sampling takes p as a share of the probabilities of all tokens, not of the k largest "
     "alone. Where the k largest do not reach p, all of them stay."),
    (sample_constraint,
     "Rule for what may be sampled, such as \"lm/Choices\". none: every token. A plugin makes its "
     "own with "
     "trivet/extensions/token_constraint.h."),
    (beam_size, "Number of sequences that beam search keeps. 1: samples tokens instead.",
     at_least(1)),
    (tokens_per_beam, "Number of continuations per sequence of the beam. 0: beam_size.",
     at_least(0)),
    (early_exit, "Beam search continues ended sequences, too, and ends when all have ended."),
    (flat_beam,
     "Beam search adds up logits instead of log probabilities, as Praxis' flat beam search."),
    (length_norm_alpha, "Beam search divides scores by ((length + 5) / 5) to this power.",
     between(-100, 100)),
    (num_cache_slots,
     "Number of texts that are sampled at once. When a quarter of them have ended, the next "
     "prompts "
     "take their slots; for encoder-decoders and the positions of Transformer-XL when all have "
     "ended. No text depends on it.",
     at_least(1)))

// For configs of tasks that have a field "decode".
void check_decode(const DecodeConfig& decode, Diagnostics& diagnostics);

}  // namespace trivet::lm
