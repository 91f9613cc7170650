// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/recurrent/cells.cpp"
#include <hwy/foreach_target.h>

#include "cpu/recurrent/cells.h"

#include <algorithm>

#include <hwy/cache_control.h>

#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// Rows that are fetched ahead: they are far apart, so that caches do not fetch them on their own.
inline constexpr std::int64_t kAhead = 4;

// Some neighboring units, up to a vector of them.
struct Part {
  std::int64_t begin;
  std::size_t size;

  HWY_INLINE V load(const float* row) const {
    if (row == nullptr) return set(0);
    return size == lanes() ? HWY_NAMESPACE::load(row + begin) : load_part(row + begin, size);
  }
  HWY_INLINE void store(V v, float* row) const {
    if (size == lanes()) {
      HWY_NAMESPACE::store(v, row + begin);
    } else {
      store_part(v, row + begin, size);
    }
  }
};

// A row of a CellStep.
struct Row {
  const CellStep& s;
  std::int64_t i;

  static float mark(const Rows& marks, std::int64_t i) {
    return marks.data == nullptr ? 0 : *marks.row(i);
  }
  float padding() const { return mark(s.paddings, i); }
  float kept() const { return 1 - mark(s.starts, i); }
  float kept_next() const { return 1 - mark(s.next_starts, i); }

  static HWY_INLINE float* of_gate(const GateRows& g, std::int64_t i, int gate) {
    float* const row = g.rows.row(i);
    return row == nullptr ? nullptr : row + gate * g.gate_step;
  }
  HWY_INLINE V product(const Part& p, int gate) const {
    return p.load(of_gate(s.product, i, gate));
  }
  HWY_INLINE V gate(const Part& p, int gate) const { return p.load(of_gate(s.gates, i, gate)); }
  HWY_INLINE void set_gate(const Part& p, int gate, V v) const {
    p.store(v, of_gate(s.gates, i, gate));
  }
  HWY_INLINE void set_left(const Part& p, int gate, V v) const {
    p.store(v, of_gate(s.left, i, gate));
  }
};

HWY_INLINE void fetch(const float* row, std::int64_t units) {
  constexpr std::int64_t kLine = 16;  // floats of a cache line
  if (row == nullptr) return;
  for (std::int64_t at = 0; at < units; at += kLine) hwy::Prefetch(row + at);
}

// Calls f(row, part) for all rows and units.
template <int kGates, typename F>
HWY_INLINE void each_part(const CellStep& s, const Rows& other, const F& f) {
  const auto step = static_cast<std::int64_t>(lanes());
  for (std::int64_t i = 0; i < s.count; ++i) {
    const std::int64_t ahead = std::min(i + kAhead, s.count - 1);
    for (int gate = 0; gate < kGates; ++gate) fetch(Row::of_gate(s.gates, ahead, gate), s.units);
    fetch(other.row(ahead), s.units);
    const Row row = {s, i};
    for (std::int64_t at = 0; at < s.units; at += step) {
      f(row, Part{at, static_cast<std::size_t>(std::min(step, s.units - at))});
    }
  }
}

// a + x (b - a)
HWY_INLINE V between(V a, V b, V x) {
  return hn::MulAdd(x, hn::Sub(b, a), a);
}
// x y (1 - x): y times the slope of a sigmoid with value x.
HWY_INLINE V times_sigmoid_slope(V x, V y) {
  return hn::Mul(hn::Mul(x, y), hn::Sub(set(1), x));
}
// y (1 - x^2): y times the slope of a tanh with value x.
HWY_INLINE V times_tanh_slope(V x, V y) {
  return hn::NegMulAdd(hn::Mul(x, x), y, y);
}
// The state after a position of padding p: `before` itself if that is 1.
HWY_INLINE V with_padding(V next, V before, float p) {
  return p == 0 ? next : hn::MulAdd(set(p), before, hn::Mul(set(1 - p), next));
}

// The cell before clipping. Without coupling `forget` is the gate, with it the input gate.
template <bool kCoupled>
HWY_INLINE V next_cell(V input, V input_gate, V forget, V before) {
  if constexpr (kCoupled) return between(before, input, input_gate);
  return hn::MulAdd(forget, before, hn::Mul(input_gate, input));
}

