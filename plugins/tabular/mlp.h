// SPDX-License-Identifier: Apache-2.0
// Mlp: embeddings of the categories concatenated with the numbers, then fully connected layers.
// Parameters "embedding_0/table", ... one per categorical column, "hidden_0/w", "hidden_0/b", ...,
// "output/w", "output/b".
//
// An embedding has min(600, round(1.6 n^0.56)) numbers for a column of n different ids unless set:
// the rule of thumb of fastai's tabular models.
#pragma once

#include <memory>
#include <vector>

#include "trivet/model.h"

namespace trivet::tabular {

// Sizes that a task for tables sets in its model's config. Any model whose config has these three
// fields can be its model.
struct TabularModelConfig : ModelConfig {
  std::int64_t number_features = 0;
  std::vector<std::int64_t> category_sizes;
  std::int64_t output_dims = 0;
};
TRIVET_CONFIG(TabularModelConfig, trivet::ModelConfig,
              (number_features, "Width of \"numbers\"; the task sets it from the table.",
               at_least(0)),
              (category_sizes, "Ids of each of \"categories\"; the task sets it from the table.",
               at_least(1)),
              (output_dims, "Depth of the logits; the task sets it from the table.", at_least(0)))

struct MlpConfig : TabularModelConfig {
  std::vector<std::int64_t> hidden_dims = {64, 32};
  std::int64_t embedding_dims = 0;
  ConfigOf<Layer> activation = "nn/Relu";
  double dropout = 0;
  InitConfig init;
};
TRIVET_CONFIG(
    MlpConfig, TabularModelConfig, (hidden_dims, "Depth of each hidden layer.", at_least(1)),
    (embedding_dims, "Depth of the embedding of each category. 0: grows with the vocabulary.",
     at_least(0)),
    (activation, "Activation after each hidden layer."),
    (dropout, "Share of hidden units dropped in training.", at_least(0), less_than(1), adjustable),
    (init, "Initializer of the fully connected layers. Default: that of nn/Linear."))

class Mlp final : public Model {
 public:
  using Config = MlpConfig;
  Mlp(const Config& config, Scope& scope);
  // {"logits": f32 [B, output_dims]}
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  Tensor features(const Batch& batch, FpropContext& context);

  std::int64_t number_features_;
  std::vector<std::shared_ptr<Layer>> embeddings_;
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace trivet::tabular
