// SPDX-License-Identifier: Apache-2.0
// DecoderState that computes the logits of several tokens at once: a smaller model, the draft,
// guesses them (Leviathan, Kalman and Matias 2023, "Fast Inference from Transformers via
// Speculative Decoding"). Where a token is not the one that was guessed, the positions after it are
// given back. So the logits are those of the model, whatever the draft guesses, and any rule may
// choose from them.
//
// A draft guesses one token less after a wrong guess and two more after none, up to the most, as by
// the heuristic of Hugging Face's transformers.
#pragma once

#include <deque>

#include "lm/decoding/cached_decoder.h"

namespace trivet::lm {

class SpeculativeDecoder final : public DecoderState {
 public:
  // Takes one prompt. `longest_draft` is the longest sequence of the draft; 0: any. It guesses at
  // most `guesses` tokens at a time.
  SpeculativeDecoder(CachedDecoder& model, CachedDecoder& draft, std::int64_t longest_draft,
                     std::int64_t guesses);

  std::int64_t vocabulary_size() const override { return model_.vocabulary_size(); }
  // Throws UsageError for a model or a draft that cannot give positions back.
  std::vector<float> start(std::span<const std::vector<std::int32_t>> prompts) override;
  std::vector<float> extend(std::span<const std::int32_t> ids) override;
  void reorder(std::span<const std::int32_t> rows) override;

  std::int64_t guessed() const { return guessed_; }
  std::int64_t accepted() const { return accepted_; }

 private:
  // A guess that the model has read, and the logits after it.
  struct Ahead {
    std::int32_t guess;
    std::vector<float> logits;
  };

  std::vector<std::int32_t> guess();

  CachedDecoder &model_, &draft_;
  std::int64_t longest_draft_, most_guesses_, guesses_;
  std::vector<std::int32_t> text_,
      draft_text_;  // what each has read, without guesses of the former
  std::deque<Ahead> ahead_;
  std::int64_t guessed_ = 0, accepted_ = 0;
};

}  // namespace trivet::lm
