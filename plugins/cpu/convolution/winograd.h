// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 x 3 taps with stride 1 by F(2 x 2, 3 x 3) of A. Lavin and S. Gray, "Fast
// Algorithms for Convolutional Neural Networks" (CVPR 2016): 16 products for 4 pixels instead of
// 36. A NaN or an infinity of the input makes all four pixels of a tile NaN that read it.
#pragma once

#include "cpu/convolution/direct.h"

namespace cpu {

// Whether the functions below are for this convolution and are faster. Depends on the filters
// alone, so that the bits of an image do not depend on others.
bool suits_winograd(const Window& w);

// y [batch, out_h, out_w, out_c] = conv(images, filter), and what follows.
tv_status winograd_convolve(tv_ctx* ctx, const Window& w, std::int64_t batch, const float* images,
                            const float* filter, const FilterTaps& taps, const ConvEpilogue& then,
                            float* y);

// dw = beta * dw + windows of images times dz, for the window of the forward convolution.
tv_status winograd_filter_grad(tv_ctx* ctx, const Window& w, std::int64_t batch,
                               const float* images, const float* dz, float beta, float* dw);

}  // namespace cpu
