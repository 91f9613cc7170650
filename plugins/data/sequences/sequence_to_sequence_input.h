// SPDX-License-Identifier: Apache-2.0
// data/SequenceToSequence: rows of pairs of texts.
#pragma once

#include "data/sequences/rows_input.h"
#include "data/sequences/sequence_config.h"

namespace trivet::data {

class SequenceToSequenceInput final : public RowsInput {
 public:
  using Config = SequenceToSequenceConfig;
  SequenceToSequenceInput(const Config& config, InputContext& context);

 private:
  struct Parts;
  SequenceToSequenceInput(const Config& config, InputContext& context, const Parts& parts);
};

}  // namespace trivet::data
