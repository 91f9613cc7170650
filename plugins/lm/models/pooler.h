// SPDX-License-Identifier: Apache-2.0
// Pooler: the vector of a text from the positions of its encoder (Devlin et al. 2018, section 4):
// the first position h_0 [CLS], or tanh(h_0 w + b) with a dense layer of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "lm/models/encoder.h"

namespace trivet::lm {

// h f32 [B, T, D] -> h_i [B, D].
Tensor position_of(const Tensor& h, std::int64_t i);

class Pooler {
 public:
  // With `is_dense` makes the child "pooler" of `scope`.
  Pooler(const EncoderConfig& config, const InitConfig& init, bool is_dense, Scope& scope);

  // h f32 [B, T, D] -> [B, D].
  Tensor fprop(const Tensor& h, FpropContext& context) const;

 private:
  std::shared_ptr<Layer> dense_;  // may be null
};

}  // namespace trivet::lm
