// SPDX-License-Identifier: Apache-2.0
// data/SequenceToSequence: rows of pairs of texts.
#pragma once

#include "rows_input.h"
#include "sequence_config.h"

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
