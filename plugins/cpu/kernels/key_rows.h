// SPDX-License-Identifier: Apache-2.0
// The rows of attention's heads in memory, and the keys or values of a head as factors of products.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/attention_scores.h"
#include "cpu/products/gemm_kernel.h"
#include "cpu/support/context.h"

namespace cpu {

inline constexpr std::int64_t kBlockKeys = 256;  // 64 KiB of scores

// Rows of one head: [T, D], `step` elements apart.
struct HeadRows {
  float* data;
  std::int64_t step;

  float* row(std::int64_t i) const { return data + i * step; }
};

inline HeadRows head_rows(const tv_view& v, std::int64_t batch, std::int64_t head) {
  return {data<float>(v) + batch * v.stride[0] + head * v.stride[2],
          std::max(v.stride[1], v.shape[3])};
}

struct Extents {
  std::int64_t batch, queries, heads, depth, keys, kv_heads;

  explicit Extents(const tv_attention& a)
      : batch(a.q.shape[0]),
        queries(a.q.shape[1]),
        heads(a.q.shape[2]),
        depth(a.q.shape[3]),
        keys(a.k.shape[1]),
        kv_heads(a.k.shape[2]) {}
  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t tiles() const { return ceil_div(queries, kTileQueries); }  // of one head
  std::int64_t blocks() const { return ceil_div(keys, kBlockKeys); }
};

// The factors of products with the rows of a head: as rows of a left factor [T, D], or as a right
// factor [T, D] whose depth is T, each in blocks of keys.
class KeyRows {
 public:
  static std::int64_t left_memory(const Extents& e) {
    return e.blocks() * whole_rows(std::min(kBlockKeys, e.keys)) * e.depth;
  }
  static std::int64_t right_memory(const Extents& e) {
    return e.blocks() * std::min(kBlockKeys, e.keys) * whole_columns(e.depth);
  }

  // Without memory the rows are read where they lie.
  void set_left(const Extents& e, const HeadRows& rows, float* memory) {
    left_rows_ = rows, left_ = memory, left_block_ = left_memory(e) / e.blocks(), depth_ = e.depth;
    for (std::int64_t block = 0; memory != nullptr && block < e.blocks(); ++block) {
      pack_left(Transpose::no, block_size(e, block), e.depth, rows.row(block * kBlockKeys),
                rows.step, memory + block * left_block_);
    }
  }
  void set_right(const Extents& e, const HeadRows& rows, float* memory) {
    right_rows_ = rows, right_ = memory, right_block_ = right_memory(e) / e.blocks();
    keys_ = e.keys;
    for (std::int64_t block = 0; memory != nullptr && block < e.blocks(); ++block) {
      pack_right(Transpose::no, block_size(e, block), e.depth, rows.row(block * kBlockKeys),
                 rows.step, memory + block * right_block_);
    }
  }

  // From row `first` of a block, a multiple of kRowStep.
  Factor left(std::int64_t block, std::int64_t first) const {
    if (left_ == nullptr) {
      return {left_rows_.row(block * kBlockKeys + first), left_rows_.step, Layout::rows};
    }
    return Factor{left_ + block * left_block_, depth_, Layout::packed}.after_rows(first);
  }
  Factor right(std::int64_t block, std::int64_t first) const {
    if (right_ == nullptr) {
      return {right_rows_.row(block * kBlockKeys + first), right_rows_.step, Layout::rows};
    }
    const std::int64_t size = std::min(kBlockKeys, keys_ - block * kBlockKeys);
    return packed_after_depth({right_ + block * right_block_, size, Layout::packed}, first);
  }

 private:
  static std::int64_t block_size(const Extents& e, std::int64_t block) {
    return std::min(kBlockKeys, e.keys - block * kBlockKeys);
  }

  HeadRows left_rows_ = {}, right_rows_ = {};
  float *left_ = nullptr, *right_ = nullptr;
  std::int64_t left_block_ = 0, right_block_ = 0, depth_ = 0, keys_ = 0;
};

}  // namespace cpu
