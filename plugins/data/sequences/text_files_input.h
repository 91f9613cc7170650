// SPDX-License-Identifier: Apache-2.0
// data/Text: rows of text files.
#pragma once

#include "data/sequences/sequence_input.h"

namespace trivet::data {

class TextFilesInput final : public TextSequenceInput {
 public:
  using Config = TextConfig;
  TextFilesInput(const Config& config, InputContext& context);
};

}  // namespace trivet::data
