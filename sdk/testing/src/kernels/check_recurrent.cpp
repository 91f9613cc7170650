// SPDX-License-Identifier: Apache-2.0
// Conformance of the kernels of recurrent layers (trivet/backend/kernels/recurrent.h), against
// their formulas and the chain rule in double.

#include <cmath>

#include "conformance.h"
#include "reference_activation.h"
#include "trivet/backend/kernels/recurrent.h"

namespace trivet::testing {
namespace {

struct SequenceSize {
  std::int64_t batch, time, units;
};
const SequenceSize kSequences[] = {{1, 1, 1},  {0, 2, 3},  {2, 0, 3},   {3, 1, 17},  {2, 3, 5},
                                   {1, 4, 32}, {13, 3, 9}, {30, 2, 65}, {130, 2, 35}};

struct RecurrentForm {
  bool reverse, starts, paddings, states;
  bool wants_all;  // else the gradient of the gates alone
  float beta;
  // Of an LSTM. Without dh a gradient comes from the last cells alone.
  bool coupled, dh;
  double cap;
};
const RecurrentForm kRecurrentForms[] = {
    {false, false, false, false, true, 0, false, true, 0},
    {true, true, false, true, true, 1, false, true, 0.3},
    {false, false, true, true, true, 1, true, true, 0},
    {true, true, true, true, true, 0, true, true, 0.4},
    {false, true, true, false, false, 0, false, true, 10},
    {false, false, false, true, true, 0, false, false, 0},
};

std::string case_text(const SequenceSize& z, const RecurrentForm& f) {
  return to_text({z.batch, z.time, z.units}) + (f.reverse ? " reverse" : "") +
         (f.starts ? " starts" : "") + (f.paddings ? " paddings" : "") +
         (f.states ? " states" : "") + (f.coupled ? " coupled" : "") +
         (f.wants_all ? "" : " gates alone") + (f.dh ? "" : " last cells") +
         " cap=" + std::to_string(f.cap) + " beta=" + std::to_string(f.beta);
}

// One of three positions is padding, and one in two starts a segment. A fraction is between.
Values marks(std::uint64_t seed, std::int64_t n, int one_in) {
  Values out = random_integers(seed, n, 0, one_in);
  for (double& x : out) x = x == 0 ? 1 : 0;
  if (n > 1) at(out, n / 2) = 0.25;
  return out;
}

// The arguments of all calls, and where the elements of a position are.
struct RecurrentCase {
  SequenceSize z;
  RecurrentForm f;
  std::int64_t gates;
  Values x, w, bias, h0, c0, starts, paddings, dh, dlast_c, dw, dbias;

  RecurrentCase(const SequenceSize& sizes, const RecurrentForm& form, std::int64_t gate_count)
      : z(sizes),
        f(form),
        gates(gate_count),
        x(random_values(201, z.batch * z.time * gates * z.units)),
        w(random_values(202, z.units * gates * z.units, -0.5, 0.5)),
        bias(random_values(203, z.units)),
        h0(f.states ? random_values(204, z.batch * z.units) : zeros(z.batch * z.units)),
        c0(f.states ? random_values(205, z.batch * z.units) : zeros(z.batch * z.units)),
        starts(f.starts ? marks(206, z.batch * z.time, 2) : zeros(z.batch * z.time)),
        paddings(f.paddings ? marks(207, z.batch * z.time, 3) : zeros(z.batch * z.time)),
        dh(random_values(208, z.batch * z.time * z.units)),
        dlast_c(f.wants_all ? random_values(209, z.batch * z.units) : zeros(z.batch * z.units)),
        dw(random_values(210, z.units * gates * z.units)),
        dbias(random_values(211, z.units)) {}

