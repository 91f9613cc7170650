// SPDX-License-Identifier: Apache-2.0
// conv2d_fwd and conv2d_bwd: each thread processes whole images, so that an image stays in its
// cache.

#include <cstring>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/image.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

constexpr double kPieceFlops = 1e6;
constexpr std::int64_t kMostPieces = 16;            // partial sums of the filter gradient
constexpr std::int64_t kPartialBytes = 64ll << 20;  // limit for all of them together

const float* floats(const void* p) {
  return static_cast<const float*>(p);
}
float* floats(void* p) {
  return static_cast<float*>(p);
}

bool empty(const tv_conv2d_shape& s) {
  return s.batch == 0 || s.out_h == 0 || s.out_w == 0 || s.out_c == 0;
}

// A framed image per worker; null size: the source is read in place.
const float* framed_or_source(const Framed& f, const float* source, float* buffer) {
  if (f.is_source()) return source;
  frame_image(f, source, buffer);
  return buffer;
}

std::int64_t rounded(std::int64_t floats_count) {
  return ceil_div(floats_count, 16) * 16;
}

struct Backward {
  const tv_conv2d_grad& d;
  Window forward, backward;  // backward: for the input gradient
  std::int64_t piece, pieces;
  std::int64_t in_image, out_image, frame, panel, per_worker;
  float *flipped, *worker_memory, *dw_parts, *db_parts;

  float* dz(std::int64_t image) const {
    const bool plain = d.activation == TV_ACT_NONE;
    return (plain ? const_cast<float*>(floats(d.dy)) : floats(d.dz)) + image * out_image;
  }
};

void backward_image(const Backward& b, std::int64_t image, std::int64_t piece, float* memory) {
  const tv_conv2d_grad& d = b.d;
  const std::int64_t at = image * b.out_image;
  float* dz = b.dz(image);
  float* sums = d.db ? b.db_parts + piece * rounded(d.shape.out_c) : nullptr;
  if (sums || d.activation != TV_ACT_NONE) {
    const float* saved = d.saved ? floats(d.saved) + at : nullptr;
    activation_grad_rows(d.activation, b.forward.pixels(), d.shape.out_c, d.shape.out_c, saved,
                         floats(d.dy) + at, dz, sums);
  }
  if (d.dw) {
    const float* source = floats(d.x) + image * b.in_image;
    const float* framed = framed_or_source(b.forward.image, source, memory);
    filter_grad(b.forward, framed, dz, memory + b.frame,
                b.dw_parts + piece * packed_filter_size(b.forward));
  }
  if (d.dx) {
    const float* framed = framed_or_source(b.backward.image, dz, memory);
    convolve(b.backward, framed, b.flipped, {}, floats(d.dx) + image * b.in_image);
  }
}

void clear_sums(const tv_conv2d_grad& d) {
  const tv_conv2d_shape& s = d.shape;
  const std::int64_t filter = s.kernel_h * s.kernel_w * s.in_c * s.out_c;
  if (d.dw && d.beta_dw == 0) std::fill_n(floats(d.dw), filter, 0.0f);
  if (d.db && d.beta_db == 0) std::fill_n(floats(d.db), s.out_c, 0.0f);
  if (d.dx) std::fill_n(floats(d.dx), s.batch * s.in_h * s.in_w * s.in_c, 0.0f);
}

bool take_memory(tv_ctx* ctx, Backward& b) {
  const tv_conv2d_grad& d = b.d;
  b.frame = rounded(std::max(b.forward.image.size(), d.dx ? b.backward.image.size() : 0));
  b.per_worker = b.frame + rounded(filter_grad_panel_size(b.forward));
  b.worker_memory = scratch(ctx, b.per_worker * ctx->host->max_workers);
  b.dw_parts = scratch(ctx, d.dw ? b.pieces * packed_filter_size(b.forward) : 0);
  b.db_parts = scratch(ctx, d.db ? b.pieces * rounded(d.shape.out_c) : 0);
  b.flipped = scratch(ctx, d.dx ? packed_filter_size(b.backward) : 0);
  return b.worker_memory && b.dw_parts && b.db_parts && b.flipped;
}

