// SPDX-License-Identifier: Apache-2.0
// Attention of few queries, as when text is generated token by token: the heads that share keys
// read them once, where they lie, and scores are stored with a row per query. The bits are those of
// tiles of many queries.
#pragma once

#include <cstdint>

#include <trivet/backend/backend.h>

#include "cpu/kernels/attention_tile.h"
#include "cpu/products/gemm_kernel.h"

namespace cpu {

class FewQueries {
 public:
  static bool suit(const Extents& e) { return e.group() * e.queries <= kThinRows; }
  // Floats of memory that one object needs.
  static std::int64_t memory(const Extents& e);

  // All queries of the heads that share the keys of head `kv`.
  FewQueries(const tv_attention& a, std::int64_t batch, std::int64_t kv, float* memory);

  // Writes the outputs and the log-sum-exps. Keys are read as rows.
  void attend(const KeyRows& rows);

 private:
  std::int64_t count() const { return e_.group() * e_.queries; }
  std::int64_t head(std::int64_t row) const { return kv_ * e_.group() + row / e_.queries; }
  std::int64_t query(std::int64_t row) const { return row % e_.queries; }
  float* row_of(const tv_view& v, std::int64_t row) const {
    return head_rows(v, batch_, head(row)).row(query(row));
  }

  void add_block(const KeyRows& rows, std::int64_t block, Span seen);
  void hide(std::int64_t first_key, std::int64_t keys) const;
  void finish() const;

  const tv_attention& a_;
  Extents e_;
  std::int64_t batch_, kv_;
  float *queries_, *scores_, *sums_;  // [count, D], [count, kBlockKeys], [count, D]
  RunningSoftmax softmax_;
  bool is_first_ = true;
};

}  // namespace cpu
