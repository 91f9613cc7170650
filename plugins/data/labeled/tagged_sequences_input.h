// SPDX-License-Identifier: Apache-2.0
// data/TaggedSequences: words with a tag each.
#pragma once

#include "data/labeled/labeled_config.h"
#include "data/sequences/rows_input.h"

namespace trivet::data {

class TaggedSequencesInput final : public RowsInput {
 public:
  using Config = TaggedSequencesConfig;
  TaggedSequencesInput(const Config& config, InputContext& context);

 private:
  struct Parts;
  TaggedSequencesInput(const Config& config, InputContext& context, const Parts& parts);
};

}  // namespace trivet::data