  std::int64_t position(std::int64_t i) const { return f.reverse ? z.time - 1 - i : i; }
  std::int64_t mark(std::int64_t b, std::int64_t i) const { return b * z.time + position(i); }
  std::int64_t state(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return mark(b, i) * z.units + j;
  }
  std::int64_t gate(std::int64_t b, std::int64_t i, std::int64_t g, std::int64_t j) const {
    return (mark(b, i) * gates + g) * z.units + j;
  }
  double weight(std::int64_t k, std::int64_t g, std::int64_t j) const {
    return at(w, (k * gates + g) * z.units + j);
  }
  // The state before the i-th position, of what is after each and before all.
  double before(const Values& after, const Values& first, std::int64_t b, std::int64_t i,
                std::int64_t j) const {
    const double last = i > 0 ? at(after, state(b, i - 1, j)) : at(first, b * z.units + j);
    return (1 - at(starts, mark(b, i))) * last;
  }
  // h w of one gate before the i-th position.
  double product(const Values& h, std::int64_t b, std::int64_t i, std::int64_t g,
                 std::int64_t j) const {
    double sum = 0;
    for (std::int64_t k = 0; k < z.units; ++k) sum += before(h, h0, b, i, k) * weight(k, g, j);
    return sum;
  }
  double mixed(double next, double last, std::int64_t b, std::int64_t i) const {
    const double p = at(paddings, mark(b, i));
    return p * last + (1 - p) * next;
  }

  tv_sequence sequence(Run& run) const {
    tv_sequence s = {};
    s.batch = z.batch, s.time = z.time, s.units = z.units;
    if (f.starts) s.starts = run.input(starts);
    if (f.paddings) s.paddings = run.input(paddings);
    s.reverse = f.reverse ? 1 : 0;
    return s;
  }
};

// What a gradient adds up while it walks from the last position to the first.
struct RecurrentGradient {
  Values gates, dw, dh, dc;  // dh and dc: of the state after the position that comes next
  Values of_state;           // of the products of the state, as `gates`

  explicit RecurrentGradient(const RecurrentCase& g)
      : gates(zeros(g.z.batch * g.z.time * g.gates * g.z.units)),
        dw(g.f.beta != 0 ? g.dw : zeros(g.z.units * g.gates * g.z.units)),
        dh(zeros(g.z.batch * g.z.units)),
        dc(g.dlast_c),
        of_state(gates) {}

  // RecurrentGradient of the state before the i-th position through the products, and of the
  // weights.
  double through_products(const RecurrentCase& g, const Values& h, std::int64_t b, std::int64_t i,
                          std::int64_t k) {
    double sum = 0;
    for (std::int64_t n = 0; n < g.gates; ++n) {
      for (std::int64_t j = 0; j < g.z.units; ++j) {
        const double d = at(of_state, g.gate(b, i, n, j));
        sum += d * g.weight(k, n, j);
        at(dw, (k * g.gates + n) * g.z.units + j) += d * g.before(h, g.h0, b, i, k);
      }
    }
    return sum;
  }
};

// ---- LSTM

struct Lstm {
  RecurrentCase g;
  Values h, c, raw;  // raw: the cell before clipping
  Values values;     // of the gates

  Lstm(const SequenceSize& sizes, const RecurrentForm& form)
      : g(sizes, form, form.coupled ? 3 : 4),
        h(zeros(g.z.batch * g.z.time * g.z.units)),
        c(h),
        raw(h),
        values(g.x) {
    for (std::int64_t i = 0; i < g.z.time; ++i) {
      for (std::int64_t b = 0; b < g.z.batch; ++b) {
        for (std::int64_t j = 0; j < g.z.units; ++j) step(b, i, j);
      }
    }
  }

  double value(std::int64_t b, std::int64_t i, std::int64_t n, std::int64_t j) const {
    return at(values, g.gate(b, i, n, j));
  }
  double forget(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return g.f.coupled ? 1 - value(b, i, 1, j) : value(b, i, 2, j);
  }
  double clipped(double x) const {
    return g.f.cap > 0 ? std::min(std::max(x, -g.f.cap), g.f.cap) : x;
  }

