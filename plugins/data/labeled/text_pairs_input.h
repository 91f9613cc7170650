// SPDX-License-Identifier: Apache-2.0
// data/TextPairs: texts that belong together.
#pragma once

#include <vector>

#include "data/labeled/labeled_config.h"
#include "data/sequences/rows_input.h"

namespace trivet::data {

class TextPairsInput final : public RowsInput {
 public:
  using Config = TextPairsConfig;
  TextPairsInput(const Config& config, InputContext& context);

 private:
  struct Parts;
  TextPairsInput(const Config& config, InputContext& context, const Parts& parts);
};

}  // namespace trivet::data
