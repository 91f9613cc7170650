// SPDX-License-Identifier: Apache-2.0
// Fields of a batch of tokens that some stacks of an encoder read beside their input: an extension
// of the layer.
//
// A permutation is an order in which tokens are predicted (Yang et al. 2019, "XLNet"). Position i
// knows the token at j if permutation[j] is negative or less than permutation[i]:
//
//   >= 0   the token is predicted, as the one of this number in the order
//   -1     it is predicted, but all positions know it, its own too
//   -2     it is not predicted
#pragma once

#include <string_view>

#include "trivet/layer.h"
#include "trivet/tensor.h"

namespace trivet {

// Id for Layer::extension; what it returns points to a TokenFieldsReader.
inline constexpr std::string_view kLayerTokenFields = "trivet.layer.token_fields/1";

// i32 [B, T] each, or undefined.
struct TokenFields {
  Tensor token_types, permutation;
};

class TokenFieldsReader {
 public:
  // As Layer::fprop, with fields. Throws Error for a permutation where the layer, as it is
  // configured, would let a position see its own token, and where it needs one and has none.
  // [run-thread]
  virtual Tensor fprop(const Tensor& x, const TokenFields& fields, FpropContext& context) = 0;

 protected:
  TokenFieldsReader() = default;
  ~TokenFieldsReader() = default;
};

}  // namespace trivet