  void step(std::int64_t b, std::int64_t i, std::int64_t j) {
    for (std::int64_t n = 0; n < g.gates; ++n) {
      double& v = at(values, g.gate(b, i, n, j));
      v += g.product(h, b, i, n, j);
      if (!g.f.coupled && n == 2) v += kForgetBias;
      v = n == 0 ? std::tanh(v) : activate(TV_ACT_SIGMOID, v);
    }
    const double c_before = g.before(c, g.c0, b, i, j), h_before = g.before(h, g.h0, b, i, j);
    double& sum = at(raw, g.state(b, i, j));
    sum = forget(b, i, j) * c_before + value(b, i, 1, j) * value(b, i, 0, j);
    const double out = value(b, i, g.gates - 1, j) * std::tanh(clipped(sum));
    at(c, g.state(b, i, j)) = g.mixed(clipped(sum), c_before, b, i);
    at(h, g.state(b, i, j)) = g.mixed(out, h_before, b, i);
  }

  RecurrentGradient gradient() const {
    RecurrentGradient d(g);
    for (std::int64_t i = g.z.time - 1; i >= 0; --i) {
      for (std::int64_t b = 0; b < g.z.batch; ++b) step_back(d, b, i);
    }
    return d;
  }

  void step_back(RecurrentGradient& d, std::int64_t b, std::int64_t i) const {
    const double p = at(g.paddings, g.mark(b, i)), kept = 1 - at(g.starts, g.mark(b, i));
    for (std::int64_t j = 0; j < g.z.units; ++j) {
      double &dh = at(d.dh, b * g.z.units + j), &dc = at(d.dc, b * g.z.units + j);
      if (g.f.dh) dh += at(g.dh, g.state(b, i, j));
      const double sum = at(raw, g.state(b, i, j)), t = std::tanh(clipped(sum));
      const double in = value(b, i, 0, j), gate = value(b, i, 1, j);
      const double out = value(b, i, g.gates - 1, j), keep = forget(b, i, j);
      const double dnext = (1 - p) * dh;
      double dsum = (1 - p) * dc + dnext * out * (1 - t * t);
      if (g.f.cap > 0 && std::abs(sum) > g.f.cap) dsum = 0;
      const double last = g.before(c, g.c0, b, i, j);
      const auto set = [&](std::int64_t n, double v) {
        at(d.gates, g.gate(b, i, n, j)) = at(d.of_state, g.gate(b, i, n, j)) = v;
      };
      set(0, dsum * gate * (1 - in * in));
      set(1, dsum * (g.f.coupled ? in - last : in) * gate * (1 - gate));
      if (!g.f.coupled) set(2, dsum * last * keep * (1 - keep));
      set(g.gates - 1, dnext * t * out * (1 - out));
      dc = kept * (p * dc + dsum * keep);
      dh = kept * p * dh;
    }
    for (std::int64_t k = 0; k < g.z.units; ++k) {
      at(d.dh, b * g.z.units + k) += kept * d.through_products(g, h, b, i, k);
    }
  }

  // The outputs are gates, h and c.
  tv_lstm arguments(Run& run) const {
    tv_lstm a = {};
    a.struct_size = sizeof(a);
    a.coupled = g.f.coupled ? 1 : 0;
    a.forget_bias = kForgetBias, a.cap = static_cast<float>(g.f.cap);
    a.sequence = g.sequence(run);
    a.w = run.input(g.w);
    if (g.f.states) a.h0 = run.input(g.h0), a.c0 = run.input(g.c0);
    a.gates = run.in_out(g.x);
    a.h = run.output(static_cast<std::int64_t>(h.size()));
    a.c = run.output(static_cast<std::int64_t>(c.size()));
    return a;
  }

