// SPDX-License-Identifier: Apache-2.0
// XlnetSight: what the positions of a row know of each other in XLNet (Yang et al. 2019), the same
// in all blocks of a stack. With two streams, x holds the rows of the content stream and behind
// them those of the query stream:
//
//   content   position i sees j if j is in its segment of the context, is not later (with
//             `causal`), and the permutation lets i know the token at j, or j = i
//   query     the same without j = i, so that i does not see the token that it predicts
//
// Two positions are alike if their token types are equal; with use_cls_mask also if one of them has
// the type 2, that of the class token.
#pragma once

#include <cstdint>

#include "trivet/layer.h"
#include "trivet/layer/token_fields.h"

namespace trivet::nn {

struct XlnetSight {
  std::int64_t streams = 1;  // 2: content, then query
  Tensor seen;               // f32 [streams * B, 1, T, T], 1: query i sees key j; undefined: all
  Tensor unlike;             // the same shape, 1: i and j are not alike; undefined: not known
  Tensor sines;              // f32 [1, 2 T - 1, D], of the distances T - 1, T - 2, .., 1 - T
};

struct XlnetSightRules {
  bool causal = false;
  bool use_cls_mask = false;
  std::int64_t clamp_length = 0;  // 0: no limit
};

// For x [B, T, D] of one stream. There are two streams if the fields have a permutation.
XlnetSight xlnet_sight(const Tensor& x, const TokenFields& fields, const XlnetSightRules& rules,
                       const FpropContext& context);

// 1 where a permutation i32 [B, T] has a token to predict: f32 [B, T, 1].
Tensor predicted_positions(const Tensor& permutation);

}  // namespace trivet::nn
