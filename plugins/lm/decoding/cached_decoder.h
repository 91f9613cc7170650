// SPDX-License-Identifier: Apache-2.0
// A model as decoding needs it: with a cache where it has one, else from the start at every step.
//
// With a cache, prompts of different lengths are padded at the left to one length, with positions
// of their own (trivet/layer/extend_step.h). Without one, each row is computed by itself.
#pragma once

#include <memory>

#include "lm/decoding/decoder_state.h"
#include "trivet/extensions/next_token.h"

namespace trivet::lm {

class CachedDecoder final : public DecoderState {
 public:
  // For sequences that go on for at most `max_steps` tokens behind their prompts. Both references
  // outlive it. A model may have more logits than there are `tokens` (its vocabulary was rounded
  // up): those behind are left out.
  CachedDecoder(const NextToken& model, Device& device, std::int64_t max_steps,
                std::int64_t tokens);

  std::int64_t vocabulary_size() const override { return tokens_; }
  std::vector<float> start(std::span<const std::vector<std::int32_t>> prompts) override;
  std::vector<float> extend(std::span<const std::int32_t> ids) override;
  void reorder(std::span<const std::int32_t> rows) override;

 private:
  struct Row {
    std::int64_t prompt = 0;          // tokens of it
    std::int64_t length = 0;          // so far
    std::vector<std::int32_t> ids{};  // all of them; only without a cache
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
