// SPDX-License-Identifier: Apache-2.0
// conv2d_fwd and conv2d_bwd. Where Winograd's products do not suit, each thread processes whole
// images, so that an image stays in its cache.

#include <cstring>

#include "cpu/convolution/winograd.h"
#include "cpu/kernels/activation.h"
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
  Window forward;
  InputGradParts input_parts;
  std::int64_t piece = 0, pieces = 0;
  std::int64_t in_image = 0, out_image = 0, frame = 0, panel = 0, per_worker = 0;
  float *flipped = nullptr, *worker_memory = nullptr, *dw_parts = nullptr, *db_parts = nullptr;

  explicit Backward(const tv_conv2d_grad& grad)
      : d(grad), forward(forward_window(grad.shape)), input_parts(grad.shape) {
    const tv_conv2d_shape& s = d.shape;
    const std::int64_t filter = std::max<std::int64_t>(1, packed_filter_size(forward));
    const std::int64_t fits = kPartialBytes / 4 / filter;
    piece = ceil_div(s.batch, std::clamp<std::int64_t>(fits, 1, kMostPieces));
    pieces = ceil_div(s.batch, piece);
    in_image = s.in_h * s.in_w * s.in_c, out_image = forward.pixels() * s.out_c;
  }

  float* dz(std::int64_t image) const {
    const bool plain = d.activation == TV_ACT_NONE;
    return (plain ? const_cast<float*>(floats(d.dy)) : floats(d.dz)) + image * out_image;
  }
  bool is_strided() const { return d.shape.stride_h > 1 || d.shape.stride_w > 1; }
};

// The pixels of a part to their positions in dx.
void spread(const InputGradPart& part, const tv_conv2d_shape& s, const float* from, float* dx) {
  for (std::int64_t y = 0; y < part.y.pixels; ++y) {
    float* const row = dx + (part.y.first_pixel + y * s.stride_h) * s.in_w * s.in_c;
    for (std::int64_t x = 0; x < part.x.pixels; ++x, from += s.in_c) {
      std::copy_n(from, s.in_c, row + (part.x.first_pixel + x * s.stride_w) * s.in_c);
    }
  }
}

void input_gradient(const Backward& b, const float* dz, float* memory, float* dx) {
  if (!b.input_parts.cover_input()) std::fill_n(dx, b.in_image, 0.0f);
  const float* packed = b.flipped;
  float* const pixels = b.is_strided() ? memory + b.frame + b.panel : dx;
  b.input_parts.each([&](const InputGradPart& part) {
    const Window& w = part.window;
    convolve(w, framed_or_source(w.image, dz, memory), packed, {}, pixels);
    if (b.is_strided()) spread(part, b.d.shape, pixels, dx);
    packed += packed_filter_size(w);
  });
}

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
  if (d.dx) input_gradient(b, dz, memory, floats(d.dx) + image * b.in_image);
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
  std::int64_t frame = b.forward.image.size(), pixels = 0, flipped = 0;
  if (d.dx) {
    b.input_parts.each([&](const InputGradPart& part) {
      frame = std::max(frame, part.window.image.size());
      pixels = std::max(pixels, part.window.pixels() * part.window.out_c);
      flipped += packed_filter_size(part.window);
    });
  }
  b.frame = rounded(frame), b.panel = rounded(filter_grad_panel_size(b.forward));
  b.per_worker = b.frame + b.panel + (b.is_strided() ? rounded(pixels) : 0);
  b.worker_memory = scratch(ctx, b.per_worker * ctx->host->max_workers);
  b.dw_parts = scratch(ctx, d.dw ? b.pieces * packed_filter_size(b.forward) : 0);
  b.db_parts = scratch(ctx, d.db ? b.pieces * rounded(d.shape.out_c) : 0);
  b.flipped = scratch(ctx, flipped);
  return b.worker_memory && b.dw_parts && b.db_parts && b.flipped;
}

void pack_input_filters(const Backward& b) {
  float* to = b.flipped;
  b.input_parts.each([&](const InputGradPart& part) {
    pack_filter(part.window, floats(b.d.w), taps_of(part, b.d.shape.kernel_w), to);
    to += packed_filter_size(part.window);
  });
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

tv_status winograd_fwd(tv_ctx* ctx, const tv_conv2d& d, const Window& w, bool in_kernel) {
  const ConvEpilogue then = {in_kernel ? floats(d.b) : nullptr,
                             in_kernel && d.activation == TV_ACT_RELU};
  const std::int64_t batch = d.shape.batch, rows = batch * w.pixels();
  const tv_status status =
      winograd_convolve(ctx, w, batch, floats(d.x), floats(d.w), {w.kernel_w}, then, floats(d.y));
  if (status != TV_OK || in_kernel) return status;
  const Epilogue epilogue = {floats(d.b), floats(d.pre), d.activation};
  parallel(ctx, rows, row_grain(w.out_c), [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    const std::int64_t at = begin * w.out_c;
    apply_epilogue(epilogue.at(at, 0), end - begin, w.out_c, floats(d.y) + at, w.out_c);
  });
  return TV_OK;
}

tv_status winograd_bwd(tv_ctx* ctx, const tv_conv2d_grad& d, const Window& w) {
  const tv_conv2d_shape& s = d.shape;
  const bool plain = d.activation == TV_ACT_NONE;
  const float* const dz = plain ? floats(d.dy) : floats(d.dz);
  if ((d.db || !plain) &&
      !activation_grad(ctx, d.activation, s.batch * w.pixels(), s.out_c, floats(d.saved),
                       floats(d.dy), const_cast<float*>(dz), floats(d.db), d.beta_db)) {
    return TV_OUT_OF_MEMORY;
  }
  if (d.dw) {
    const tv_status status =
        winograd_filter_grad(ctx, w, s.batch, floats(d.x), dz, d.beta_dw, floats(d.dw));
    if (status != TV_OK) return status;
  }
  tv_status status = TV_OK;
  if (d.dx) {
    InputGradParts(s).each([&](const InputGradPart& part) {
      status = winograd_convolve(ctx, part.window, s.batch, dz, floats(d.w),
                                 taps_of(part, s.kernel_w), {}, floats(d.dx));
    });
  }
  return status;
}

}  // namespace

tv_status conv2d_fwd(tv_ctx* ctx, const tv_conv2d* d) {
  if (d->dtype != TV_F32 || !is_plain(d->activation)) return TV_UNSUPPORTED;
  const tv_conv2d_shape& s = d->shape;
  if (empty(s)) return TV_OK;
  const Window w = forward_window(s);
  // Bias and relu are part of the kernel; other activations follow.
  const bool in_kernel = !d->pre && (d->activation == TV_ACT_RELU || d->activation == TV_ACT_NONE);
  if (suits_winograd(w)) return winograd_fwd(ctx, *d, w, in_kernel);
  const std::int64_t frame = rounded(w.image.size()), channels = padded_channels(s.out_c);
  float* packed = scratch(ctx, packed_filter_size(w) + channels);
  float* frames = scratch(ctx, w.image.is_source() ? 0 : frame * ctx->host->max_workers);
  if (!packed || !frames) return TV_OUT_OF_MEMORY;
  pack_filter(w, floats(d->w), {w.kernel_w}, packed);
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
  Backward b(*d);
  if (suits_winograd(b.forward)) return winograd_bwd(ctx, *d, b.forward);
  if (!take_memory(ctx, b)) return TV_OUT_OF_MEMORY;
  if (d->dx) pack_input_filters(b);
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
