// SPDX-License-Identifier: Apache-2.0

#include "cpu/convolution/winograd.h"

#include "cpu/convolution/winograd_transform.h"
#include "cpu/products/gemm_kernel.h"

namespace cpu {
namespace {

constexpr std::int64_t kLeastChannels = 32;         // measured: fewer do not repay the transforms
constexpr std::int64_t kBlockBytes = 256ll << 10;   // of the factors and sums of a block
constexpr std::int64_t kLeastTiles = 24;            // of a block: they share the reads of a filter
constexpr std::int64_t kMostPieces = 16;            // partial sums of the filter gradient
constexpr std::int64_t kPartialBytes = 64ll << 20;  // limit for all of them together

// Tiles of all images in blocks that one thread takes whole. Their size depends on the shapes
// alone.
class TileBlocks {
 public:
  TileBlocks(std::int64_t tiles, std::int64_t floats_of_tile) : tiles_(tiles) {
    const std::int64_t fit = kBlockBytes / 4 / floats_of_tile / kLeastTiles * kLeastTiles;
    const std::int64_t most = std::max(fit, kLeastTiles);
    size_ = ceil_div(tiles, ceil_div(tiles, most));
    count_ = ceil_div(tiles, size_);
  }
  std::int64_t size() const { return size_; }
  std::int64_t count() const { return count_; }
  TileRange at(std::int64_t block) const {
    return {block * size_, std::min(size_, tiles_ - block * size_)};
  }

 private:
  std::int64_t tiles_, size_ = 0, count_ = 0;
};

TileGrid input_grid(const Window& w) {
  const Framed& f = w.image;
  return {f.source_h,           f.source_w, f.channels, ceil_div(w.out_h, 2),
          ceil_div(w.out_w, 2), -f.top,     -f.left};
}
TileGrid output_grid(const Window& w) {
  return {w.out_h, w.out_w, w.out_c, ceil_div(w.out_h, 2), ceil_div(w.out_w, 2)};
}

// The factors of the filters: 16 packed matrices [in, out]. Null: no scratch.
const float* prepare_filter(tv_ctx* ctx, const Window& w, const float* filter, bool reversed) {
  const std::int64_t in = w.image.channels, out = w.out_c, size = in * out;
  const std::int64_t packed_size = in * whole_columns(out);
  float* const plain = scratch(ctx, kWinogradProducts * size);
  float* const packed = scratch(ctx, kWinogradProducts * packed_size);
  if (!plain || !packed) return nullptr;
  parallel(ctx, size, kGrain, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    transform_filter(size, begin, end, filter, reversed, plain);
  });
  const std::int64_t grain = ceil_div(kGrain, size);
  parallel(ctx, kWinogradProducts, grain, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t i = begin; i < end; ++i) {
      pack_right(reversed ? Transpose::yes : Transpose::no, in, out, plain + i * size,
                 reversed ? in : out, packed + i * packed_size);
    }
  });
  return packed;
}

float* zeros(tv_ctx* ctx, std::int64_t count) {
  float* const to = scratch(ctx, count);
  if (to) std::fill_n(to, count, 0.0f);
  return to;
}

}  // namespace

bool suits_winograd(const Window& w) {
  return w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 1 && w.stride_w == 1 &&
         w.dilation_h == 1 && w.dilation_w == 1 && w.image.channels >= kLeastChannels &&
         w.out_c >= kLeastChannels;
}

