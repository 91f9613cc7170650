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
    (max_decode_steps, "Maximum number of tokens to generate after a prompt.", at_least(1)),
    (min_decode_steps, "Minimum number of tokens to generate before an end token is allowed.",
     at_least(0)),
    (temperature, "Divides the logits. 0: always takes the most likely token.", at_least(0)),
    (k, "Samples from the k largest logits only. 0: all logits.", at_least(0)),
    (p,
     "Nucleus sampling: samples from the smallest set of tokens whose probability adds up to at "
     "least p. 1: all tokens.",
     more_than(0), at_most(1)),
    (beam_size, "Number of sequences that beam search keeps. 1: samples tokens instead.",
     at_least(1)),
    (tokens_per_beam, "Number of continuations per sequence of the beam. 0: beam_size.",
     at_least(0)),
    (flat_beam,
     "Finished sequences stay in the beam, and the search ends when all have finished. If false, "
     "finished sequences leave the beam and others take their slots."),
    (length_norm_alpha,
     "Beam search divides log probabilities by ((length + 5) / 5) to this power."))

// For configs of tasks that have a field "decode".
inline void check_decode(const DecodeConfig& decode, Diagnostics& diagnostics) {
  if (decode.min_decode_steps > decode.max_decode_steps) {
    diagnostics.add("decode.min_decode_steps", "is more than max_decode_steps");
  }
}

}  // namespace trivet::lm
