// SPDX-License-Identifier: Apache-2.0
// Matrix products by OpenBLAS, cut into tiles whose borders depend only on the sizes.
#pragma once

#include <array>

#include "cpu/kernels/activation.h"
#include "cpu/support/context.h"

namespace cpu {

// How a factor lies in memory.
enum class Transpose : bool { no, yes };

// C = alpha * op(A) * op(B) + beta * C, row-major, then bias and activation on each finished tile.
struct Gemm {
  Transpose trans_a = Transpose::no, trans_b = Transpose::no;
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
  float alpha = 1, beta = 0;
  Epilogue epilogue;  // applied unless empty; its rows have stride ldc
};

// Whether OpenBLAS supports these sizes (its integers have 32 bits).
bool fits_blas(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t ldb,
               std::int64_t ldc);

// One product on the calling thread.
void multiply(const Gemm& g);

// Up to four independent products that share the threads.
class GemmGroup {
 public:
  void add(const Gemm& g);
  void run(tv_ctx* ctx) const;

 private:
  struct Entry {
    Gemm gemm;
    std::int64_t tile_m, tile_n, tiles_n, first_task;
  };
  std::array<Entry, 4> entries_ = {};
  std::size_t count_ = 0;
  std::int64_t tasks_ = 0;
};

}  // namespace cpu