tv_status winograd_convolve(tv_ctx* ctx, const Window& w, std::int64_t batch, const float* images,
                            const float* filter, const FilterTaps& taps, const ConvEpilogue& then,
                            float* y) {
  const TileGrid from = input_grid(w), to = output_grid(w);
  const std::int64_t in = from.channels, out = to.channels;
  const TileBlocks blocks(batch * from.rows * from.columns, kWinogradProducts * (in + out));
  const std::int64_t factors = TileMatrices::size(blocks.size(), in);
  const std::int64_t of_worker = factors + TileMatrices::size(blocks.size(), out);
  const float* const outside = zeros(ctx, in);
  const float* const packed = prepare_filter(ctx, w, filter, taps.reversed);
  float* const memory = scratch(ctx, of_worker * ctx->host->max_workers);
  if (!outside || !packed || !memory) return TV_OUT_OF_MEMORY;
  parallel(ctx, blocks.count(), 1, [&](std::int64_t begin, std::int64_t end, std::int32_t worker) {
    float* const at = memory + worker * of_worker;
    const TileMatrices left(at, blocks.size(), in), sums(at + factors, blocks.size(), out);
    for (std::int64_t block = begin; block < end; ++block) {
      const TileRange tiles = blocks.at(block);
      transform_input(from, tiles, images, outside, left);
      for (std::int64_t i = 0; i < kWinogradProducts; ++i) {
        BlockProduct p;
        p.m = tiles.count, p.n = out, p.k = in;
        p.left = {left.at(i), in, Layout::rows};
        p.right = {packed + i * in * whole_columns(out), in, Layout::packed};
        p.c = sums.at(i), p.ldc = out;
        multiply_block(p);
      }
      transform_output(to, tiles, sums, then.bias, then.relu, y);
    }
  });
  return TV_OK;
}

tv_status winograd_filter_grad(tv_ctx* ctx, const Window& w, std::int64_t batch,
                               const float* images, const float* dz, float beta, float* dw) {
  const TileGrid left_grid = input_grid(w), right_grid = output_grid(w);
  const std::int64_t in = w.image.channels, out = w.out_c, columns = whole_columns(out);
  const TileBlocks blocks(batch * left_grid.rows * left_grid.columns,
                          kWinogradProducts * (in + columns));
  const std::int64_t filter = 9 * in * out;
  const std::int64_t fits = std::clamp<std::int64_t>(kPartialBytes / 4 / filter, 1, kMostPieces);
  const std::int64_t piece = ceil_div(blocks.count(), fits);
  const std::int64_t pieces = ceil_div(blocks.count(), piece);
  const std::int64_t left_size = TileMatrices::size(blocks.size(), in);
  const std::int64_t right_size = TileMatrices::size(blocks.size(), columns);
  const std::int64_t of_worker = left_size + right_size + kWinogradProducts * in * columns;
  const float* const outside = zeros(ctx, std::max(in, out));
  float* const memory = scratch(ctx, of_worker * ctx->host->max_workers);
  float* const parts = scratch(ctx, pieces * filter);
  if (!outside || !memory || !parts) return TV_OUT_OF_MEMORY;
  parallel(ctx, pieces, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t worker) {
    float* const own = memory + worker * of_worker;
    const TileMatrices left(own, blocks.size(), in);
    const TileMatrices right(own + left_size, blocks.size(), columns);
    float* const sums = own + left_size + right_size;
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t first = at * piece, last = std::min(blocks.count(), first + piece);
      for (std::int64_t block = first; block < last; ++block) {
        const TileRange tiles = blocks.at(block);
        transform_input(left_grid, tiles, images, outside, left);
        transform_output_grad(right_grid, tiles, dz, outside, right);
        for (std::int64_t i = 0; i < kWinogradProducts; ++i) {
          BlockProduct p;
          p.m = in, p.n = columns, p.k = tiles.count;
          p.left = {left.at(i), in, Layout::columns};
          p.right = {right.at(i), columns, Layout::rows};
          p.c = sums + i * in * columns, p.ldc = columns;
          p.beta = block == first ? 0.0f : 1.0f;
          multiply_block(p);
        }
      }
      transform_filter_grad(in, out, columns, sums, parts + at * filter);
    }
  });
  parallel(ctx, filter, kGrain, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    sum_rows(pieces, filter, begin, end, parts, beta, dw);
  });
  return TV_OK;
}

}  // namespace cpu
