// SPDX-License-Identifier: Apache-2.0
// data/Idx: images and labels from IDX files.
#pragma once

#include "data/images/example_source.h"

namespace trivet::data {

class IdxInput final : public ExampleInput {
 public:
  using Config = IdxConfig;
  IdxInput(const Config& config, InputContext& context);
  const void* extension(std::string_view id) const noexcept override;
};

}  // namespace trivet::data