template <bool kCoupled>
void lstm_rows(const LstmStep& s) {
  constexpr int kGates = kCoupled ? 3 : 4, kOut = kGates - 1;
  const float cap = s.cell.cap;
  each_part<kGates>(s, s.c_before, [&](const Row& row, const Part& p) TRIVET_CPU_INLINE {
    const auto sum = [&](int g)
                         TRIVET_CPU_INLINE { return add(row.gate(p, g), row.product(p, g)); };
    const V input = tanh(sum(0)), input_gate = sigmoid(sum(1)), out = sigmoid(sum(kOut));
    const V forget = kCoupled ? input_gate : sigmoid(add(sum(2), set(s.cell.forget_bias)));
    const V kept = set(row.kept()), before = hn::Mul(kept, p.load(s.c_before.row(row.i)));
    V c = next_cell<kCoupled>(input, input_gate, forget, before);
    if (cap > 0) c = maximum(minimum(c, set(cap)), set(-cap));
    V h = hn::Mul(out, tanh(c));
    row.set_gate(p, 0, input), row.set_gate(p, 1, input_gate), row.set_gate(p, kOut, out);
    if (!kCoupled) row.set_gate(p, 2, forget);
    const float padding = row.padding();
    c = with_padding(c, before, padding);
    h = with_padding(h, hn::Mul(kept, p.load(s.h_before.row(row.i))), padding);
    p.store(c, s.c.row(row.i)), p.store(h, s.h.row(row.i));
    row.set_left(p, 0, hn::Mul(set(row.kept_next()), h));
  });
}

// The gradient of h after a position: from its output, and from later positions.
HWY_INLINE V state_gradient(const Row& row, const Part& p, const Rows& dh, const Rows& later_dh,
                            const Rows& later_starts) {
  const V later = hn::Mul(set(1 - Row::mark(later_starts, row.i)), row.product(p, 0));
  return add(add(p.load(dh.row(row.i)), later), p.load(later_dh.row(row.i)));
}

template <bool kCoupled>
void lstm_grad_rows(const LstmGradStep& s) {
  constexpr int kGates = kCoupled ? 3 : 4, kOut = kGates - 1;
  const float cap = s.cell.cap;
  each_part<kGates>(s, s.dh, [&](const Row& row, const Part& p) TRIVET_CPU_INLINE {
    const float padding = row.padding();
    const V kept = set(row.kept()), counts = set(1 - padding);
    const V input = row.gate(p, 0), input_gate = row.gate(p, 1), out = row.gate(p, kOut);
    const V forget = kCoupled ? hn::Sub(set(1), input_gate) : row.gate(p, 2);
    const V before = hn::Mul(kept, p.load(s.c_before.row(row.i)));
    V c = next_cell<kCoupled>(input, input_gate, forget, before);
    const V limit = set(cap);
    const auto outside = hn::Gt(hn::Abs(c), limit);
    if (cap > 0) c = maximum(minimum(c, limit), set(-cap));
    const V value = tanh(c);

    const V dh = state_gradient(row, p, s.dh, s.later_dh, s.later_starts);
    const V dc_after = p.load(s.dc.row(row.i));
    const V dh_next = hn::Mul(counts, dh);
    V dc = hn::MulAdd(counts, dc_after, times_tanh_slope(value, hn::Mul(dh_next, out)));
    if (cap > 0) dc = hn::IfThenElse(outside, set(0), dc);
    const auto set_gradient = [&](int gate, V v) TRIVET_CPU_INLINE {
      row.set_gate(p, gate, v), row.set_left(p, gate, v);
    };
    set_gradient(0, times_tanh_slope(input, hn::Mul(dc, input_gate)));
    const V through_gate = kCoupled ? hn::Sub(input, before) : input;
    set_gradient(1, times_sigmoid_slope(input_gate, hn::Mul(dc, through_gate)));
    if (!kCoupled) set_gradient(2, times_sigmoid_slope(forget, hn::Mul(dc, before)));
    set_gradient(kOut, times_sigmoid_slope(out, hn::Mul(dh_next, value)));
    const V past = set(padding);
    p.store(hn::Mul(kept, hn::MulAdd(past, dc_after, hn::Mul(dc, forget))), s.dc.row(row.i));
    if (s.later_dh.data) p.store(hn::Mul(kept, hn::Mul(past, dh)), s.later_dh.row(row.i));
  });
}

void lstm_step(const LstmStep& s) {
  s.cell.coupled ? lstm_rows<true>(s) : lstm_rows<false>(s);
}
void lstm_grad_step(const LstmGradStep& s) {
  s.cell.coupled ? lstm_grad_rows<true>(s) : lstm_grad_rows<false>(s);
}

