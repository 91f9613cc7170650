// SPDX-License-Identifier: Apache-2.0
// Gru: gated recurrent unit (Cho et al. 2014), x [B, T, input_dims] -> h [B, T, output_dims], in
// the form of cuDNN, Keras and PyTorch, with the reset gate after the product:
//
//   r = sigmoid(x w_r + h u_r + b_r);  z = sigmoid(x w_z + h u_z + b_z)
//   n = tanh(x w_n + b_n + r * (h u_n + c));  h' = (1 - z) n + z h
//
// Parameters "w" [input_dims, 3 * output_dims] and "u" [output_dims, 3 * output_dims], in the order
// r, z, n; "b" [3 * output_dims] and "c" [output_dims], zeros. recurrent.h explains positions,
// paddings and segments.
#pragma once

#include "nn/recurrent/recurrent.h"
#include "trivet/recurrent/gru.h"

namespace trivet::nn {

struct GruConfig : RecurrentConfig {};
TRIVET_CONFIG(GruConfig, trivet::nn::RecurrentConfig)

class Gru final : public Recurrent {
 public:
  using Config = GruConfig;
  Gru(const Config& config, Scope& scope);

 private:
  Tensor project(const Tensor& x) const override;
  State next(const Tensor& projected, const State& state) const override;
  Tensor scan(Tensor projected, State& state, const ScanOptions& positions) const override;

  GruWeights weights() const { return {u_.value(), c_.value()}; }

  Parameter &w_, &u_, &b_, &c_;
};

}  // namespace trivet::nn
