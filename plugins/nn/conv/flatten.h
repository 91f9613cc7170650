// SPDX-License-Identifier: Apache-2.0
// Flatten: [B, ..] -> [B, product of the rest], in row-major order, e.g. before a classifier's
// Linear.
#pragma once

#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct FlattenConfig : LayerConfig {};
TRIVET_CONFIG(FlattenConfig, trivet::LayerConfig)

class Flatten final : public Layer {
 public:
  using Config = FlattenConfig;
  Flatten(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
};

}  // namespace trivet::nn
