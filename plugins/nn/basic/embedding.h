// SPDX-License-Identifier: Apache-2.0
// Embedding: row ids of a table, ids i32 of any shape -> [.., input_dims].
//
// Parameter "table" [num_classes, input_dims], normal with standard deviation 1 / sqrt(input_dims)
// unless set, as in Praxis' language models. An id outside [0, num_classes) is an Error. Field
// names are those of Praxis' Embedding.
#pragma once

#include <string>

#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct EmbeddingConfig : LayerConfig {
  std::int64_t num_classes = 0;
  std::int64_t input_dims = 0;
  bool scale_sqrt_depth = false;
  InitConfig init;
};
TRIVET_CONFIG(
    EmbeddingConfig, trivet::LayerConfig,
    (num_classes, "Rows of the table; 0 in a template: as the model around it.", at_least(0)),
    (input_dims, "Length of a row; 0 in a template: as the model around it.", at_least(0)),
    (scale_sqrt_depth, "Multiplies by sqrt(input_dims)."),
    (init,
     "Initializer of the table. Default: normal with standard deviation 1 / sqrt(input_dims)."))

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
