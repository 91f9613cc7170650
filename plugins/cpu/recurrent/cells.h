// SPDX-License-Identifier: Apache-2.0
// One position of recurrent layers, element by element (trivet/backend/kernels/recurrent.h). On the
// calling thread, for some rows and some neighboring units.
#pragma once

#include <cstdint>

namespace cpu {

// Rows of floats, `step` apart; without data they are zeros.
struct Rows {
  float* data = nullptr;
  std::int64_t step = 0;

  float* row(std::int64_t i) const { return data == nullptr ? nullptr : data + i * step; }
  // From another row and column on.
  Rows from(std::int64_t row, std::int64_t column) const {
    return {data == nullptr ? nullptr : data + row * step + column, step};
  }
};

// The same for each gate, `gate_step` apart.
struct GateRows {
  Rows rows;
  std::int64_t gate_step = 0;
};

// What the forward and the gradient of a position share.
struct CellStep {
  std::int64_t count = 0;  // of the rows
  std::int64_t units = 0;
  Rows starts, paddings;  // [count, 1], of this position
  GateRows product;       // of the state that the last step left and the weights
  GateRows gates;         // in and out
  GateRows left;          // written: what the next step multiplies with the weights
  Rows next_starts;       // [count, 1], of the position of the next step
};

struct LstmCell {
  bool coupled = false;
  float forget_bias = 0, cap = 0;
};

struct LstmStep : CellStep {
  LstmCell cell;
  Rows h_before, c_before;  // after the position before this one
  Rows h, c;                // written
};
void lstm_step(const LstmStep& s);

struct LstmGradStep : CellStep {
  LstmCell cell;
  Rows c_before;
  Rows dh;        // of the output of this position
  Rows later_dh;  // in: what later positions add, through padding, to the gradient of h; out: the
                  // same for the position before this one. Without data there is no padding.
  Rows dc;        // in: of c after this position; out: after the position before it
  Rows later_starts;  // [count, 1], of the position whose gates were multiplied
};
void lstm_grad_step(const LstmGradStep& s);

struct GruStep : CellStep {
  const float* bias = nullptr;
  Rows h_before;
  Rows candidate;  // written: n_h + bias
  Rows h;          // written
};
void gru_step(const GruStep& s);

struct GruGradStep : CellStep {
  Rows h_before;
  Rows candidate;                   // in; out: its gradient
  Rows dh, later_dh, later_starts;  // as in LstmGradStep; later_dh has data
};
void gru_grad_step(const GruGradStep& s);

// dh0 = the gradient of the state before the first position.
struct StartGrad {
  std::int64_t count = 0, units = 0;
  Rows product, later_dh, later_starts;
  Rows dh0;
};
void start_grad(const StartGrad& s);

// to = (1 - start) from.
void copy_state(std::int64_t units, const float* from, float start, float* to);

}  // namespace cpu
