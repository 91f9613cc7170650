// SPDX-License-Identifier: Apache-2.0
// BigBirdAttention: attention between some blocks of positions only (Zaheer et al. 2020, "Big
// Bird", section 2 and appendix D), x [B, T, input_dims] -> the same shape. The positions are
// blocks of block_size; the last may be shorter. The queries of a block see
//
//   global   the first and the last block; and those two see all blocks
//   window   the block itself and its two neighbors
//   random   num_rand_blocks of the other blocks, drawn for each head and block
//
// and each of these blocks counts once. Within them it is nn/MultiHeadAttention: softmax(q k^T /
// sqrt(D)) v, by head, with segments and paddings of the context. Where all blocks are seen it is
// full attention.
//
// Keys and values of the blocks that a block sees are gathered, so time and memory grow with T
// (5 + num_rand_blocks) block_size, not with T^2. The draws depend on `seed`, the layer's path, the
// head, the block and the number of blocks; they are the same in every step, in training and later.
//
//   block_tpl = { type = "nn/TransformerBlock", attention_tpl = "nn/BigBirdAttention" }
//
// In a packed row only the first and the last text have global blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/encoders/attention_products.h"
#include "trivet/ops.h"
#include "trivet/tensor/random.h"

namespace trivet::nn {

struct BigBirdAttentionConfig : AttentionProductsConfig {
  std::int64_t block_size = 64;
  std::int64_t num_rand_blocks = 3;
  std::int64_t seed = 0;
  double atten_dropout = 0;
};
TRIVET_CONFIG(BigBirdAttentionConfig, AttentionProductsConfig,
              (block_size, "Positions in a block.", between(1, 1000000)),
              (num_rand_blocks, "Blocks that each block sees at random, by head.",
               between(0, 1000)),
              (seed, "Seed of the draw of blocks."),
              (atten_dropout, "Share of the attention weights dropped in training.", at_least(0),
               less_than(1), adjustable))

class BigBirdAttention final : public Layer {
 public:
  using Config = BigBirdAttentionConfig;
  BigBirdAttention(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

  // The blocks that a block of a head sees of `blocks`, each once: the first, the last, its
  // neighborhood, then the drawn ones. The first and the last block see all.
  std::vector<std::int32_t> seen(std::int64_t blocks, std::int64_t head, std::int64_t block) const;

 private:
  // Of positions in whole blocks. Segments i32 [B, T].
  struct Blocks {
    Tensor q, k, v, segments;
    std::int64_t blocks;
  };
  Blocks in_blocks(const Tensor& x, FpropContext& context) const;
  // The queries at [begin, end) over all keys.
  Tensor global(const Blocks& all, std::int64_t begin, std::int64_t end,
                FpropContext& context) const;
  Tensor between(const Blocks& all, FpropContext& context) const;
  void set_dropout(ops::AttentionOptions& options, const std::string& part,
                   const FpropContext& context) const;

  std::string path_;
  AttentionProducts products_;
  std::int64_t block_size_, random_;
  RngKey key_;
  float dropout_;
};

}  // namespace trivet::nn
