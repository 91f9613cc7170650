// SPDX-License-Identifier: Apache-2.0
// DecoderState of a model: uses the model's cache if it has one, else recomputes from the start at
// every step.
//
// With a cache, prompts of different lengths are padded at the left to one length and keep their
// own positions (trivet/layer/extend_step.h). Without one, each row is computed separately.
//
// Rows that are inserted get a cache of their own for their prompts, and join the others then: all
// rows are aligned at their ends. So a row costs the same, whatever the rows before it in its slot.
#pragma once

#include <memory>

#include "lm/decoding/decoder_state.h"
#include "trivet/extensions/next_token.h"

namespace trivet::lm {

class CachedDecoder final : public DecoderState {
 public:
  // For sequences of at most `max_steps` tokens after their prompts. Both references must outlive
  // it. A model may have more logits than `tokens` (its vocabulary was rounded up): the excess is
  // ignored.
  // `longest_prompt` is that of rows to insert; 0: none is longer than those at the start.
  CachedDecoder(const NextToken& model, Device& device, std::int64_t max_steps, std::int64_t tokens,
                std::int64_t longest_prompt = 0);

  // Whether can_insert() will be true for decoders of this model.
  static bool can_insert_into(const NextToken& model);

  std::int64_t vocabulary_size() const override { return tokens_; }
  std::vector<float> start(std::span<const std::vector<std::int32_t>> prompts) override;
  std::vector<float> extend(std::span<const std::int32_t> ids) override;
  void reorder(std::span<const std::int32_t> rows) override;
  bool can_insert() const override { return !cache_ || cache_->can_append_rows(); }
  std::vector<float> insert(std::span<const std::vector<std::int32_t>> prompts) override;

  // After start with one prompt, for guesses (speculative_decoder.h): whether the next ones can be
  // used.
  bool can_remove_last() const { return cache_ && cache_->can_remove_last(); }
  // Appends several tokens; returns the logits after each, [ids, vocabulary_size].
  std::vector<float> extend_by(std::span<const std::int32_t> ids);
  void remove_last(std::int64_t count);
  std::int64_t length() const { return columns_; }  // positions so far
  std::int64_t free_positions() const { return room_ - columns_; }

 private:
  struct Row {
    std::int64_t prompt = 0;          // its number of tokens
    std::int64_t length = 0;          // so far
    std::vector<std::int32_t> ids{};  // all ids; only without a cache
  };
  std::vector<float> padded(std::span<const std::vector<std::int32_t>> prompts,
                            std::int64_t length);
  std::vector<float> from_the_start();
  std::vector<float> to_host(const Tensor& logits) const;
  std::vector<float> logits_of(std::span<const std::int32_t> ids, std::int64_t rows,
                               FpropContext& context);

  std::int64_t longest_row() const;

  const NextToken& model_;
  Device& device_;
  std::int64_t max_steps_, tokens_, longest_prompt_;
  std::int64_t room_ = 0, columns_ = 0;  // positions that the cache can hold, and holds
  std::unique_ptr<LayerCache> cache_;
  bool padded_ = false;
  std::vector<Row> rows_;
};

}  // namespace trivet::lm
