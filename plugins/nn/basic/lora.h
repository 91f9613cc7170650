// SPDX-License-Identifier: Apache-2.0
// LoRA: freezes a product's weights and trains a product of two low-rank matrices that is added to
// it (Hu et al. 2021):
//
//   y = activation(x w + b + alpha / rank * dropout(x) lora_a lora_b)
//
// Parameters of the nn/Linear that has it: "lora_a" [input_dims, rank], which starts as in the
// authors' library (uniform below 1 / sqrt(input_dims)), and "lora_b" [rank, output_dims], zeros: a
// model starts as the one that its weights are from. Other variables are trained, too, unless
// trainer.trainable restricts training.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config.h"

namespace trivet::nn {

struct LoraConfig {
  std::int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;
  std::vector<std::string> layers;

  void validate(Diagnostics& diagnostics) const;

  double factor() const { return alpha > 0 ? alpha / static_cast<double>(rank) : 1; }
};
TRIVET_CONFIG(LoraConfig, trivet::NoBase,
              (rank, "Columns of the first low-rank matrix and rows of the second; 0: no LoRA.",
               at_least(0)),
              (alpha, "Scale of the product of the two matrices: alpha / rank. 0: 1.", at_least(0)),
              (dropout, "Dropout rate of the input of the low-rank matrices in training.",
               at_least(0), less_than(1), adjustable),
              (layers,
               "Products inside a layer that have LoRA: query, key, value and output of attention, "
               "in, gate and out of the feed-forward part; empty: all."))

// The LoRA config for the product `name` of a layer with `config`: empty, or for this product
// alone.
LoraConfig lora_of(const LoraConfig& config, std::string_view name);

}  // namespace trivet::nn