void finish_sums(const Backward& b) {
  const tv_conv2d_grad& d = b.d;
  if (d.dw) unpack_filter_grad(b.forward, b.pieces, b.dw_parts, d.beta_dw, floats(d.dw));
  if (!d.db) return;
  for (std::int64_t c = 0; c < d.shape.out_c; ++c) {
    float total = 0;
    for (std::int64_t p = 0; p < b.pieces; ++p) total += b.db_parts[p * rounded(d.shape.out_c) + c];
    float& to = floats(d.db)[c];
    to = d.beta_db == 0 ? total : to + total;
  }
}

}  // namespace

tv_status conv2d_fwd(tv_ctx* ctx, const tv_conv2d* d) {
  if (d->dtype != TV_F32 || !is_plain(d->activation)) return TV_UNSUPPORTED;
  const tv_conv2d_shape& s = d->shape;
  if (empty(s)) return TV_OK;
  const Window w = forward_window(s);
  const std::int64_t frame = rounded(w.image.size()), channels = padded_channels(s.out_c);
  float* packed = scratch(ctx, packed_filter_size(w) + channels);
  float* frames = scratch(ctx, w.image.is_source() ? 0 : frame * ctx->host->max_workers);
  if (!packed || !frames) return TV_OUT_OF_MEMORY;
  pack_filter(w, floats(d->w), FilterTaps::in_order, packed);
  // Bias and relu are part of the kernel; other activations follow, image by image.
  const bool in_kernel = !d->pre && (d->activation == TV_ACT_RELU || d->activation == TV_ACT_NONE);
  float* bias = d->b && in_kernel ? packed + packed_filter_size(w) : nullptr;
  if (bias) {
    std::fill_n(bias, channels, 0.0f);
    std::copy_n(floats(d->b), s.out_c, bias);
  }
  const std::int64_t in_image = s.in_h * s.in_w * s.in_c, out_image = w.pixels() * s.out_c;
  const auto grain = static_cast<std::int64_t>(kPieceFlops / (w.flops() + 1)) + 1;
  parallel(ctx, s.batch, grain, [&](std::int64_t begin, std::int64_t end, std::int32_t worker) {
    for (std::int64_t image = begin; image < end; ++image) {
      const float* source = floats(d->x) + image * in_image;
      const float* framed = framed_or_source(w.image, source, frames + worker * frame);
      float* y = floats(d->y) + image * out_image;
      convolve(w, framed, packed, {bias, in_kernel && d->activation == TV_ACT_RELU}, y);
      if (in_kernel) continue;
      float* pre = d->pre ? floats(d->pre) + image * out_image : nullptr;
      apply_epilogue({floats(d->b), pre, d->activation}, w.pixels(), s.out_c, y, s.out_c);
    }
  });
  return TV_OK;
}

tv_status conv2d_bwd(tv_ctx* ctx, const tv_conv2d_grad* d) {
  if (d->dtype != TV_F32 || !is_plain(d->activation)) return TV_UNSUPPORTED;
  const tv_conv2d_shape& s = d->shape;
  if (empty(s)) {
    clear_sums(*d);
    return TV_OK;
  }
  Backward b{*d, forward_window(s), input_grad_window(s), 0, 0, 0, 0, 0, 0, 0, {}, {}, {}, {}};
  const std::int64_t fits =
      kPartialBytes / 4 / std::max<std::int64_t>(1, packed_filter_size(b.forward));
  b.piece = ceil_div(s.batch, std::clamp<std::int64_t>(fits, 1, kMostPieces));
  b.pieces = ceil_div(s.batch, b.piece);
  b.in_image = s.in_h * s.in_w * s.in_c;
  b.out_image = b.forward.pixels() * s.out_c;
  if (!take_memory(ctx, b)) return TV_OUT_OF_MEMORY;
  if (d->dx) pack_filter(b.backward, floats(d->w), FilterTaps::flipped, b.flipped);
  parallel(ctx, b.pieces, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t worker) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t size = packed_filter_size(b.forward);
      if (d->dw) std::fill_n(b.dw_parts + piece * size, size, 0.0f);
      if (d->db) std::fill_n(b.db_parts + piece * rounded(s.out_c), s.out_c, 0.0f);
      const std::int64_t last = std::min(s.batch, (piece + 1) * b.piece);
      for (std::int64_t image = piece * b.piece; image < last; ++image) {
        backward_image(b, image, piece, b.worker_memory + worker * b.per_worker);
      }
    }
  });
  finish_sums(b);
  return TV_OK;
}

}  // namespace cpu
