// SPDX-License-Identifier: Apache-2.0
// Ops on volumes [B, D, H, W, C]: three-dimensional convolution and pooling, composed of those on
// images (trivet/ops/ops_vision.h), whose rules they follow on three axes.
#pragma once

#include <array>
#include <cstdint>

#include "trivet/ops/ops_vision.h"

namespace trivet {

// As WindowOptions, with depth in front of height and width.
struct VolumeOptions {
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> dilation{1, 1, 1};
  Padding padding = Padding::same;
  std::array<std::int64_t, 3> pad{0, 0, 0};  // for explicit_: on both sides
  std::int64_t groups = 1;                   // convolution only
};

#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// y = act(conv(x, w) + b): x [B, D, H, W, Cin], w [KD, KH, KW, Cin / groups, Cout], b [Cout] or
// undefined -> [B, OD, OH, OW, Cout].
Tensor conv3d(const Tensor& x, const Tensor& w, const Tensor& b = {},
              const VolumeOptions& options = {}, Activation act = Activation::none);

// Padding never takes part: the mean divides by the number of elements inside the volume. A window
// without any is an Error.
Tensor max_pool3d(const Tensor& x, std::array<std::int64_t, 3> window,
                  const VolumeOptions& options);
Tensor avg_pool3d(const Tensor& x, std::array<std::int64_t, 3> window,
                  const VolumeOptions& options);

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
