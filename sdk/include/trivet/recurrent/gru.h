// SPDX-License-Identifier: Apache-2.0
// Gated recurrent unit (Cho et al. 2014), in the form of cuDNN, Keras and PyTorch, with the reset
// gate after the product. With [r, z, n] = x w + b and [r_h, z_h, n_h] = h u:
//
//   n' = tanh(n + sigmoid(r + r_h) (n_h + c));  h' = n' + sigmoid(z + z_h) (h - n')
#pragma once

#include "trivet/recurrent/scan.h"

namespace trivet {

struct GruWeights {
  Tensor u;  // [n, 3 n]
  Tensor c;  // [n]
};

#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// One position: gates = x w + b [B, 3 n], h [B, n].
Tensor gru_cell(const Tensor& gates, const Tensor& h, const GruWeights& weights);

// All positions: gates = x w + b [B, T, 3 n]. `before` [B, n] is the state before all of them;
// undefined: zeros. Returns the states after each, [B, T, n]. Kernels as in lstm.h; otherwise
// gru_cell computes each position.
Tensor gru(Tensor gates, const GruWeights& weights, const Tensor& before = {},
           const ScanOptions& positions = {});

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
