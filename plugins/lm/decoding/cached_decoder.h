// SPDX-License-Identifier: Apache-2.0
// DecoderState of a model: uses the model's cache if it has one, else recomputes from the start at
// every step.
//
// With a cache, prompts of different lengths are padded at the left to one length and keep their
// own positions (trivet/layer/extend_step.h). Without one, each row is computed separately.
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
  CachedDecoder(const NextToken& model, Device& device, std::int64_t max_steps,
                std::int64_t tokens);

  std::int64_t vocabulary_size() const override { return tokens_; }
  std::vector<float> start(std::span<const std::vector<std::int32_t>> prompts) override;
  std::vector<float> extend(std::span<const std::int32_t> ids) override;
  void reorder(std::span<const std::int32_t> rows) override;

 private:
  struct Row {
    std::int64_t prompt = 0;          // its number of tokens
    std::int64_t length = 0;          // so far
    std::vector<std::int32_t> ids{};  // all ids; only without a cache
  };
  std::vector<float> padded(std::span<const std::vector<std::int32_t>> prompts,
                            std::int64_t length);
  std::vector<float> from_the_start();
  std::vector<float> logits_of(std::span<const std::int32_t> ids, std::int64_t rows,
                               FpropContext& context);

  const NextToken& model_;
  Device& device_;
  std::int64_t max_steps_, tokens_;
  std::unique_ptr<LayerCache> cache_;
  bool padded_ = false;
  std::vector<Row> rows_;
};

}  // namespace trivet::lm
