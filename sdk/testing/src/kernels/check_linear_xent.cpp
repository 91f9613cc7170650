// SPDX-License-Identifier: Apache-2.0
// Conformance of linear_xent.

#include <algorithm>
#include <cmath>

#include "conformance.h"

namespace trivet::testing {
namespace {

struct Classifier {
  std::int64_t rows, in, classes;
  double smoothing = 0, z_loss = 0, softcap = 0;
  double spread = 1;  // of h
};
const Classifier kClassifiers[] = {
    {1, 1, 1},
    {0, 3, 5},
    {4, 0, 3},
    {7, 13, 10},
    {33, 40, 65, 0.1, 0, 0},
    {9, 20, 31, 0, 1e-2, 3},
    {40, 9, 300, 0.2, 1e-2, 5},
    {21, 30, 17, 0, 0, 0, 100},
    // More rows than a kernel has a reason to take at a time.
    {1100, 6, 600, 0.1, 1e-3, 0},
    {5000, 4, 3, 0, 0, 2},
};

std::string text(const Classifier& c) {
  std::string all =
      std::to_string(c.rows) + "x" + std::to_string(c.in) + " to " + std::to_string(c.classes);
  if (c.smoothing > 0) all += " smoothing=" + std::to_string(c.smoothing);
  if (c.z_loss > 0) all += " z_loss=" + std::to_string(c.z_loss);
  if (c.softcap > 0) all += " softcap=" + std::to_string(c.softcap);
  return all;
}

struct Diagnostic {
  Values h, w, targets, weight, dw_start;  // w [in, classes]
};

Diagnostic drawn(const Classifier& c) {
  Diagnostic p{random_values(161, c.rows * c.in, -c.spread, c.spread),
               random_values(162, c.in * c.classes),
               random_integers(163, c.rows, 0, static_cast<int>(c.classes)),
               random_values(164, c.rows, 0, 2), random_values(165, c.in * c.classes)};
  if (c.rows > 4) p.targets[3] = -1;
  return p;
}

// [a, b] -> [b, a]
Values turned(const Values& x, std::int64_t a, std::int64_t b) {
  Values y;
  for (std::int64_t i = 0; i < a * b; ++i) y.push_back(at(x, i % a * b + i / a));
  return y;
}

struct Answer {
  Values loss, lse, dh, dw;
};

// Row r of the answer, by the formulas of backend.h.
void add_row(const Classifier& c, const Diagnostic& p, std::int64_t r, Answer& out) {
  Values z, slope;
  for (std::int64_t j = 0; j < c.classes; ++j) {
    double logit = 0;
    for (std::int64_t k = 0; k < c.in; ++k) {
      logit += at(p.h, r * c.in + k) * at(p.w, k * c.classes + j);
    }
    const double t = c.softcap > 0 ? std::tanh(logit / c.softcap) : 0;
    z.push_back(c.softcap > 0 ? c.softcap * t : logit);
    slope.push_back(1 - t * t);
  }
  const double most = *std::max_element(z.begin(), z.end());
  double sum = 0, expected = 0;
  for (const double logit : z) sum += std::exp(logit - most);
  const double lse = most + std::log(sum), counts = at(p.targets, r) < 0 ? 0 : 1;
  for (std::int64_t j = 0; j < c.classes; ++j) {
    const double hit = static_cast<double>(j) == at(p.targets, r);
    const double q = (1 - c.smoothing) * hit + c.smoothing / static_cast<double>(c.classes);
    expected += q * at(z, j);
    const double softmax = std::exp(at(z, j) - lse);
    const double dlogit =
        counts * at(p.weight, r) * at(slope, j) * ((1 + 2 * c.z_loss * lse) * softmax - q);
    for (std::int64_t k = 0; k < c.in; ++k) {
      at(out.dh, r * c.in + k) += dlogit * at(p.w, k * c.classes + j);
      at(out.dw, k * c.classes + j) += dlogit * at(p.h, r * c.in + k);
    }
  }
  out.lse.push_back(lse);
  out.loss.push_back(counts * (lse - expected + c.z_loss * lse * lse));
}

struct ClassifierGradients {
  bool dh, dw;
};

enum class WeightLayout { plain, transposed };  // of w

void check_one(Kit& kit, const Classifier& c, WeightLayout layout, float beta,
               const ClassifierGradients& wanted) {
  const bool transposed = layout == WeightLayout::transposed;
  const Diagnostic p = drawn(c);
  Answer answer{{}, {}, Values(p.h.size(), 0.0), Values(p.w.size(), 0.0)};
  if (beta != 0) answer.dw = p.dw_start;
  for (std::int64_t r = 0; r < c.rows; ++r) add_row(c, p, r, answer);
  const auto as_laid_out = [&](const Values& w) {
    return transposed ? turned(w, c.in, c.classes) : w;
  };
  std::vector<Values> want{answer.loss, answer.lse};
  if (wanted.dh) want.push_back(answer.dh);
  if (wanted.dw) want.push_back(as_laid_out(answer.dw));
  const std::string subject = text(c) + (transposed ? " transposed" : "") +
                              (wanted.dh ? " dh" : "") + (wanted.dw ? " dw" : "") +
                              (beta != 0 ? " added" : "");
  kit.check("linear_xent", subject, 1e-4, want, [&](Run& run) {
    tv_linear_xent d = {};
    d.struct_size = sizeof(d);
    d.w_transposed = transposed;
    d.rows = c.rows, d.in = c.in, d.classes = c.classes;
    d.h = run.input(p.h), d.w = run.input(as_laid_out(p.w));
    d.targets = run.input(p.targets, TV_I32), d.row_weight = run.input(p.weight);
    d.loss = run.output(c.rows), d.lse = run.output(c.rows);
    if (wanted.dh) d.dh = run.output(c.rows * c.in);
    if (wanted.dw) d.dw = run.in_out(as_laid_out(p.dw_start));
    d.beta_dw = beta;
    d.smoothing = static_cast<float>(c.smoothing), d.z_loss = static_cast<float>(c.z_loss);
    d.softcap = static_cast<float>(c.softcap);
    return run.table().linear_xent(run.context(), &d);
  });
}

void check_bad_class(Kit& kit) {
  kit.check_error("linear_xent", "a target that is no class", [&](Run& run) {
    tv_linear_xent d = {};
    d.struct_size = sizeof(d);
    d.rows = 2, d.in = 1, d.classes = 3;
    d.h = run.input({1, 2}), d.w = run.input({1, 2, 3});
    d.targets = run.input({0, 3}, TV_I32), d.row_weight = run.input({1, 1});
    d.loss = run.output(2), d.lse = run.output(2);
    d.dh = run.output(2), d.dw = run.output(3);
    return run.table().linear_xent(run.context(), &d);
  });
}

}  // namespace

void check_linear_xent(Kit& kit) {
  for (const Classifier& c : kClassifiers) {
    for (const WeightLayout layout : {WeightLayout::plain, WeightLayout::transposed}) {
      check_one(kit, c, layout, 0, {true, true});
      check_one(kit, c, layout, 1, {true, true});
      check_one(kit, c, layout, 0, {false, false});
    }
    check_one(kit, c, WeightLayout::plain, 0, {true, false});
    check_one(kit, c, WeightLayout::transposed, 1, {false, true});
  }
  check_bad_class(kit);
}

}  // namespace trivet::testing
