// SPDX-License-Identifier: Apache-2.0
// Conformance of linear_fwd, linear_bwd, act_fwd, act_bwd and softmax_xent.

#include <algorithm>
#include <cmath>

#include "conformance.h"
#include "reference_activation.h"

namespace trivet::testing {
namespace {

struct DenseLayer {
  std::int64_t rows, in, out;
};
const DenseLayer kLayers[] = {{1, 1, 1},     {0, 3, 4},     {5, 0, 4},
                              {5, 3, 0},     {7, 13, 5},    {33, 65, 129},
                              {128, 64, 10}, {300, 70, 90}, {129, 300, 257}};

std::string case_text(const DenseLayer& l) {
  return std::to_string(l.rows) + "x" + std::to_string(l.in) + " to " + std::to_string(l.out);
}

void check_linear_fwd(Kit& kit, const DenseLayer& l, int activation, bool has_bias) {
  const Values x = random_values(101, l.rows * l.in), w = random_values(102, l.in * l.out);
  const Values b = random_values(103, l.out);
  Values pre, y;
  for (std::int64_t i = 0; i < l.rows * l.out; ++i) {
    double sum = has_bias ? at(b, i % l.out) : 0;
    for (std::int64_t k = 0; k < l.in; ++k) {
      sum += at(x, i / l.out * l.in + k) * at(w, k * l.out + i % l.out);
    }
    pre.push_back(sum);
    y.push_back(activate(activation, sum));
  }
  const bool wants_pre = activation > TV_ACT_SIGMOID;
  const std::string subject =
      case_text(l) + ", activation " + std::to_string(activation) + (has_bias ? "" : ", no bias");
  kit.check("linear_fwd", subject, 2e-5, {y, wants_pre ? pre : Values{}}, [&](Run& run) {
    tv_linear d = {};
    d.struct_size = sizeof(d);
    d.activation = static_cast<std::uint8_t>(activation);
    d.rows = l.rows, d.in = l.in, d.out = l.out;
    d.x = run.input(x), d.w = run.input(w);
    if (has_bias) d.b = run.input(b);
    d.y = run.output(l.rows * l.out);
    if (wants_pre) d.pre = run.output(l.rows * l.out);
    return run.table().linear_fwd(run.context(), &d);
  });
}

struct WantedGradients {
  bool dx = false, dw = false, db = false;
};

// Where the gradient behind the activation goes.
enum class Dz { apart, dy };

void check_linear_bwd(Kit& kit, const DenseLayer& l, int activation, float beta, Dz dz_is,
                      const WantedGradients& wanted) {
  const bool in_place = dz_is == Dz::dy;
  const Values x = random_values(104, l.rows * l.in), w = random_values(105, l.in * l.out);
  const Values saved = random_values(106, l.rows * l.out), dy = random_values(107, l.rows * l.out);
  Values dz, dx(x.size(), 0.0);
  const Values dw_start = random_values(108, l.in * l.out), db_start = random_values(109, l.out);
  Values dw = dw_start, db = db_start;
  if (beta == 0) dw.assign(dw.size(), 0.0), db.assign(db.size(), 0.0);
  for (std::int64_t i = 0; i < l.rows * l.out; ++i) {
    const std::int64_t r = i / l.out, o = i % l.out;
    dz.push_back(at(dy, i) * activation_slope(activation, at(saved, i)));
    at(db, o) += at(dz, i);
    for (std::int64_t k = 0; k < l.in; ++k) {
      at(dx, r * l.in + k) += at(dz, i) * at(w, k * l.out + o);
      at(dw, k * l.out + o) += at(dz, i) * at(x, r * l.in + k);
    }
  }
  std::vector<Values> want;
  if (wanted.dx) want.push_back(dx);
  if (wanted.dw) want.push_back(dw);
  if (wanted.db) want.push_back(db);
  const std::string subject = case_text(l) + ", activation " + std::to_string(activation) +
                              " beta=" + std::to_string(beta) + (in_place ? " in place" : "");
  kit.check("linear_bwd", subject, 5e-5, want, [&](Run& run) {
    tv_linear_grad d = {};
    d.struct_size = sizeof(d);
    d.activation = static_cast<std::uint8_t>(activation);
    d.rows = l.rows, d.in = l.in, d.out = l.out;
    d.x = run.input(x), d.w = run.input(w);
    if (activation != TV_ACT_NONE) d.saved = run.input(saved);
    if (wanted.dx) d.dx = run.output(l.rows * l.in);
    if (wanted.dw) d.dw = run.in_out(dw_start);
    if (wanted.db) d.db = run.in_out(db_start);
    d.dz = in_place ? run.in_out(dy) : run.output(l.rows * l.out);
    d.dy = in_place ? d.dz : static_cast<void*>(run.input(dy));
    d.beta_dw = d.beta_db = beta;
    return run.table().linear_bwd(run.context(), &d);
  });
}

enum class Pass { forward, backward };

void check_activation(Kit& kit, Pass pass, int kind, std::int64_t rows, std::int64_t h) {
  const bool gated = kind >= TV_ACT_GEGLU;
  const std::int64_t width = gated ? 2 * h : h;
  const bool from_output = kind >= TV_ACT_RELU && kind <= TV_ACT_SIGMOID;
  const Values x = from_output ? random_values(111, rows * width, -1, 1)
                               : random_values(111, rows * width, -6, 6);
  const Values dy = random_values(112, rows * h);
  Values y, dx(x.size(), 0.0);
  for (std::int64_t i = 0; i < rows * h; ++i) {
    const std::int64_t a = i / h * width + i % h, b = a + h;
    const double value = activate(kind, at(x, a)), slope = activation_slope(kind, at(x, a));
    y.push_back(gated ? value * at(x, b) : value);
    at(dx, a) = at(dy, i) * slope * (gated ? at(x, b) : 1);
    if (gated) at(dx, b) = at(dy, i) * value;
  }
  const std::string subject =
      "kind " + std::to_string(kind) + " of " + std::to_string(rows) + "x" + std::to_string(h);
  const auto activation = static_cast<tv_activation>(kind);
  if (pass == Pass::forward) {
    return kit.check("act_fwd", subject, 3e-6, {y}, [&](Run& run) {
      const tv_view in = run.input(x).view({rows, width}),
                    out = run.output(rows * h).view({rows, h});
      return run.table().act_fwd(run.context(), activation, &out, &in);
    });
  }
  for (const bool in_place : {false, true}) {
    if (gated && in_place) continue;
    kit.check("act_bwd", subject + (in_place ? " in place" : ""), 3e-6, {dx}, [&](Run& run) {
      const tv_view saved = run.input(x).view({rows, width});
      const Array to = in_place ? run.in_out(dy) : run.output(rows * width);
      const tv_view out = to.view({rows, width});
      const tv_view from = in_place ? out : run.input(dy).view({rows, h});
      return run.table().act_bwd(run.context(), activation, &out, &saved, &from);
    });
  }
}

void check_activations(Kit& kit, Pass pass) {
  for (int kind = TV_ACT_NONE; kind <= TV_ACT_SWIGLU; ++kind) {
    check_activation(kit, pass, kind, 0, 4);
    check_activation(kit, pass, kind, 3, 7);
    check_activation(kit, pass, kind, 300, 130);
  }
}

void check_relu_nan(Kit& kit) {
  kit.check("act_fwd", "relu of a NaN", 0, {{NAN, 0, 2}}, [&](Run& run) {
    const tv_view in = run.input({NAN, -1, 2}).view({3}), out = run.output(3).view({3});
    return run.table().act_fwd(run.context(), TV_ACT_RELU, &out, &in);
  });
}

// The slopes where the input is 0, which random numbers never meet.
void check_slopes_at_zero(Kit& kit) {
  const Values dy = {1, -2, 3};
  for (int kind = TV_ACT_NONE; kind <= TV_ACT_SILU; ++kind) {
    const Values saved(dy.size(), kind == TV_ACT_SIGMOID ? 0.5 : 0.0);
    Values dx;
    for (const double g : dy) dx.push_back(g * activation_slope(kind, saved[0]));
    const std::string subject = "activation " + std::to_string(kind) + " at 0";
    kit.check("act_bwd", subject, 3e-6, {dx}, [&](Run& run) {
      const tv_view at_zero = run.input(saved).view({3}), from = run.input(dy).view({3});
      const tv_view out = run.output(3).view({3});
      return run.table().act_bwd(run.context(), static_cast<tv_activation>(kind), &out, &at_zero,
                                 &from);
    });
  }
}

// A row of x that is 0 in front of relu: nothing flows.
void check_linear_at_zero(Kit& kit) {
  kit.check("linear_bwd", "relu at 0", 0, {{0, 0}, {0, 0}, {0}}, [&](Run& run) {
    tv_linear_grad d = {};
    d.struct_size = sizeof(d);
    d.activation = TV_ACT_RELU;
    d.rows = 1, d.in = 2, d.out = 1;
    d.x = run.input({1, 2}), d.w = run.input({2, -1}), d.saved = run.input({0});
    d.dx = run.output(2), d.dw = run.output(2), d.db = run.output(1);
    d.dz = run.in_out({3});
    d.dy = d.dz;
    return run.table().linear_bwd(run.context(), &d);
  });
}

struct Classes {
  std::int64_t rows, classes;
  double spread;  // of the logits
  double smoothing, z_loss;
  double offset = 0;  // of all logits, which are integers then
};
const Classes kClasses[] = {{1, 1, 1, 0, 0},
                            {0, 5, 1, 0, 0},
                            {7, 10, 5, 0, 0},
                            {128, 10, 3, 0, 0},
                            {9, 1003, 8, 0.1, 0},
                            {33, 65, 300, 0, 0},
                            {5, 40, 4, 0.2, 1e-2},
                            // Where lse alone has lost the digits of the loss.
                            {7, 10, 4, 0, 0, 1e6},
                            {7, 10, 4, 0.1, 0, -1e5}};

void check_softmax(Kit& kit, const Classes& c) {
  Values logits = random_values(121, c.rows * c.classes, -c.spread, c.spread);
  for (double& logit : logits) logit = c.offset == 0 ? logit : std::floor(logit) + c.offset;
  Values targets = random_integers(122, c.rows, 0, static_cast<int>(c.classes));
  if (c.rows > 4) targets[3] = -1;
  const Values grad = random_values(123, c.rows);
  Values loss, lse, dlogits;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    double most = -INFINITY, sum = 0, expected = 0;
    for (std::int64_t j = 0; j < c.classes; ++j) {
      most = std::max(most, at(logits, r * c.classes + j));
    }
    for (std::int64_t j = 0; j < c.classes; ++j) {
      sum += std::exp(at(logits, r * c.classes + j) - most);
    }
    lse.push_back(most + std::log(sum));
    const double weight = at(targets, r) < 0 ? 0 : 1, z = lse.back();
    for (std::int64_t j = 0; j < c.classes; ++j) {
      const double logit = at(logits, r * c.classes + j);
      const double hit = static_cast<double>(j) == at(targets, r);
      const double q = (1 - c.smoothing) * hit + c.smoothing / static_cast<double>(c.classes);
      expected += q * logit;
      const double slope = (1 + 2 * c.z_loss * z) * std::exp(logit - z) - q;
      dlogits.push_back(weight * at(grad, r) * slope);
    }
    loss.push_back(weight * (z - expected + c.z_loss * z * z));
  }
  const auto fill = [&](tv_softmax_xent& d, Run& run) {
    d.struct_size = sizeof(d);
    d.rows = c.rows, d.classes = c.classes;
    d.targets = run.input(targets, TV_I32);
    d.smoothing = static_cast<float>(c.smoothing), d.z_loss = static_cast<float>(c.z_loss);
  };
  const std::string subject = std::to_string(c.rows) + "x" + std::to_string(c.classes) +
                              " smoothing=" + std::to_string(c.smoothing) +
                              " z_loss=" + std::to_string(c.z_loss) +
                              (c.offset == 0 ? "" : " offset=" + std::to_string(c.offset));
  kit.check("softmax_xent", subject, 5e-6, {loss, lse}, [&](Run& run) {
    tv_softmax_xent d = {};
    fill(d, run);
    d.logits = run.input(logits);
    d.loss = run.output(c.rows), d.lse = run.output(c.rows);
    return run.table().softmax_xent(run.context(), &d);
  });
  for (const bool in_place : {false, true}) {
    const std::string how = subject + " gradient" + (in_place ? " in place" : "");
    kit.check("softmax_xent", how, 5e-5, {dlogits}, [&](Run& run) {
      tv_softmax_xent d = {};
      fill(d, run);
      d.row_grad = run.input(grad), d.lse = run.input(lse);
      d.dlogits = in_place ? run.in_out(logits) : run.output(c.rows * c.classes);
      d.logits = in_place ? d.dlogits : static_cast<void*>(run.input(logits));
      return run.table().softmax_xent(run.context(), &d);
    });
  }
}

void check_bad_target(Kit& kit) {
  for (const bool backward : {false, true}) {
    const std::string subject = "a target that is no class";
    kit.check_error("softmax_xent", subject + (backward ? ", gradient" : ""), [&](Run& run) {
      tv_softmax_xent d = {};
      d.struct_size = sizeof(d);
      d.rows = 2, d.classes = 3;
      d.logits = run.input(Values(6, 1)), d.targets = run.input({0, 3}, TV_I32);
      if (backward) {
        d.row_grad = run.input({1, 1}), d.lse = run.input({2, 2}), d.dlogits = run.output(6);
      } else {
        d.loss = run.output(2), d.lse = run.output(2);
      }
      return run.table().softmax_xent(run.context(), &d);
    });
  }
}

}  // namespace

