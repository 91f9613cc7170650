// SPDX-License-Identifier: Apache-2.0
// The settings that determine the function of a decoder in a Hugging Face layout (hf_layout.h),
// apart from its weights.
#pragma once

#include <cstdint>
#include <string>

namespace trivet::lm {

struct DecoderShape {
  std::int64_t vocab_size = 0;
  std::int64_t model_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t dims_per_head = 0;
  std::int64_t max_seq_len = 0;
  double norm_epsilon = 0;
  double rotary_theta = 10000;
  std::string activation;  // its name in config.json: "gelu_new"
  bool has_bias = true;    // for the products in attention and Mlp
  bool tied = true;        // the embedding's table makes the logits

  friend bool operator==(const DecoderShape&, const DecoderShape&) = default;
};

}  // namespace trivet::lm
