// SPDX-License-Identifier: Apache-2.0
// Continues sequences token by token, each as if it were alone.
//
// The prompts of a batch are read whole, then every row gets a token at a time; a row that is over
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
  std::vector<std::int32_t> ids;  // behind the prompt; the end token, if one was chosen, too
  std::vector<double> log_probs;  // of each, before temperature, k and p
  bool ended = false;             // by an end token, or by the observer
};

struct DecodeLimits {
  std::vector<std::int32_t> end_tokens{};
  std::int64_t longest = 0;  // positions of a whole sequence; 0: any number
};

// Told each chosen token that is no end token; false ends the row.
using OnToken = std::function<bool(std::size_t row, std::int32_t id)>;

// Every prompt has at least one token. `keys` has one for each row. An end token in a prompt ends
// nothing. A prompt of limits.longest tokens or more gets no continuation.
std::vector<DecodedRow> sample_decode(DecoderState& model,
                                      std::span<const std::vector<std::int32_t>> prompts,
                                      const DecodeConfig& config, const DecodeLimits& limits,
                                      std::span<const RngKey> keys, const OnToken& on_token = {});

}  // namespace trivet::lm
