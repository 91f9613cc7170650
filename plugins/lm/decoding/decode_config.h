// SPDX-License-Identifier: Apache-2.0
// How to continue sequences. Field names follow Praxis' decoder hyper-parameters.
#pragma once

#include <cstdint>

#include "trivet/config.h"

namespace trivet::lm {

struct DecodeConfig {
  std::int64_t max_decode_steps = 128;
  std::int64_t min_decode_steps = 0;
  double temperature = 1;
  std::int64_t k = 40;
  double p = 1;
  std::int64_t beam_size = 1;
  std::int64_t tokens_per_beam = 0;
  bool flat_beam = false;
  double length_norm_alpha = 0.8;
};
TRIVET_CONFIG(
    DecodeConfig, trivet::NoBase,
    (max_decode_steps, "Tokens behind a prompt, at most.", at_least(1)),
    (min_decode_steps, "End tokens are not chosen before so many.", at_least(0)),
    (temperature, "Divides the logits; 0: the likeliest token is chosen always.", at_least(0)),
    (k, "Only the k largest logits are drawn from; 0: all.", at_least(0)),
    (p,
     "Nucleus sampling: keeps the likeliest tokens, as few as together have at least this share of "
     "the probability; 1: all.",
     more_than(0), at_most(1)),
    (beam_size, "Sequences kept by beam search; 1: tokens are drawn, without it.", at_least(1)),
    (tokens_per_beam, "Continuations tried of each; 0: beam_size.", at_least(0)),
    (flat_beam,
     "Ended sequences keep their positions in the beam, and the search ends when all have "
     "ended; else they are put aside, and others continue instead."),
    (length_norm_alpha,
     "Beam search divides log probabilities by ((length + 5) / 5) to this power."))

// For configs of tasks that have a field "decode".
inline void check_decode(const DecodeConfig& decode, Diagnostics& diagnostics) {
  if (decode.min_decode_steps > decode.max_decode_steps) {
    diagnostics.add("decode.min_decode_steps", "is more than max_decode_steps");
  }
}

}  // namespace trivet::lm
