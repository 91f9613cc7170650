// SPDX-License-Identifier: Apache-2.0
// Lstm: long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000), x [B, T,
// input_dims] -> m [B, T, output_dims], as Praxis' LstmCellSimple. With [i, g, f, o] = [x, m] wm +
// b:
//
//   c' = clip(sigmoid(f + forget_gate_bias) c + sigmoid(g) tanh(i), cell_value_cap)
//   m' = sigmoid(o) tanh(c')
//
// i is the input, g its gate. With `coupled_gates` (CIFG; Greff et al. 2017) the forget gate is 1
// minus the input gate, so there are three gates, [i, g, o]:
//
//   c' = clip((1 - sigmoid(g)) c + sigmoid(g) tanh(i), cell_value_cap)
//
// (Praxis' CifgLstmCellSimple has f = -g instead of g.) With `layer_norm` each of the G gates
// is normalized over its output_dims before the bias, as by Praxis' LayerNormalizedLstmCellSimple
// (Ba et al. 2016 normalize the parts of x and of m, and c', which this does not):
//
//   n = [x, m] wm;  gate = (n - mean(n)) / sqrt(variance(n) + 1e-8) * ln_scale + b
//
// Parameters "wm" [input_dims + output_dims, G * output_dims], "b" [G * output_dims], zeros, and
// with layer_norm "ln_scale" [G * output_dims], ones; G is 4, or 3. recurrent.h explains positions,
// paddings, segments and `zoneout`.
#pragma once

#include "nn/recurrent/recurrent.h"
#include "trivet/recurrent/lstm.h"

namespace trivet::nn {

struct LstmConfig : RecurrentConfig {
  double forget_gate_bias = 0;
  double cell_value_cap = 10;
  bool coupled_gates = false;
  bool layer_norm = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(LstmConfig, trivet::nn::RecurrentConfig,
              (forget_gate_bias, "Constant added to the forget gate before its sigmoid."),
              (cell_value_cap, "Bounds the cell's absolute values; 0: no bound.", at_least(0)),
              (coupled_gates, "Couples the gates: the forget gate is 1 minus the input gate."),
              (layer_norm, "Normalizes each gate before its bias."))

class Lstm final : public Recurrent {
 public:
  using Config = LstmConfig;
  Lstm(const Config& config, Scope& scope);

 private:
  Tensor project(const Tensor& x) const override;
  State next(const Tensor& projected, const State& state) const override;
  Tensor scan(Tensor projected, State& state, const ScanOptions& positions) const override;

  std::int64_t width() const { return options_.gates() * output_dims(); }
  Tensor of_state() const;                       // weights [output_dims, G * output_dims]
  Tensor normalized(const Tensor& gates) const;  // [B, G * output_dims], biases added

  std::int64_t input_dims_;
  LstmOptions options_;
  Parameter &wm_, &b_;
  Parameter* ln_scale_;  // null without layer_norm
};

}  // namespace trivet::nn
