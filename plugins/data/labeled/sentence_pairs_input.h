// SPDX-License-Identifier: Apache-2.0
// data/SentencePairs: sentences with a label.
#pragma once

#include "data/labeled/labeled_config.h"
#include "data/sequences/rows_input.h"

namespace trivet::data {

class SentencePairsInput final : public RowsInput {
 public:
  using Config = SentencePairsConfig;
  SentencePairsInput(const Config& config, InputContext& context);

 private:
  struct Parts;
  SentencePairsInput(const Config& config, InputContext& context, const Parts& parts);
};

}  // namespace trivet::data
