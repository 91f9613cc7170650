// SPDX-License-Identifier: Apache-2.0
// data/MaskedLanguageModel: rows for encoders that predict masked tokens.
#pragma once

#include "data/sequences/sequence_input.h"

namespace trivet::data {

class MaskedLanguageModelInput final : public TextSequenceInput {
 public:
  using Config = MaskedLanguageModelConfig;
  MaskedLanguageModelInput(const Config& config, InputContext& context);

 private:
  MaskedLanguageModelInput(const Config& config, InputContext& context,
                           const TextPipeline& pipeline);
  MaskedLanguageModelInput(const Config& config, InputContext& context,
                           const TextPipeline& pipeline, std::int32_t mask_id);
};

}  // namespace trivet::data
