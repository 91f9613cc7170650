// SPDX-License-Identifier: Apache-2.0
// Matrix products of any size. The bits of an element depend on its row, its column and the depth
// alone, not on the number of threads, other rows or columns, or how the work is cut.
#pragma once

#include <array>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/gemm_kernel.h"
#include "cpu/support/context.h"

namespace cpu {

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

double flops(const Gemm& g);

// Floats of memory that multiply(g, memory) needs.
std::int64_t gemm_memory(const Gemm& g);

// One product on the calling thread.
void multiply(const Gemm& g, float* memory);

// Up to four independent products that share the threads.
class GemmGroup {
 public:
  void add(const Gemm& g);
  // Floats of memory that run needs.
  std::int64_t memory(const tv_ctx* ctx) const;
  void run(tv_ctx* ctx, float* memory) const;
  // The same with scratch of this call. Returns TV_OUT_OF_MEMORY if there is none.
  [[nodiscard]] tv_status run(tv_ctx* ctx) const;

 private:
  bool is_small() const;

  static constexpr std::size_t kMost = 4;
  std::array<Gemm, kMost> products_ = {};
  std::size_t count_ = 0;
};

}  // namespace cpu
