// SPDX-License-Identifier: Apache-2.0
// The transforms of winograd.h: between pixels and the 16 factors of their products.
#pragma once

#include "cpu/convolution/tile_matrices.h"

namespace cpu {

// Tiles of 2 x 2 pixels of images [batch, height, width, channels], row by row and image by image.
// Tile (y, x) of an image starts at pixel (2 y + first_y, 2 x + first_x). Pixels outside are 0.
struct TileGrid {
  std::int64_t height, width, channels;
  std::int64_t rows, columns;
  std::int64_t first_y = 0, first_x = 0;
};

// Tiles first .. first + count - 1.
struct TileRange {
  std::int64_t first, count;
};

// `zeros` has as many floats as the images have channels. Elements of a row beyond the channels
// become 0.
void transform_input(const TileGrid& grid, const TileRange& tiles, const float* images,
                     const float* zeros, const TileMatrices& to);
void transform_output_grad(const TileGrid& grid, const TileRange& tiles, const float* dz,
                           const float* zeros, const TileMatrices& to);

// The pixels of tiles that lie inside images: + bias (null: none), then max(., 0) if `relu`.
void transform_output(const TileGrid& grid, const TileRange& tiles, const TileMatrices& from,
                      const float* bias, bool relu, float* images);

// Filters [3, 3, count] to [16, count], of which the elements from `begin` to `end`. `reversed`:
// the last tap first.
void transform_filter(std::int64_t count, std::int64_t begin, std::int64_t end, const float* filter,
                      bool reversed, float* to);

// Their gradient [16, in, step] to [3, 3, in, out].
void transform_filter_grad(std::int64_t in, std::int64_t out, std::int64_t step, const float* from,
                           float* to);

// to = beta * to + the sum of `count` rows of n floats, of which those from `begin` to `end`. beta
// is 0 or 1.
void sum_rows(std::int64_t count, std::int64_t n, std::int64_t begin, std::int64_t end,
              const float* rows, float beta, float* to);

}  // namespace cpu
