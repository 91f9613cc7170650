// SPDX-License-Identifier: Apache-2.0
// data/Tokens: rows of token files.
#pragma once

#include "data/sequences/sequence_input.h"

namespace trivet::data {

class TokensInput final : public SequenceInput {
 public:
  using Config = TokensConfig;
  TokensInput(const Config& config, InputContext& context);

 private:
  struct Files;
  TokensInput(const Config& config, InputContext& context, const Files& files);
};

}  // namespace trivet::data
