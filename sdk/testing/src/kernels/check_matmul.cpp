// SPDX-License-Identifier: Apache-2.0
// Conformance of matmul.

#include <algorithm>
#include <cmath>

#include "conformance.h"

namespace trivet::testing {
namespace {

struct MatmulCase {
  std::int64_t batch, m, n, k;
  std::int64_t pad = 0;  // added to every leading dimension
  bool shared_a = false, shared_b = false;
};

const MatmulCase kMatmulCases[] = {
    {1, 1, 1, 1},
    {1, 3, 5, 7},
    {1, 0, 5, 7},
    {1, 3, 0, 7},
    {1, 3, 5, 0},
    {0, 3, 5, 7},
    {1, 17, 33, 65, 3},
    {4, 9, 10, 11},
    {5, 13, 12, 8, 1},
    {3, 6, 7, 8, 0, true},
    {3, 6, 7, 8, 0, false, true},
    {1, 1, 300, 200},
    {1, 300, 1, 200},
    {1, 128, 10, 512},
    {1, 130, 257, 129},
    {1, 519, 300, 70, 5},
    {40, 33, 31, 32},
    {1, 8, 8, 5000},
    {1, 63, 65, 1000},
    {1, 65, 1000, 63},
    {1, 1000, 63, 3},
    {1, 3, 129, 800, 1},
    {1, 2500, 3, 40},
    {2, 2500, 200, 5},
};

std::string case_text(const MatmulCase& c, bool ta, bool tb, float alpha, float beta) {
  std::string text = "batch=" + std::to_string(c.batch) + " m=" + std::to_string(c.m) +
                     " n=" + std::to_string(c.n) + " k=" + std::to_string(c.k);
  if (ta) text += " trans_a";
  if (tb) text += " trans_b";
  if (c.pad) text += " padded rows";
  if (c.shared_a) text += " one a";
  if (c.shared_b) text += " one b";
  return text + " alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta);
}

struct Factor {
  std::int64_t rows, cols, ld, stride, total;
};

struct MatrixForm {
  bool transposed = false, shared = false;
};

Factor operand(std::int64_t rows, std::int64_t cols, MatrixForm form, const MatmulCase& c) {
  const auto [transposed, shared] = form;
  Factor o{transposed ? cols : rows, transposed ? rows : cols, 0, 0, 0};
  o.ld = std::max<std::int64_t>(1, o.cols + c.pad);
  o.stride = shared ? 0 : o.rows * o.ld;
  o.total = shared ? o.rows * o.ld : c.batch * o.rows * o.ld;
  return o;
}

Values multiplied(const MatmulCase& c, bool ta, bool tb, const Factor& oa, const Factor& ob,
                  const Factor& oc, const Values& a, const Values& b, Values out, double alpha,
                  double beta) {
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < c.k; ++p) {
          const auto at = batch * oa.stride + (ta ? p * oa.ld + i : i * oa.ld + p);
          const auto bt = batch * ob.stride + (tb ? j * ob.ld + p : p * ob.ld + j);
          sum += a[static_cast<std::size_t>(at)] * b[static_cast<std::size_t>(bt)];
        }
        double& to = out[static_cast<std::size_t>(batch * oc.stride + i * oc.ld + j)];
        to = alpha * sum + (beta == 0 ? 0 : beta * to);
      }
    }
  }
  return out;
}

void check_case(Kit& kit, const MatmulCase& c, bool ta, bool tb, float alpha, float beta) {
  const Factor oa = operand(c.m, c.k, {ta, c.shared_a}, c);
  const Factor ob = operand(c.k, c.n, {tb, c.shared_b}, c);
  const Factor oc = operand(c.m, c.n, {}, c);
  const Values a = random_values(71, oa.total), b = random_values(72, ob.total);
  // With beta 0 the old C must not be read: it holds NaNs. Padding of rows keeps its value.
  Values start = random_values(73, oc.total);
  if (beta == 0) {
    for (std::int64_t i = 0; i < oc.total; ++i) {
      if (i % oc.ld < c.n) start[static_cast<std::size_t>(i)] = NAN;
    }
  }
  const Values want = multiplied(c, ta, tb, oa, ob, oc, a, b, start, alpha, beta);
  // One f32 sum in plain order: the rounding error walks like the square root of the terms.
  const double tolerance = 1e-6 * (20 + std::sqrt(static_cast<double>(c.k)));
  kit.check("matmul", case_text(c, ta, tb, alpha, beta), tolerance, {want}, [&](Run& run) {
    tv_matmul d = {};
    d.struct_size = sizeof(d);
    d.dtype = TV_F32;
    d.trans_a = ta;
    d.trans_b = tb;
    d.batch = c.batch, d.m = c.m, d.n = c.n, d.k = c.k;
    d.a = run.input(a), d.lda = oa.ld, d.stride_a = oa.stride;
    d.b = run.input(b), d.ldb = ob.ld, d.stride_b = ob.stride;
    d.c = run.in_out(start), d.ldc = oc.ld, d.stride_c = oc.stride;
    d.alpha = alpha, d.beta = beta;
    return run.table().matmul(run.context(), &d);
  });
}

}  // namespace

void check_matmul(Kit& kit) {
  for (const MatmulCase& c : kMatmulCases) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check_case(kit, c, ta, tb, 1, 0);
        check_case(kit, c, ta, tb, 1, 1);
        check_case(kit, c, ta, tb, -0.5f, 1);
      }
    }
  }
}

}  // namespace trivet::testing
