// SPDX-License-Identifier: Apache-2.0
// Continues sequences token by token, each independently of the others.
//
// The prompts of a batch are read at once, then every row gets one token at a time. A finished row
// leaves the batch, and when a quarter of the slots is free, the next prompts take them (continuous
// batching, Yu et al. 2022; Praxis' LanguageModelContinuousBatching). After Praxis' sample_decode.
// A token is chosen from logits in this order: classifier-free guidance, the penalty of tokens that
// the sequence has, the constraint, end tokens that are not allowed yet, then choose_token
// (token_sampler.h).
//
// With optimize_eos no end token is chosen. Each step notes the probability of ending there, and
// the result is the sequence of the most likely end, the earliest of equal ones. A row finishes
// when no later end can be more likely.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "lm/decoding/decoder_state.h"
#include "trivet/extensions/text_generator.h"
#include "trivet/tensor/random.h"

namespace trivet::lm {

struct DecodedRow {
  std::vector<std::int32_t> ids;  // after the prompt, with the end token if one was chosen
  std::vector<double> log_probs;  // per token, of the logits after guidance alone
  bool ended = false;             // by an end token, or by the observer
  // For each token where SampleBatch::top asks for them: of the same logits as log_probs.
  std::vector<std::vector<TokenProbability>> top{};
  std::vector<double> entropies{};
};

struct DecodeLimits {
  std::vector<std::int32_t> end_tokens{};
  std::int64_t longest = 0;  // limit of a whole sequence; 0: none
};

struct SampleBatch {
  std::span<const std::vector<std::int32_t>> prompts;  // of at least one token each
  std::span<const DecodeConfig> configs;               // one for all rows, or one for each
  std::span<const RngKey> keys;                        // one for each row
  // One for each row, or none. With some, the model has twice as many rows: first the prompts',
  // then these. Rows that guidance changes need them.
  std::span<const std::vector<std::int32_t>> unconditional{};
  // Rows of the model at once, without the unconditional ones; 0: all. Fewer than there are prompts
  // need a model that can insert.
  std::size_t slots = 0;
  // Of the tokens that may come next, beside those of the configs; null: none.
  const TokenConstraint* constraint = nullptr;
  std::int64_t top = 0;  // likeliest tokens to note at each step
};

// Called with each chosen token other than an end token; returning false ends the row. With
// optimize_eos called when the row has finished.
using OnToken = std::function<bool(std::size_t row, std::int32_t id)>;

// An end token in a prompt does not end it. A prompt of limits.longest tokens or more gets no
// continuation. Throws Error if a row needs an unconditional prompt or an end token that is not
// there.
std::vector<DecodedRow> sample_decode(DecoderState& model, const SampleBatch& batch,
                                      const DecodeLimits& limits, const OnToken& on_token = {});

}  // namespace trivet::lm
