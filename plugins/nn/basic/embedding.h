// SPDX-License-Identifier: Apache-2.0
// Embedding: row ids of a table, ids i32 of any shape -> [.., input_dims].
//
// Parameter "table" [num_classes, input_dims], normal with standard deviation 1 / sqrt(input_dims)
// unless set, as in Praxis' language models. An id outside [0, num_classes) is an Error. Field
// names are those of Praxis' Embedding.
//
// With a `weight_split_dims_mapping` whose wt names mdl, each of the devices along it has a block
// of the table, [num_classes / devices, input_dims] or [num_classes, input_dims / devices]. A row
// is the sum of what the blocks have of it. Only one of them is not 0, so a process that has all
// blocks looks it up in the whole table and gets the same bits.
#pragma once

#include <string>

#include "trivet/layer/extend_step.h"
#include "trivet/layer/split_dims.h"

namespace trivet::nn {

// Also of nn/GShardSharedEmbeddingSoftmax.
struct EmbeddingSplitConfig {
  SplitDims wt;

  void validate(Diagnostics& diagnostics) const { wt.check_rank(2, "wt", diagnostics); }
};
TRIVET_CONFIG(EmbeddingSplitConfig, trivet::NoBase,
              (wt, "Axes of num_classes and input_dims, such as [\"mdl\", \"data\"]."))

struct EmbeddingConfig : LayerConfig {
  std::int64_t num_classes = 0;
  std::int64_t input_dims = 0;
  bool scale_sqrt_depth = false;
  InitConfig init;
  EmbeddingSplitConfig weight_split_dims_mapping;
};
TRIVET_CONFIG(
    EmbeddingConfig, trivet::LayerConfig,
    (num_classes, "Rows of the table; 0 in a template: as the model around it.", at_least(0)),
    (input_dims, "Length of a row; 0 in a template: as the model around it.", at_least(0)),
    (scale_sqrt_depth, "Multiplies by sqrt(input_dims)."),
    (init,
     "Initializer of the table. Default: normal with standard deviation 1 / sqrt(input_dims)."),
    (weight_split_dims_mapping,
     "Axes of the mesh over which the table is split. Only mdl has an effect.", adjustable))

class Embedding final : public LocalLayer {
 public:
  using Config = EmbeddingConfig;
  Embedding(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& ids, FpropContext& context) override;

 private:
  std::string path_;
  float scale_;
  Parameter& table_;
};

}  // namespace trivet::nn
