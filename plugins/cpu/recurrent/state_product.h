// SPDX-License-Identifier: Apache-2.0
// The products of a recurrent state and its weights, position by position. The weights are packed
// once for all positions. A task multiplies the state of some rows with the weights of some units,
// and computes these units of the position; what it leaves is packed as a factor of the next step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <trivet/backend/kernels/recurrent.h>

#include "cpu/kernels/gemm.h"
#include "cpu/recurrent/cells.h"
#include "cpu/support/context.h"

namespace cpu {

// The order of positions, and the marks at each.
class Positions {
 public:
  explicit Positions(const tv_sequence& sequence) : s_(sequence) {}

  std::int64_t count() const { return s_.time; }
  // The position that is read as the i-th.
  std::int64_t at(std::int64_t i) const { return s_.reverse != 0 ? s_.time - 1 - i : i; }
  bool has(std::int64_t i) const { return i >= 0 && i < s_.time; }
  bool has_padding() const { return s_.paddings != nullptr; }
  bool is_empty() const { return s_.batch == 0 || s_.time == 0 || s_.units == 0; }

  // The marks of the i-th position, from a row on; none if there is no such position.
  Rows starts(std::int64_t i, std::int64_t row) const { return marks(s_.starts, i, row); }
  Rows paddings(std::int64_t i, std::int64_t row) const { return marks(s_.paddings, i, row); }

  // The i-th position of an array [batch, time, width].
  Rows of(const void* data, std::int64_t width, std::int64_t i) const {
    if (data == nullptr) return {};
    return {static_cast<float*>(const_cast<void*>(data)) + at(i) * width, s_.time * width};
  }
  // The state after the position before the i-th, of an array [batch, time, units]; that of
  // `first` [batch, units] before the first.
  Rows before(const void* data, const void* first, std::int64_t i) const {
    if (i > 0) return of(data, s_.units, i - 1);
    return {static_cast<float*>(const_cast<void*>(first)), s_.units};
  }

 private:
  Rows marks(const float* data, std::int64_t i, std::int64_t row) const {
    if (data == nullptr || !has(i)) return {};
    return Rows{const_cast<float*>(data) + at(i), s_.time}.from(row, 0);
  }

  tv_sequence s_;
};

// What a task computes.
struct StateBlock {
  std::int64_t row, rows, unit, units;

  Rows of(const Rows& rows_of_all) const { return rows_of_all.from(row, unit); }
};

class StateProduct {
 public:
  // forward: the state [batch, units] times the weights of each gate. backward: the gradients of
  // the gates times their weights transposed, summed.
  enum class Direction : std::uint8_t { forward, backward };

  // w [units, gates * units].
  StateProduct(const tv_sequence& sequence, std::int64_t gates, const void* w, Direction direction);

  // Takes scratch and packs the weights. `h0` [batch, units] is the state before the first
  // position, null: zeros. False if there is no scratch.
  [[nodiscard]] bool prepare(tv_ctx* ctx, const void* h0);

  // The i-th position: for each block, multiplies the state and calls f(block, step) with a Step
  // derived from CellStep, of which the gates remain to be set. What f writes to step.left is
  // multiplied next.
  template <typename Step, typename F>
  [[nodiscard]] tv_status step(tv_ctx* ctx, std::int64_t i, const F& f);

  // backward, after the first position: dh0 [batch, units], to which `later_dh` [batch, units] is
  // added if it has data.
  void start_gradient(tv_ctx* ctx, const Rows& later_dh, void* dh0) const;

 private:
  static constexpr std::int64_t kBlockUnits = kColumnStep;

  std::int64_t factors_in() const { return direction_ == Direction::forward ? 1 : gates_; }
  std::int64_t factors_out() const { return direction_ == Direction::forward ? gates_ : 1; }
  std::int64_t packed_state() const { return whole_rows(batch_) * units_; }
  std::int64_t packed_weights() const { return whole_columns(units_) * units_; }
  std::int64_t block_floats() const { return block_rows_ * kBlockUnits; }
  // Whether the weights are read where they lie: packing them does not repay for one position.
  bool streams() const { return direction_ == Direction::forward && positions_.count() == 1; }

  void pack_weights(tv_ctx* ctx);
  bool set_state(tv_ctx* ctx, const void* h0);
  [[nodiscard]] tv_status multiply_whole(tv_ctx* ctx) const;
  // The product of a block, in `memory` if it is computed now.
  GateRows multiply(const StateBlock& block, float* memory) const;
  void pack(const StateBlock& block, const float* left) const;
  StateBlock block_of(std::int64_t task) const;
  GateRows rows_of(float* memory) const { return {{memory, kBlockUnits}, block_floats()}; }

  // Calls f(block, product, memory for as many floats as the next factors of the block have).
  template <typename F>
  void each_block(tv_ctx* ctx, const F& f) const {
    const std::int64_t of_worker = (gates_ + 1) * block_floats();
    parallel(ctx, tasks_, grain_, [&](std::int64_t begin, std::int64_t end, std::int32_t worker) {
      float* const memory = work_ + worker * of_worker;
      for (std::int64_t task = begin; task < end; ++task) {
        const StateBlock block = block_of(task);
        f(block, multiply(block, memory), memory + factors_out() * block_floats());
      }
    });
  }

  Positions positions_;
  std::int64_t batch_, units_, gates_;
  const float* w_;
  Direction direction_;
  std::int64_t block_rows_ = 0, unit_blocks_ = 0, tasks_ = 0, grain_ = 1;
  float *weights_ = nullptr, *work_ = nullptr, *whole_ = nullptr;
  float *state_ = nullptr, *next_ = nullptr;
  bool is_zero_ = true;  // the state
};

template <typename Step, typename F>
tv_status StateProduct::step(tv_ctx* ctx, std::int64_t i, const F& f) {
  if (streams() && !is_zero_) {
    const tv_status status = multiply_whole(ctx);
    if (status != TV_OK) return status;
  }
  each_block(ctx, [&](const StateBlock& block, const GateRows& product, float* left) {
    Step step;
    step.count = block.rows, step.units = block.units;
    step.starts = positions_.starts(i, block.row);
    step.paddings = positions_.paddings(i, block.row);
    step.next_starts = positions_.starts(i + 1, block.row);
    step.product = product, step.left = rows_of(left);
    f(block, step);
    pack(block, left);
  });
  std::swap(state_, next_);
  is_zero_ = false;
  return TV_OK;
}

// The state before each position, [batch, time, units], as the weights multiply it.
void gather_states(tv_ctx* ctx, const tv_sequence& sequence, const void* h, const void* h0,
                   float* to);

// dw = beta dw + states^T gates, for some gates of a row of `step` floats. `dw` starts at their
// columns.
Gemm weight_gradient(const tv_sequence& sequence, const float* states, const void* gates,
                     std::int64_t columns, std::int64_t step, void* dw, std::int64_t dw_step,
                     float beta);

}  // namespace cpu