void check_linear_fwd(Kit& kit) {
  for (const DenseLayer& l : kLayers) {
    for (int activation = TV_ACT_NONE; activation <= TV_ACT_SILU; ++activation) {
      check_linear_fwd(kit, l, activation, activation != TV_ACT_TANH);
    }
  }
}

void check_linear_bwd(Kit& kit) {
  for (const DenseLayer& l : kLayers) {
    for (int activation = TV_ACT_NONE; activation <= TV_ACT_SILU; ++activation) {
      const bool odd = activation % 2 != 0;
      check_linear_bwd(kit, l, activation, odd ? 1.0f : 0.0f, odd ? Dz::dy : Dz::apart,
                       {.dx = true, .dw = true, .db = true});
    }
    check_linear_bwd(kit, l, TV_ACT_RELU, 0, Dz::apart, {.dw = true, .db = true});
    check_linear_bwd(kit, l, TV_ACT_RELU, 0, Dz::apart, {.dx = true, .dw = true});
    check_linear_bwd(kit, l, TV_ACT_NONE, 1, Dz::apart, {.dx = true});
  }
  check_linear_at_zero(kit);
}

void check_act_fwd(Kit& kit) {
  check_activations(kit, Pass::forward);
  check_relu_nan(kit);
}

void check_act_bwd(Kit& kit) {
  check_activations(kit, Pass::backward);
  check_slopes_at_zero(kit);
}

void check_softmax_xent(Kit& kit) {
  for (const Classes& c : kClasses) check_softmax(kit, c);
  check_bad_target(kit);
}

}  // namespace trivet::testing