  static constexpr float kForgetBias = 0.5f;
};

void check_lstm_fwd(Kit& kit, tv_lstm_fwd_fn fwd, const Lstm& reference) {
  const RecurrentCase& g = reference.g;
  kit.check(TV_LSTM_FWD, case_text(g.z, g.f), 1e-5, {{}, reference.h, reference.c}, [&](Run& run) {
    const tv_lstm a = reference.arguments(run);
    return fwd(run.context(), &a);
  });
}

void check_lstm_bwd(Kit& kit, tv_lstm_fwd_fn fwd, tv_lstm_bwd_fn bwd, const Lstm& reference) {
  const RecurrentCase& g = reference.g;
  const RecurrentGradient d = reference.gradient();
  std::vector<Values> want = {d.gates, {}, {}};
  if (g.f.wants_all) want.insert(want.end(), {d.dw, d.dh, d.dc});
  kit.check(TV_LSTM_BWD, case_text(g.z, g.f), 1e-4, want, [&](Run& run) {
    tv_lstm_grad a = {};
    a.struct_size = sizeof(a);
    a.fwd = reference.arguments(run);
    if (g.f.dh) a.dh = run.input(g.dh);
    if (g.f.wants_all) {
      a.dlast_c = run.input(g.dlast_c);
      a.dw = run.in_out(g.dw), a.beta_dw = g.f.beta;
      a.dh0 = run.output(g.z.batch * g.z.units), a.dc0 = run.output(g.z.batch * g.z.units);
    }
    const tv_status status = fwd(run.context(), &a.fwd);
    return status == TV_OK ? bwd(run.context(), &a) : status;
  });
}

// ---- GRU

struct Gru {
  RecurrentCase g;
  Values h, values, candidates;

  Gru(const SequenceSize& sizes, const RecurrentForm& form)
      : g(sizes, form, 3), h(zeros(g.z.batch * g.z.time * g.z.units)), values(g.x), candidates(h) {
    for (std::int64_t i = 0; i < g.z.time; ++i) {
      for (std::int64_t b = 0; b < g.z.batch; ++b) {
        for (std::int64_t j = 0; j < g.z.units; ++j) step(b, i, j);
      }
    }
  }

  void step(std::int64_t b, std::int64_t i, std::int64_t j) {
    double &reset = at(values, g.gate(b, i, 0, j)), &update = at(values, g.gate(b, i, 1, j));
    double &next = at(values, g.gate(b, i, 2, j)), &candidate = at(candidates, g.state(b, i, j));
    reset = activate(TV_ACT_SIGMOID, reset + g.product(h, b, i, 0, j));
    update = activate(TV_ACT_SIGMOID, update + g.product(h, b, i, 1, j));
    candidate = g.product(h, b, i, 2, j) + at(g.bias, j);
    next = std::tanh(next + reset * candidate);
    const double last = g.before(h, g.h0, b, i, j);
    at(h, g.state(b, i, j)) = g.mixed(next + update * (last - next), last, b, i);
  }

  RecurrentGradient gradient(Values& dbias) const {
    RecurrentGradient d(g);
    for (std::int64_t i = g.z.time - 1; i >= 0; --i) {
      for (std::int64_t b = 0; b < g.z.batch; ++b) step_back(d, dbias, b, i);
    }
    return d;
  }

  void step_back(RecurrentGradient& d, Values& dbias, std::int64_t b, std::int64_t i) const {
    const double p = at(g.paddings, g.mark(b, i)), kept = 1 - at(g.starts, g.mark(b, i));
    for (std::int64_t j = 0; j < g.z.units; ++j) {
      double& dh = at(d.dh, b * g.z.units + j);
      dh += at(g.dh, g.state(b, i, j));
      const double reset = at(values, g.gate(b, i, 0, j)), update = at(values, g.gate(b, i, 1, j));
      const double next = at(values, g.gate(b, i, 2, j));
      const double candidate = at(candidates, g.state(b, i, j));
      const double dout = (1 - p) * dh, last = g.before(h, g.h0, b, i, j);
      const double dnext = dout * (1 - update) * (1 - next * next);
      const double each[] = {dnext * candidate * reset * (1 - reset),
                             dout * (last - next) * update * (1 - update), dnext};
      for (std::int64_t n = 0; n < 3; ++n) {
        at(d.gates, g.gate(b, i, n, j)) = each[n];
        at(d.of_state, g.gate(b, i, n, j)) = n == 2 ? dnext * reset : each[n];
      }
      at(dbias, j) += dnext * reset;
      dh = kept * (p * dh + dout * update);
    }
    for (std::int64_t k = 0; k < g.z.units; ++k) {
      at(d.dh, b * g.z.units + k) += kept * d.through_products(g, h, b, i, k);
    }
  }

