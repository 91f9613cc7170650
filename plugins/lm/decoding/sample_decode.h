// SPDX-License-Identifier: Apache-2.0
// Continues sequences token by token, each independently of the others.
//
// The prompts of a batch are read at once, then every row gets one token at a time. A finished row
// leaves the batch. After Praxis' sample_decode.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "lm/decoding/decoder_state.h"
#include "trivet/tensor/random.h"

namespace trivet::lm {

struct DecodedRow {
  std::vector<std::int32_t> ids;  // after the prompt, with the end token if one was chosen
  std::vector<double> log_probs;  // per token, before temperature, k and p
  bool ended = false;             // by an end token, or by the observer
};

struct DecodeLimits {
  std::vector<std::int32_t> end_tokens{};
  std::int64_t longest = 0;  // limit of a whole sequence; 0: none
};

// Called with each chosen token other than an end token; returning false ends the row.
using OnToken = std::function<bool(std::size_t row, std::int32_t id)>;

// Every prompt needs at least one token. `keys` has one key per row. An end token in a prompt does
// not end it. A prompt of limits.longest tokens or more gets no continuation.
std::vector<DecodedRow> sample_decode(DecoderState& model,
                                      std::span<const std::vector<std::int32_t>> prompts,
                                      const DecodeConfig& config, const DecodeLimits& limits,
                                      std::span<const RngKey> keys, const OnToken& on_token = {});

}  // namespace trivet::lm