void gru_step(const GruStep& s) {
  each_part<3>(s, s.h_before, [&](const Row& row, const Part& p) TRIVET_CPU_INLINE {
    const auto sum = [&](int g)
                         TRIVET_CPU_INLINE { return add(row.gate(p, g), row.product(p, g)); };
    const V reset = sigmoid(sum(0)), update = sigmoid(sum(1));
    const V candidate = add(row.product(p, 2), p.load(s.bias));
    const V next = tanh(hn::MulAdd(reset, candidate, row.gate(p, 2)));
    const V before = hn::Mul(set(row.kept()), p.load(s.h_before.row(row.i)));
    const V h = with_padding(between(next, before, update), before, row.padding());
    row.set_gate(p, 0, reset), row.set_gate(p, 1, update), row.set_gate(p, 2, next);
    p.store(candidate, s.candidate.row(row.i)), p.store(h, s.h.row(row.i));
    row.set_left(p, 0, hn::Mul(set(row.kept_next()), h));
  });
}

void gru_grad_step(const GruGradStep& s) {
  each_part<3>(s, s.dh, [&](const Row& row, const Part& p) TRIVET_CPU_INLINE {
    const float padding = row.padding();
    const V kept = set(row.kept());
    const V reset = row.gate(p, 0), update = row.gate(p, 1), next = row.gate(p, 2);
    const V candidate = p.load(s.candidate.row(row.i));
    const V before = hn::Mul(kept, p.load(s.h_before.row(row.i)));
    const V dh = state_gradient(row, p, s.dh, s.later_dh, s.later_starts);
    const V dh_next = hn::Mul(set(1 - padding), dh);
    const V dnext = times_tanh_slope(next, hn::NegMulAdd(update, dh_next, dh_next));
    const V dcandidate = hn::Mul(dnext, reset);
    const V dreset = times_sigmoid_slope(reset, hn::Mul(dnext, candidate));
    const V dupdate = times_sigmoid_slope(update, hn::Mul(dh_next, hn::Sub(before, next)));
    row.set_gate(p, 0, dreset), row.set_gate(p, 1, dupdate), row.set_gate(p, 2, dnext);
    row.set_left(p, 0, dreset), row.set_left(p, 1, dupdate), row.set_left(p, 2, dcandidate);
    p.store(dcandidate, s.candidate.row(row.i));
    const V past = hn::MulAdd(set(padding), dh, hn::Mul(update, dh_next));
    p.store(hn::Mul(kept, past), s.later_dh.row(row.i));
  });
}

void start_grad(const StartGrad& s) {
  for (std::int64_t i = 0; i < s.count; ++i) {
    if (s.product.data == nullptr) {  // no position
      std::fill_n(s.dh0.row(i), s.units, 0.0f);
      continue;
    }
    const float kept = 1 - Row::mark(s.later_starts, i);
    const auto sum = [&](V x, V later) { return hn::MulAdd(set(kept), x, later); };
    if (s.later_dh.data != nullptr) {
      map(s.units, s.dh0.row(i), sum, s.product.row(i), s.later_dh.row(i));
    } else {
      map(
          s.units, s.dh0.row(i), [&](V x) { return hn::Mul(set(kept), x); }, s.product.row(i));
    }
  }
}

void copy_state(std::int64_t units, const float* from, float start, float* to) {
  if (from == nullptr) {
    std::fill_n(to, units, 0.0f);
  } else {
    map(
        units, to, [&](V x) { return hn::Mul(set(1 - start), x); }, from);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(lstm_step);
HWY_EXPORT(lstm_grad_step);
HWY_EXPORT(gru_step);
HWY_EXPORT(gru_grad_step);
HWY_EXPORT(start_grad);
HWY_EXPORT(copy_state);

}  // namespace

void lstm_step(const LstmStep& s) {
  HWY_DYNAMIC_DISPATCH(lstm_step)(s);
}
void lstm_grad_step(const LstmGradStep& s) {
  HWY_DYNAMIC_DISPATCH(lstm_grad_step)(s);
}
void gru_step(const GruStep& s) {
  HWY_DYNAMIC_DISPATCH(gru_step)(s);
}
void gru_grad_step(const GruGradStep& s) {
  HWY_DYNAMIC_DISPATCH(gru_grad_step)(s);
}
void start_grad(const StartGrad& s) {
  HWY_DYNAMIC_DISPATCH(start_grad)(s);
}
void copy_state(std::int64_t units, const float* from, float start, float* to) {
  HWY_DYNAMIC_DISPATCH(copy_state)(units, from, start, to);
}

}  // namespace cpu
#endif
