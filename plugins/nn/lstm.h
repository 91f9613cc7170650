// SPDX-License-Identifier: Apache-2.0
// Lstm: long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000), x [B, T,
// input_dims] -> m [B, T, output_dims], as Praxis' LstmCellSimple. With [i, g, f, o] = [x, m] wm +
// b:
//
//   c' = clip(sigmoid(f + forget_gate_bias) c + sigmoid(g) tanh(i), cell_value_cap)
//   m' = sigmoid(o) tanh(c')
//
// i is the input, g its gate. Parameters "wm" [input_dims + output_dims, 4 * output_dims] and "b"
// [4 * output_dims], zeros. How places, paddings and segments are read: recurrent.h.
#pragma once

#include "recurrent.h"

namespace trivet::nn {

struct LstmConfig : RecurrentConfig {
  double forget_gate_bias = 0;
  double cell_value_cap = 10;
};
TRIVET_CONFIG(LstmConfig, trivet::nn::RecurrentConfig,
              (forget_gate_bias, "Added to the forget gate before its sigmoid."),
              (cell_value_cap, "Bounds the cell's absolute values; 0: no bound.", at_least(0)))

class Lstm final : public Recurrent {
 public:
  using Config = LstmConfig;
  Lstm(const Config& config, Scope& scope);

 private:
  Tensor project(const Tensor& x) const override;
  State next(const Tensor& projected, const State& state) const override;

  std::int64_t input_dims_;
  float forget_gate_bias_, cap_;
  Parameter &wm_, &b_;
};

}  // namespace trivet::nn