  // The outputs are gates, product and h.
  tv_gru arguments(Run& run) const {
    const auto states = static_cast<std::int64_t>(h.size());
    tv_gru a = {};
    a.struct_size = sizeof(a);
    a.gates = run.in_out(g.x), a.product = run.output(states), a.h = run.output(states);
    a.sequence = g.sequence(run);
    a.w = run.input(g.w), a.bias = run.input(g.bias);
    if (g.f.states) a.h0 = run.input(g.h0);
    return a;
  }
};

void check_gru_fwd(Kit& kit, tv_gru_fwd_fn fwd, const Gru& reference) {
  const RecurrentCase& g = reference.g;
  kit.check(TV_GRU_FWD, case_text(g.z, g.f), 1e-5, {{}, {}, reference.h}, [&](Run& run) {
    const tv_gru a = reference.arguments(run);
    return fwd(run.context(), &a);
  });
}

void check_gru_bwd(Kit& kit, tv_gru_fwd_fn fwd, tv_gru_bwd_fn bwd, const Gru& reference) {
  const RecurrentCase& g = reference.g;
  Values dbias = g.f.beta != 0 ? g.dbias : zeros(g.z.units);
  const RecurrentGradient d = reference.gradient(dbias);
  std::vector<Values> want = {d.gates, {}, {}};
  if (g.f.wants_all) want.insert(want.end(), {d.dw, dbias, d.dh});
  kit.check(TV_GRU_BWD, case_text(g.z, g.f), 1e-4, want, [&](Run& run) {
    tv_gru_grad a = {};
    a.struct_size = sizeof(a);
    a.fwd = reference.arguments(run);
    a.dh = run.input(g.dh);
    if (g.f.wants_all) {
      a.dw = run.in_out(g.dw), a.beta_dw = g.f.beta;
      a.dbias = run.in_out(g.dbias), a.beta_dbias = g.f.beta;
      a.dh0 = run.output(g.z.batch * g.z.units);
    }
    const tv_status status = fwd(run.context(), &a.fwd);
    return status == TV_OK ? bwd(run.context(), &a) : status;
  });
}

template <typename F>
struct OfferedKernel {
  F function;
  bool wanted;
};

template <typename F>
OfferedKernel<F> offered(Kit& kit, const char* name) {
  const bool wanted = kit.extension(name) != nullptr, offers = kit.table().extension != nullptr;
  const void* function = offers ? kit.table().extension(kit.first().context(), name) : nullptr;
  return {reinterpret_cast<F>(const_cast<void*>(function)), wanted};
}

// A gradient reads what the forward call has left, in a form of the backend's own.
template <typename Forward, typename Backward>
bool is_pair(Kit& kit, const char* name, Forward forward, Backward backward) {
  const bool both = forward.function != nullptr && backward.function != nullptr;
  if (!both && (forward.wanted || backward.wanted)) {
    kit.record(name, "forward and gradient", "one of them is missing");
  }
  return both;
}

}  // namespace

void check_recurrent(Kit& kit) {
  const auto lstm = offered<tv_lstm_fwd_fn>(kit, TV_LSTM_FWD);
  const auto lstm_grad = offered<tv_lstm_bwd_fn>(kit, TV_LSTM_BWD);
  const auto gru = offered<tv_gru_fwd_fn>(kit, TV_GRU_FWD);
  const auto gru_grad = offered<tv_gru_bwd_fn>(kit, TV_GRU_BWD);
  const bool has_lstm = is_pair(kit, TV_LSTM_FWD, lstm, lstm_grad);
  const bool has_gru = is_pair(kit, TV_GRU_FWD, gru, gru_grad);
  for (const SequenceSize& z : kSequences) {
    for (const RecurrentForm& f : kRecurrentForms) {
      if (has_lstm) {
        const Lstm reference(z, f);
        if (lstm.wanted) check_lstm_fwd(kit, lstm.function, reference);
        if (lstm_grad.wanted) check_lstm_bwd(kit, lstm.function, lstm_grad.function, reference);
      }
      if (has_gru && !f.coupled && f.dh) {
        const Gru reference(z, f);
        if (gru.wanted) check_gru_fwd(kit, gru.function, reference);
        if (gru_grad.wanted) check_gru_bwd(kit, gru.function, gru_grad.function, reference);
      }
    }
  }
}

}  // namespace trivet::testing
