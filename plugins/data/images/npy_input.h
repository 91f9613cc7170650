// SPDX-License-Identifier: Apache-2.0
// data/Npy: images or other features, and labels, from NumPy files.
#pragma once

#include "data/images/example_source.h"

namespace trivet::data {

class NpyInput final : public ExampleInput {
 public:
  using Config = NpyConfig;
  NpyInput(const Config& config, InputContext& context);
  const void* extension(std::string_view id) const noexcept override;
};

}  // namespace trivet::data
