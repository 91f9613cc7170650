// SPDX-License-Identifier: Apache-2.0
// Attention and rotary positions out of elementwise ops and products. They run on the current tape
// as any ops do, which is where their gradients come from.
#pragma once

#include "trivet/ops.h"

namespace trivet::compose {

// options.scale is set; FLOPs are counted by the caller.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const ops::AttentionOptions& options);

// The pairs (x[i], x[i + rotary / 2]) turned by sign * position * theta^(-2 i / rotary).
Tensor rope(const Tensor& x, const Tensor& positions, float theta, std::int64_t rotary, float sign);

}  // namespace trivet::compose
