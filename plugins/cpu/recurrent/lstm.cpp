// SPDX-License-Identifier: Apache-2.0
// lstm_fwd and lstm_bwd.
#include <algorithm>

#include "cpu/recurrent/state_product.h"
#include "cpu/support/kernels.h"

namespace cpu {
namespace {

std::int64_t gates_of(const tv_lstm& d) {
  return d.coupled != 0 ? 3 : 4;
}

LstmCell cell_of(const tv_lstm& d) {
  return {d.coupled != 0, d.forget_bias, d.cap};
}

tv_status write_weight_gradient(tv_ctx* ctx, const tv_lstm_grad& d) {
  const tv_sequence& s = d.fwd.sequence;
  float* const states = scratch(ctx, s.batch * s.time * s.units);
  if (states == nullptr) return TV_OUT_OF_MEMORY;
  gather_states(ctx, s, d.fwd.h, d.fwd.h0, states);
  const std::int64_t width = gates_of(d.fwd) * s.units;
  GemmGroup group;
  group.add(weight_gradient(s, states, d.fwd.gates, width, width, d.dw, width, d.beta_dw));
  return group.run(ctx);
}

}  // namespace

tv_status lstm_fwd(tv_ctx* ctx, const tv_lstm* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  const tv_sequence& s = d->sequence;
  const std::int64_t gates = gates_of(*d);
  const Positions positions(s);
  if (positions.is_empty()) return TV_OK;
  StateProduct product(s, gates, d->w, StateProduct::Direction::forward);
  if (!product.prepare(ctx, d->h0)) return TV_OUT_OF_MEMORY;
  tv_status status = TV_OK;
  for (std::int64_t i = 0; i < positions.count() && status == TV_OK; ++i) {
    status = product.step<LstmStep>(ctx, i, [&](const StateBlock& block, LstmStep& step) {
      step.gates = {block.of(positions.of(d->gates, gates * s.units, i)), s.units};
      step.cell = cell_of(*d);
      step.h_before = block.of(positions.before(d->h, d->h0, i));
      step.c_before = block.of(positions.before(d->c, d->c0, i));
      step.h = block.of(positions.of(d->h, s.units, i));
      step.c = block.of(positions.of(d->c, s.units, i));
      lstm_step(step);
    });
  }
  return status;
}

tv_status lstm_bwd(tv_ctx* ctx, const tv_lstm_grad* d) {
  if (d->fwd.dtype != TV_F32) return TV_UNSUPPORTED;
  const tv_lstm& f = d->fwd;
  const tv_sequence& s = f.sequence;
  const std::int64_t gates = gates_of(f), state = s.batch * s.units;
  const Positions positions(s);
  StateProduct product(s, gates, f.w, StateProduct::Direction::backward);
  Rows dc = {scratch(ctx, state), s.units}, later_dh;
  if (positions.has_padding()) later_dh = {scratch(ctx, state), s.units};
  if (dc.data == nullptr || (positions.has_padding() && later_dh.data == nullptr) ||
      !product.prepare(ctx, nullptr)) {
    return TV_OUT_OF_MEMORY;
  }
  copy_state(state, static_cast<const float*>(d->dlast_c), 0, dc.data);
  if (later_dh.data != nullptr) std::fill_n(later_dh.data, state, 0.0f);
  tv_status status = TV_OK;
  for (std::int64_t i = positions.count() - 1; i >= 0 && status == TV_OK; --i) {
    status = product.step<LstmGradStep>(ctx, i, [&](const StateBlock& block, LstmGradStep& step) {
      step.gates = {block.of(positions.of(f.gates, gates * s.units, i)), s.units};
      step.cell = cell_of(f);
      step.c_before = block.of(positions.before(f.c, f.c0, i));
      step.dh = block.of(positions.of(d->dh, s.units, i));
      step.later_dh = block.of(later_dh), step.dc = block.of(dc);
      step.later_starts = step.next_starts;
      lstm_grad_step(step);
    });
  }
  if (status != TV_OK) return status;
  if (d->dc0 != nullptr) std::copy_n(dc.data, state, static_cast<float*>(d->dc0));
  if (d->dh0 != nullptr) product.start_gradient(ctx, later_dh, d->dh0);
  return d->dw != nullptr ? write_weight_gradient(ctx, *d) : TV_OK;
}

}  // namespace cpu
