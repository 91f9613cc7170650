// SPDX-License-Identifier: Apache-2.0
// Shared by all kernels: the opened device, parallel loops, scratch memory, errors, and simple
// queries on views.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <trivet/backend/backend_support.h>

struct tv_ctx {
  const tv_host* host;
};

namespace cpu {

using trivet::backends::data;
using trivet::backends::dtype_size;
using trivet::backends::element_count;

// Elements of one piece of an elementwise loop: 64 KiB of floats, a few microseconds of work.
inline constexpr std::int64_t kGrain = 16384;

// Runs f(begin, end, worker) over pieces of [0, n). A single piece runs on the calling thread.
template <typename F>
void parallel(tv_ctx* ctx, std::int64_t n, std::int64_t grain, const F& f) {
  if (n <= 0) return;
  if (n <= grain) {
    f(std::int64_t{0}, n, std::int32_t{0});
    return;
  }
  ctx->host->parallel_for(
      ctx->host, n, grain,
      [](void* arg, std::int64_t begin, std::int64_t end, std::int32_t worker) {
        (*static_cast<const F*>(arg))(begin, end, worker);
      },
      const_cast<F*>(&f));
}

// Rows of `width` elements per piece, so that a piece has about kGrain elements.
inline std::int64_t row_grain(std::int64_t width) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width));
}

template <typename T = float>
T* scratch(tv_ctx* ctx, std::int64_t count) {
  const auto bytes = static_cast<std::uint64_t>(count) * sizeof(T);
  return static_cast<T*>(ctx->host->scratch(ctx->host, std::max<std::uint64_t>(bytes, 64)));
}

inline tv_status fail(tv_ctx* ctx, const std::string& text) {
  return trivet::backends::fail(ctx->host, text);
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

inline bool is_f32(const tv_view& v) {
  return v.dtype == TV_F32;
}

}  // namespace cpu
