// SPDX-License-Identifier: Apache-2.0
#include "cpu/recurrent/state_product.h"

namespace cpu {
namespace {

constexpr std::int64_t kMostRows = 120;  // of a block: its products stay in the second cache
constexpr std::int64_t kLeastRows = 24;  // fewer do not repay reading the weights
constexpr std::int64_t kTasksPerWorker = 4;
constexpr double kTaskFlops = 1e6;  // some 10 us of one core

}  // namespace

StateProduct::StateProduct(const tv_sequence& sequence, std::int64_t gates, const void* w,
                           Direction direction)
    : positions_(sequence),
      batch_(sequence.batch),
      units_(sequence.units),
      gates_(gates),
      w_(static_cast<const float*>(w)),
      direction_(direction),
      unit_blocks_(ceil_div(units_, kBlockUnits)) {}

bool StateProduct::prepare(tv_ctx* ctx, const void* h0) {
  const std::int64_t workers = ctx->host->max_workers;
  const std::int64_t parts =
      ceil_div(kTasksPerWorker * workers, std::max<std::int64_t>(1, unit_blocks_));
  block_rows_ = std::clamp(whole_rows(ceil_div(batch_, parts)), kLeastRows, kMostRows);
  tasks_ = ceil_div(batch_, block_rows_) * unit_blocks_;
  const auto of_task = 2.0 * static_cast<double>(std::min(batch_, block_rows_) * kBlockUnits) *
                       static_cast<double>(gates_ * units_);
  grain_ =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kTaskFlops / std::max(1.0, of_task)));
  work_ = scratch(ctx, workers * (gates_ + 1) * block_floats());
  state_ = scratch(ctx, factors_in() * packed_state());
  if (work_ == nullptr || state_ == nullptr) return false;
  if (streams()) {
    whole_ = scratch(ctx, batch_ * gates_ * units_);
    next_ = state_;
    return whole_ != nullptr && set_state(ctx, h0);
  }
  next_ = scratch(ctx, factors_in() * packed_state());
  weights_ = scratch(ctx, gates_ * packed_weights());
  if (next_ == nullptr || weights_ == nullptr) return false;
  pack_weights(ctx);
  return set_state(ctx, h0);
}

void StateProduct::pack_weights(tv_ctx* ctx) {
  const std::int64_t step = gates_ * units_;
  parallel(ctx, gates_ * unit_blocks_, 1, [&](auto begin, auto end, auto) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t gate = task / unit_blocks_, unit = task % unit_blocks_ * kBlockUnits;
      const std::int64_t count = std::min(kBlockUnits, units_ - unit);
      float* const to = weights_ + gate * packed_weights() + unit * units_;
      const float* const of_gate = w_ + gate * units_;
      if (direction_ == Direction::forward) {
        pack_right(Transpose::no, units_, count, of_gate + unit, step, to);
      } else {
        pack_right(Transpose::yes, units_, count, of_gate + unit * step, step, to);
      }
    }
  });
}

bool StateProduct::set_state(tv_ctx* ctx, const void* h0) {
  if (h0 == nullptr) return true;
  float* const state = streams() ? state_ : scratch(ctx, batch_ * units_);
  if (state == nullptr) return false;
  for (std::int64_t i = 0; i < batch_; ++i) {
    const Rows starts = positions_.starts(0, i);
    copy_state(units_, static_cast<const float*>(h0) + i * units_,
               starts.data == nullptr ? 0 : *starts.data, state + i * units_);
  }
  if (!streams()) pack_left(Transpose::no, batch_, units_, state, units_, state_);
  is_zero_ = false;
  return true;
}

tv_status StateProduct::multiply_whole(tv_ctx* ctx) const {
  Gemm g;
  g.m = batch_, g.n = gates_ * units_, g.k = units_;
  g.a = state_, g.lda = units_;
  g.b = w_, g.ldb = g.n;
  g.c = whole_, g.ldc = g.n;
  GemmGroup group;
  group.add(g);
  return group.run(ctx);
}

StateBlock StateProduct::block_of(std::int64_t task) const {
  const std::int64_t row_blocks = ceil_div(batch_, block_rows_);
  const std::int64_t row = task % row_blocks * block_rows_;
  const std::int64_t unit = task / row_blocks * kBlockUnits;
  return {row, std::min(block_rows_, batch_ - row), unit, std::min(kBlockUnits, units_ - unit)};
}

GateRows StateProduct::multiply(const StateBlock& block, float* memory) const {
  if (is_zero_) return {};
  if (streams()) return {Rows{whole_, gates_ * units_}.from(block.row, block.unit), units_};
  for (std::int64_t out = 0; out < factors_out(); ++out) {
    for (std::int64_t in = 0; in < factors_in(); ++in) {
      const Factor left = Factor{state_ + in * packed_state(), units_}.after_rows(block.row);
      const Factor right =
          Factor{weights_ + (in + out) * packed_weights(), units_}.after_columns(block.unit);
      DepthBlocks(units_).each([&](std::int64_t begin, std::int64_t size) {
        BlockProduct p;
        p.m = block.rows, p.n = block.units, p.k = size;
        p.left = left_after_depth(left, begin), p.right = packed_after_depth(right, begin);
        p.c = memory + out * block_floats(), p.ldc = kBlockUnits;
        p.beta = in == 0 && begin == 0 ? 0 : 1;
        multiply_block(p);
      });
    }
  }
  return rows_of(memory);
}

void StateProduct::pack(const StateBlock& block, const float* left) const {
  if (streams()) return;
  for (std::int64_t in = 0; in < factors_in(); ++in) {
    pack_left_part(block.rows, block.units, left + in * block_floats(), kBlockUnits, block.unit,
                   units_, next_ + in * packed_state() + block.row * units_);
  }
}

void StateProduct::start_gradient(tv_ctx* ctx, const Rows& later_dh, void* dh0) const {
  const Rows to = {static_cast<float*>(dh0), units_};
  each_block(ctx, [&](const StateBlock& block, const GateRows& product, float*) {
    start_grad({block.rows, block.units, product.rows, block.of(later_dh),
                positions_.starts(0, block.row), block.of(to)});
  });
}

void gather_states(tv_ctx* ctx, const tv_sequence& s, const void* h, const void* h0, float* to) {
  const Positions positions(s);
  parallel(ctx, s.batch * s.time, row_grain(s.units), [&](auto begin, auto end, auto) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t i = positions.at(row % s.time),
                         batch = row / s.time;  // at() is its inverse
      const Rows starts = positions.starts(i, batch);
      copy_state(s.units, positions.before(h, h0, i).row(batch),
                 starts.data == nullptr ? 0 : *starts.data, to + row * s.units);
    }
  });
}

Gemm weight_gradient(const tv_sequence& s, const float* states, const void* gates,
                     std::int64_t columns, std::int64_t step, void* dw, std::int64_t dw_step,
                     float beta) {
  Gemm g;
  g.trans_a = Transpose::yes;
  g.m = s.units, g.n = columns, g.k = s.batch * s.time;
  g.a = states, g.lda = s.units;
  g.b = static_cast<const float*>(gates), g.ldb = step;
  g.c = static_cast<float*>(dw), g.ldc = dw_step;
  g.beta = beta;
  return g;
}

}  // namespace cpu
