// SPDX-License-Identifier: Apache-2.0
// data/Synthetic: generated images with learnable labels.
//
// A class is a pattern of 4 x 4 pixel blocks of random shades. An example is its class's pattern
// mixed with noise, each pixel (1 - noise) * pattern + noise * random, in bytes; example e is of
// class e % num_classes. An example depends only on the seeds, e and the split, so any order gives
// the same examples.
#pragma once

#include "data/images/example_source.h"

namespace trivet::data {

class SyntheticInput final : public ExampleInput {
 public:
  using Config = SyntheticConfig;
  SyntheticInput(const Config& config, InputContext& context);
};

}  // namespace trivet::data
