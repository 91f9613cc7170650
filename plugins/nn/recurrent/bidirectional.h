// SPDX-License-Identifier: Apache-2.0
// Bidirectional: a sequence read from both ends (Schuster and Paliwal 1997), x [B, T, ..] -> [B, T,
// 2 D]: the output of `sub`, followed by its output with `reverse`. Children are "forward" and
// "backward".
#pragma once

#include <memory>
#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct BidirectionalConfig : LayerConfig {
  ConfigOf<Layer> sub;
};
TRIVET_CONFIG(BidirectionalConfig, trivet::LayerConfig,
              (sub, "A layer with a field `reverse`, e.g. nn/Lstm, of which two are made.",
               required))

class Bidirectional final : public Layer {
 public:
  using Config = BidirectionalConfig;
  Bidirectional(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::shared_ptr<Layer> forward_, backward_;
};

}  // namespace trivet::nn
