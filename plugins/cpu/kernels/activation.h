// SPDX-License-Identifier: Apache-2.0
// Activations on rows: as an epilogue of a product, and their gradient with column sums.
#pragma once

#include "cpu/support/context.h"

namespace cpu {

// What to do with a finished tile of a product: add bias, store in `pre` if set, activate.
struct Epilogue {
  const float* bias = nullptr;
  float* pre = nullptr;  // with the row stride of the tile
  int activation = TV_ACT_NONE;

  bool empty() const { return !bias && !pre && activation == TV_ACT_NONE; }
  // The epilogue of the tile that starts `offset` elements into the output, at column `column`.
  Epilogue at(std::int64_t offset, std::int64_t column) const {
    return {bias ? bias + column : nullptr, pre ? pre + offset : nullptr, activation};
  }
};

// In place on rows [rows, n], `ld` elements apart.
void apply_epilogue(const Epilogue& e, std::int64_t rows, std::int64_t n, float* c,
                    std::int64_t ld);

inline bool is_gated(int activation) {
  return activation >= TV_ACT_GEGLU;
}
inline bool is_plain(int activation) {
  return activation <= TV_ACT_SILU;
}

// dz = dy * act'(saved) and db = beta * db + column sums of dz, in one pass. [rows, n]; db may be
// null; dz may be dy. False when scratch is exhausted.
bool activation_grad(tv_ctx* ctx, int activation, std::int64_t rows, std::int64_t n,
                     const float* saved, const float* dy, float* dz, float* db, float beta_db);

// One row piece of the above: dz = dy * act'(saved), and sums[j] += dz[., j] unless null.
void activation_grad_rows(int activation, std::int64_t rows, std::int64_t n, std::int64_t ld,
                          const float* saved, const float* dy, float* dz, float* sums);

}  // namespace cpu
