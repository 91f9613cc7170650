// SPDX-License-Identifier: Apache-2.0
// data/LanguageModel: rows of the examples of any data source.
#pragma once

#include "data/sequences/sequence_input.h"

namespace trivet::data {

class LanguageModelInput final : public TextSequenceInput {
 public:
  using Config = LanguageModelConfig;
  LanguageModelInput(const Config& config, InputContext& context);
};

}  // namespace trivet::data
