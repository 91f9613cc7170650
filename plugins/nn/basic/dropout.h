// SPDX-License-Identifier: Apache-2.0
// Dropout: in training each element becomes 0 with probability `rate` and the others are divided by
// 1 - rate (Srivastava et al. 2014, inverted); otherwise the input passes unchanged.
//
// With noise_broadcast_dims the elements along these axes are dropped together, as Praxis'
// noise_shape_broadcast_dims: {1} drops whole features of x [B, T, D] at all positions.
//
// The choice depends only on the run's seed, the step and the layer's path, so a resumed run drops
// the same elements. A layer that is called twice in one step drops the same elements twice, and
// with dropout_at_eval all batches of an evaluation have the same draws.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/layer/extend_step.h"
#include "trivet/layer/sequence_blocks.h"

namespace trivet::nn {

struct DropoutConfig : LayerConfig {
  double rate = 0;
  std::vector<std::int64_t> noise_broadcast_dims;
  bool dropout_at_eval = false;
};
TRIVET_CONFIG(DropoutConfig, trivet::LayerConfig,
              (rate, "Share of the elements that is dropped.", required, at_least(0), less_than(1),
               adjustable),
              (noise_broadcast_dims,
               "Axes along which elements are dropped together; negative ones count from the "
               "last."),
              (dropout_at_eval, "Drops elements in evaluations and predictions, too.", adjustable))

class Dropout final : public LocalLayer, public SequenceBlocks {
 public:
  using Config = DropoutConfig;
  Dropout(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  // Draws for each block, unless all positions are dropped together.
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  // The shape of the draws for x.
  Shape noise_shape(const Tensor& x) const;

  std::string path_;
  float rate_;
  std::vector<std::int64_t> together_;
  bool at_eval_;
};

}  // namespace trivet::nn
