// SPDX-License-Identifier: Apache-2.0
// Matrix products of any size. The bits of an element depend on its row, its column and the depth
// alone, not on the number of threads, other rows or columns, or how the work is cut.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cpu/kernels/activation.h"
#include "cpu/products/gemm_kernel.h"
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

// Equal blocks of the depth, rounded up to the steps by which the inner loop is unrolled. Each
// element is the sum of the sums of its blocks, in order, so all products that shall have the same
// bits have the same blocks.
class DepthBlocks {
 public:
  explicit DepthBlocks(std::int64_t depth) : depth_(depth) {
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(depth, kLargest));
    size_ = std::max<std::int64_t>(1, ceil_div(ceil_div(depth, blocks), 8) * 8);
  }
  std::int64_t size() const { return size_; }  // of each block but the last one
  std::int64_t largest() const { return std::min(size_, depth_); }

  // Calls f(begin, size); once with size 0 if there is no depth.
  template <typename F>
  void each(const F& f) const {
    std::int64_t begin = 0;
    do {
      f(begin, std::min(size_, depth_ - begin));
      begin += size_;
    } while (begin < depth_);
  }

 private:
  static constexpr std::int64_t kLargest = 384;
  std::int64_t depth_, size_;
};

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
