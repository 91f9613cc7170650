// SPDX-License-Identifier: Apache-2.0
// A model as decoding needs it: with a cache where it has one, else from the start at every step.
#pragma once

#include <memory>

#include "step_model.h"
#include "trivet/extensions/next_token.h"

namespace trivet::lm {

class ModelSteps final : public StepModel {
 public:
  // For `rows` sequences of at most `max_length` tokens. Both references outlive it. A model may
  // have more logits than there are `tokens` (its vocabulary was rounded up): those behind are left
  // out.
  ModelSteps(const NextToken& model, Device& device, std::int64_t rows, std::int64_t max_length,
             std::int64_t tokens);

  std::int64_t vocabulary_size() const override { return tokens_; }
  std::vector<float> extend(std::span<const std::int32_t> ids, std::int64_t count) override;
  void reorder(std::span<const std::int32_t> rows) override;

 private:
  void remember(std::span<const std::int32_t> ids, std::int64_t count);
  std::vector<float> logits_of(std::span<const std::int32_t> ids, std::int64_t count);

  const NextToken& model_;
  Device& device_;
  std::int64_t rows_, tokens_;
  std::unique_ptr<LayerCache> cache_;
  std::int64_t length_ = 0;              // without a cache: of each sequence so far
  std::vector<std::int32_t> sequences_;  // [rows, length]
};

}  // namespace trivet::lm
