// SPDX-License-Identifier: Apache-2.0
// Vit: the vision transformer of Dosovitskiy et al. 2021 ("An Image is Worth 16x16 Words").
//
//   the image in patches of patch x patch pixels, each through one linear layer to `model_dims`;
//   a learned class token in front (pooling = "class_token"); learned positions added; dropout;
//   `depth` blocks (nn/TransformerBlock, the norms in front); a norm;
//   the class token, or the mean over all positions (pooling = "mean"); with representation_dims a
//   linear layer and tanh (the authors' for pretraining); then a linear classifier.
//
//   name    patch  model_dims  depth  num_heads
//   ViT-Ti  16     192         12     3          (Touvron et al. 2021)
//   ViT-S   16     384         12     6          (Touvron et al. 2021)
//   ViT-B   16     768         12     12
//   ViT-L   16     1024        24     16
//
// With position_emb = "sincos_2d" the positions are fixed, as Praxis' PositionalEmbedding2D: a
// patch at row r of R and column c of C gets, with n = model_dims / 4 and i = 0 .. n - 1,
//   sin(a_i), cos(a_i), sin(b_i), cos(b_i);  a_i = (r - R / 2) / 10000^(i / n),
//                                            b_i = (c - C / 2) / 10000^(i / n)
// and the class token 0.
//
// Weights start as in the authors' code unless `init` is set: patches lecun_normal, positions
// normal with standard deviation 0.02, class token and classifier 0, all others xavier_uniform.
// Parameters "patches/w", "patches/b", "class_token", "positions", "block_0/attention/query/w",
// ..., "norm/scale", "norm/bias", "representation/w", "representation/b", "output/w", "output/b".
#pragma once

#include <memory>
#include <vector>

#include "trivet/model.h"

namespace trivet::vision {

enum class VitPooling { class_token, mean };
TRIVET_ENUM(VitPooling, class_token, mean)

enum class VitPositions { learned, sincos_2d };
TRIVET_ENUM(VitPositions, learned, sincos_2d)

struct VitConfig : ModelConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::int64_t num_classes = 10;
  std::int64_t patch = 4;
  std::int64_t model_dims = 64;
  std::int64_t depth = 6;
  std::int64_t num_heads = 4;
  std::int64_t hidden_dims = 0;
  VitPooling pooling = VitPooling::class_token;
  VitPositions position_emb = VitPositions::learned;
  ConfigOf<Layer> activation = "nn/Gelu";
  double dropout = 0;
  double init_stochastic_depth_rate = 0;
  std::int64_t representation_dims = 0;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    VitConfig, trivet::ModelConfig,
    (image_shape, "Height, width and channels of the images.", at_least(1)),
    (num_classes, "Depth of the logits.", at_least(2)),
    (patch, "Height and width of a patch; divides those of the image.", at_least(1)),
    (model_dims, "Depth of each position.", at_least(1), alias("dims")),
    (depth, "Number of blocks.", between(0, 10000)),
    (num_heads, "Heads of each block's attention; divides model_dims.", at_least(1)),
    (hidden_dims, "Depth inside each block's Mlp; 0: 4 * model_dims.", at_least(0)),
    (pooling, "Input of the classifier."),
    (position_emb,
     "Positions that are added to the patches: learned, or fixed sines and cosines of row "
     "and column."),
    (activation, "Activation inside each block's Mlp."),
    (dropout,
     "Share of the elements dropped in training, after the positions and in the "
     "blocks.",
     at_least(0), less_than(1), adjustable),
    (init_stochastic_depth_rate,
     "Share of the examples that skip attention or Mlp of the last block in training; "
     "block i of n, from 1, has i / n of it.",
     at_least(0), less_than(1), adjustable),
    (representation_dims,
     "Depth of a linear layer with tanh between the pooling and the classifier, as for "
     "pretraining; 0: no such layer.",
     at_least(0)),
    (init, "Initializer of all weights. Default: as in the authors' code, see vit.h."))

class Vit final : public Model {
 public:
  using Config = VitConfig;
  Vit(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::vector<std::int64_t> image_shape_;
  std::int64_t dims_;
  std::shared_ptr<Layer> patches_;
  Parameter* class_token_;              // null for the mean
  Parameter* positions_;                // null for fixed ones
  std::vector<float> fixed_positions_;  // empty for learned ones
  std::shared_ptr<Layer> dropout_;      // null for a rate of 0
  std::vector<std::shared_ptr<Layer>> blocks_;
  std::shared_ptr<Layer> norm_;
  std::shared_ptr<Layer> representation_;  // null for none
  std::shared_ptr<Layer> output_;
};

}  // namespace trivet::vision
