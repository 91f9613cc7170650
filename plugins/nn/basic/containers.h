// SPDX-License-Identifier: Apache-2.0
// Layers made of layers.
//
// Sequential: the layers in sequence; child i is "layer_i".
// Repeat: a template `x_times` in a row. Repetition i is "sub_i" and has its own weights (a
// template with a `shared` name has one set). Praxis' Repeat stacks the weights of all repetitions
// on a first axis instead; here each is a separate tensor, so paths and shapes are those of the
// sub-layer. Residual: y = shortcut(x) + residual_weight * sub(x), He et al. 2016; children "sub"
// and "shortcut", which by default is x itself.
//
// All three decode with a cache if their layers do (trivet/layer/extend_step.h), and Sequential and
// Repeat compute blocks of positions if their layers do (trivet/layer/sequence_blocks.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/remat/checkpoint_policy.h"
#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"
#include "trivet/layer/sequence_blocks.h"

namespace trivet::nn {

// Layers one after the other.
class InTurn : public DecodingLayer, public SequenceBlocks {
 public:
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch, std::int64_t max_length) const final;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) final;
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) final;
  const void* extension(std::string_view id) const noexcept final;

 protected:
  // `output_name`: the checkpoint name of what each layer gives, where it is rematerialized.
  explicit InTurn(CheckpointPolicy policy = CheckpointPolicy::save_everything,
                  std::string_view output_name = {});
  // Does nothing for an empty template. Throws ConfigError in a scope of sequence blocks for a
  // layer that cannot compute them.
  void add(const Scope& scope, const std::string& name, const ConfigOf<Layer>& config);
  std::size_t size() const { return layers_.size(); }
  // The layers [first, end) in turn.
  Tensor fprop_range(const Tensor& x, FpropContext& context, std::size_t first, std::size_t end);
  std::vector<Tensor> fprop_blocks_range(std::span<const Tensor> x, SequenceCut& cut,
                                         std::size_t first, std::size_t end);

 private:
  struct Named {
    std::string path;
    std::shared_ptr<Layer> layer;
  };
  bool remat_;
  RematKeeps keeps_;
  std::string_view output_name_;
  std::vector<Named> layers_;
};

struct SequentialConfig : LayerConfig {
  std::vector<ConfigOf<Layer>> layers;
};
TRIVET_CONFIG(SequentialConfig, trivet::LayerConfig,
              (layers, "Layers to apply in order. none: the output is the input."))

class Sequential final : public InTurn {
 public:
  using Config = SequentialConfig;
  Sequential(const Config& config, Scope& scope);
};

struct RepeatConfig : LayerConfig {
  ConfigOf<Layer> sub;
  std::int64_t x_times = 0;
  CheckpointPolicy checkpoint_policy = CheckpointPolicy::save_everything;
};
TRIVET_CONFIG(RepeatConfig, trivet::LayerConfig, (sub, "Layer to repeat.", required),
              (x_times, "Number of repetitions.", required, between(0, 100000)),
              (checkpoint_policy, "Activations of each repetition that are kept for its gradients.",
               adjustable))

class Repeat final : public InTurn {
 public:
  using Config = RepeatConfig;
  Repeat(const Config& config, Scope& scope);
};

struct ResidualConfig : LayerConfig {
  ConfigOf<Layer> sub;
  ConfigOf<Layer> shortcut;
  double residual_weight = 1;
};
TRIVET_CONFIG(ResidualConfig, trivet::LayerConfig,
              (sub, "Layer whose output is added to the input.", required),
              (shortcut,
               "Layer for the input, for example where the shape changes. none: the input itself."),
              (residual_weight, "Factor of the sub-layer's output."))

class Residual final : public DecodingLayer {
 public:
  using Config = ResidualConfig;
  Residual(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;

 private:
  Tensor joined(const Tensor& straight, Tensor y) const;

  std::string path_;
  float residual_weight_;
  std::shared_ptr<Layer> sub_, shortcut_;
};

}  // namespace trivet::nn
