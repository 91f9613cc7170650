// SPDX-License-Identifier: Apache-2.0
// DecoderState: the model as decoding sees it. Takes the prompts of a batch, then one token per row
// at a time, and returns the logits of each next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trivet/error.h"

namespace trivet::lm {

class DecoderState {
 public:
  virtual ~DecoderState() = default;
  virtual std::int64_t vocabulary_size() const = 0;
  // Takes the whole prompt of each row, of any lengths from 1 on. Called once, before anything
  // else. A prefix language model takes these tokens as the prompt and all later ones as its
  // continuation. Returns the logits after each prompt, [rows, vocabulary_size].
  virtual std::vector<float> start(std::span<const std::vector<std::int32_t>> prompts) = 0;
  // Appends a token to each row; returns the next logits, [rows, vocabulary_size].
  virtual std::vector<float> extend(std::span<const std::int32_t> ids) = 0;
  // Moves row rows[i] to row i. The number of rows may change.
  virtual void reorder(std::span<const std::int32_t> rows) = 0;
  // Whether rows can be added after start().
  virtual bool can_insert() const { return false; }
  // Adds a row behind the others for each prompt, as start() takes them; returns the logits after
  // these prompts alone.
  virtual std::vector<float> insert(std::span<const std::vector<std::int32_t>> prompts);
};

inline std::vector<float> DecoderState::insert(std::span<const std::vector<std::int32_t>>) {
  throw Error("this model cannot take rows while others are decoded");
}

}  // namespace trivet::lm
