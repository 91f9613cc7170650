// SPDX-License-Identifier: Apache-2.0
// DropPath: in training each example as a whole becomes 0 with probability `rate` and the others
// are divided by 1 - rate; otherwise the input passes unchanged. After the layers of a residual
// branch this is stochastic depth (Huang et al. 2016; Praxis' StochasticResidual). x [B, ..].
//
// The choice depends only on the run's seed, the step and the layer's path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/layer/extend_step.h"
#include "trivet/layer/sequence_blocks.h"

namespace trivet::nn {

struct DropPathConfig : LayerConfig {
  double rate = 0;
};
TRIVET_CONFIG(DropPathConfig, trivet::LayerConfig,
              (rate, "Share of the examples that is dropped.", required, at_least(0), less_than(1),
               adjustable))

class DropPath final : public LocalLayer, public SequenceBlocks {
 public:
  using Config = DropPathConfig;
  DropPath(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  // Drops all blocks of an example.
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  std::string path_;
  float rate_;
};

}  // namespace trivet::nn
