// SPDX-License-Identifier: Apache-2.0
// gru_fwd and gru_bwd.
#include <algorithm>

#include "cpu/kernels/activation.h"
#include "cpu/recurrent/state_product.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

constexpr std::int64_t kGates = 3;

// Those of reset and update are gradients of the gates, that of the candidate is its own.
tv_status write_weight_gradient(tv_ctx* ctx, const tv_gru_grad& d) {
  const tv_sequence& s = d.fwd.sequence;
  float* const states = scratch(ctx, s.batch * s.time * s.units);
  if (states == nullptr) return TV_OUT_OF_MEMORY;
  gather_states(ctx, s, d.fwd.h, d.fwd.h0, states);
  const std::int64_t width = kGates * s.units, both = 2 * s.units;
  float* const dw = static_cast<float*>(d.dw);
  GemmGroup group;
  group.add(weight_gradient(s, states, d.fwd.gates, both, width, dw, width, d.beta_dw));
  group.add(
      weight_gradient(s, states, d.fwd.product, s.units, s.units, dw + both, width, d.beta_dw));
  return group.run(ctx);
}

tv_status write_bias_gradient(tv_ctx* ctx, const tv_gru_grad& d) {
  const tv_sequence& s = d.fwd.sequence;
  auto* const of_candidate = static_cast<float*>(d.fwd.product);
  const bool done =
      activation_grad(ctx, TV_ACT_NONE, s.batch * s.time, s.units, nullptr, of_candidate,
                      of_candidate, static_cast<float*>(d.dbias), d.beta_dbias);
  return done ? TV_OK : TV_OUT_OF_MEMORY;
}

}  // namespace

tv_status gru_fwd(tv_ctx* ctx, const tv_gru* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  const tv_sequence& s = d->sequence;
  const Positions positions(s);
  if (positions.is_empty()) return TV_OK;
  StateProduct product(s, kGates, d->w, StateProduct::Direction::forward);
  if (!product.prepare(ctx, d->h0)) return TV_OUT_OF_MEMORY;
  tv_status status = TV_OK;
  for (std::int64_t i = 0; i < positions.count() && status == TV_OK; ++i) {
    status = product.step<GruStep>(ctx, i, [&](const StateBlock& block, GruStep& step) {
      step.gates = {block.of(positions.of(d->gates, kGates * s.units, i)), s.units};
      step.bias = static_cast<const float*>(d->bias) + block.unit;
      step.h_before = block.of(positions.before(d->h, d->h0, i));
      step.candidate = block.of(positions.of(d->product, s.units, i));
      step.h = block.of(positions.of(d->h, s.units, i));
      gru_step(step);
    });
  }
  return status;
}

tv_status gru_bwd(tv_ctx* ctx, const tv_gru_grad* d) {
  if (d->fwd.dtype != TV_F32) return TV_UNSUPPORTED;
  const tv_gru& f = d->fwd;
  const tv_sequence& s = f.sequence;
  const std::int64_t state = s.batch * s.units;
  const Positions positions(s);
  StateProduct product(s, kGates, f.w, StateProduct::Direction::backward);
  const Rows later_dh = {scratch(ctx, state), s.units};
  if (later_dh.data == nullptr || !product.prepare(ctx, nullptr)) return TV_OUT_OF_MEMORY;
  std::fill_n(later_dh.data, state, 0.0f);
  tv_status status = TV_OK;
  for (std::int64_t i = positions.count() - 1; i >= 0 && status == TV_OK; --i) {
    status = product.step<GruGradStep>(ctx, i, [&](const StateBlock& block, GruGradStep& step) {
      step.gates = {block.of(positions.of(f.gates, kGates * s.units, i)), s.units};
      step.h_before = block.of(positions.before(f.h, f.h0, i));
      step.candidate = block.of(positions.of(f.product, s.units, i));
      step.dh = block.of(positions.of(d->dh, s.units, i));
      step.later_dh = block.of(later_dh);
      step.later_starts = step.next_starts;
      gru_grad_step(step);
    });
  }
  if (status != TV_OK) return status;
  if (d->dh0 != nullptr) product.start_gradient(ctx, later_dh, d->dh0);
  if (d->dbias != nullptr) {
    status = write_bias_gradient(ctx, *d);
    if (status != TV_OK) return status;
  }
  return d->dw != nullptr ? write_weight_gradient(ctx, *d) : TV_OK;
}

}  // namespace cpu
