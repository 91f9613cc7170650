// SPDX-License-Identifier: Apache-2.0
// Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000). With the gates [i, g,
// f, o], each of n columns, and the cell c:
//
//   c' = clip(sigmoid(f + forget_gate_bias) c + sigmoid(g) tanh(i), cell_value_cap)
//   h' = sigmoid(o) tanh(c')
//
// With `coupled_gates` (Greff et al. 2017) the gates are [i, g, o]:
//
//   c' = clip((1 - sigmoid(g)) c + sigmoid(g) tanh(i), cell_value_cap)
#pragma once

#include "trivet/recurrent/scan.h"

namespace trivet {

struct LstmOptions {
  bool coupled_gates = false;  // 3 gates, else 4
  float forget_gate_bias = 0;
  float cell_value_cap = 0;  // bounds |c'|; 0: no bound

  int gates() const { return coupled_gates ? 3 : 4; }
};

struct LstmState {
  Tensor h, c;  // [B, n]
};

struct LstmResult {
  Tensor h;       // after each position [B, T, n]
  Tensor last_c;  // after all positions [B, n]
};

#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// One position: gates [B, G n] before their activations, c [B, n].
LstmState lstm_cell(const Tensor& gates, const Tensor& c, const LstmOptions& options = {});

// All positions: `gates` [B, T, G n] is the part of the input, e.g. linear(x, w_x, b), to which
// each position adds h w, w [n, G n]. `before` is the state before all of them; undefined tensors
// are zeros. A backend may bring kernels (trivet/backend/kernels/recurrent.h), which take over the
// memory of `gates` if nobody else has it; otherwise lstm_cell computes each position.
LstmResult lstm(Tensor gates, const Tensor& w, const LstmState& before = {},
                const LstmOptions& options = {}, const ScanOptions& positions = {});

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
