// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/decode_config.h"

#include <cmath>
#include <string>

namespace trivet::lm {
namespace {

// Bounds let infinity pass where they have no upper end.
void check_finite(double value, const std::string& name, Diagnostics& diagnostics) {
  if (std::isinf(value)) diagnostics.add("decode." + name, "must be finite");
}

// Flat beam search has no such setting; beam search does not sample.
void check_used(const DecodeConfig& decode, Diagnostics& diagnostics) {
  const auto refuse = [&](bool is_set, const std::string& name, const std::string& other) {
    if (!is_set) return;
    diagnostics.add("decode." + name, "is set, but decode." + other + " does not use it");
  };
  if (decode.flat_beam) {
    refuse(decode.early_exit, "early_exit", "flat_beam");
    refuse(decode.tokens_per_beam > 0, "tokens_per_beam", "flat_beam");
    refuse(decode.min_decode_steps > 0, "min_decode_steps", "flat_beam");
  }
  if (decode.beam_size > 1) {
    refuse(decode.epsilon_p > 0, "epsilon_p", "beam_size > 1");
    refuse(decode.min_p > 0, "min_p", "beam_size > 1");
    refuse(decode.repetition_penalty != 1, "repetition_penalty", "beam_size > 1");
    refuse(decode.cf_guidance_scale != 1, "cf_guidance_scale", "beam_size > 1");
    refuse(decode.optimize_eos, "optimize_eos", "beam_size > 1");
    refuse(decode.global_normalize, "global_normalize", "beam_size > 1");
    refuse(bool(decode.sample_constraint), "sample_constraint", "beam_size > 1");
  }
  if (decode.optimize_eos) {
    refuse(bool(decode.sample_constraint), "sample_constraint", "optimize_eos");
  }
  if (decode.cf_guidance_scale == 1) {
    refuse(!decode.unconditional_prompt.empty(), "unconditional_prompt", "cf_guidance_scale = 1");
  }
}

}  // namespace

void check_decode(const DecodeConfig& decode, Diagnostics& diagnostics) {
  if (decode.min_decode_steps > decode.max_decode_steps) {
    diagnostics.add("decode.min_decode_steps", "is more than max_decode_steps");
  }
  check_finite(decode.temperature, "temperature", diagnostics);
  check_finite(decode.repetition_penalty, "repetition_penalty", diagnostics);
  check_finite(decode.cf_guidance_scale, "cf_guidance_scale", diagnostics);
  check_used(decode, diagnostics);
}

}  // namespace trivet::lm
