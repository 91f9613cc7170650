// SPDX-License-Identifier: Apache-2.0
// Conformance of norm_fwd and norm_bwd, and of the batch norm kernels
// (trivet/backend/kernels/norm.h).

#include <cmath>

#include "conformance.h"
#include "trivet/backend/kernels/norm.h"

namespace trivet::testing {
namespace {

struct Rows {
  std::int64_t rows, n;
};
const Rows kRows[] = {{1, 1}, {0, 3}, {3, 0}, {2, 16}, {7, 5}, {33, 65}, {300, 70}, {5, 1000}};
const Rows kBatches[] = {{1, 1},   {0, 3},    {3, 0},    {2, 16},    {50, 5},
                         {33, 65}, {1000, 7}, {700, 48}, {2000, 17}, {3, 20000}};

std::string case_text(const Rows& r) {
  return std::to_string(r.rows) + "x" + std::to_string(r.n);
}

// ---- Over rows

struct NormCase {
  tv_norm_kind kind;
  bool gamma, beta, residual, sum;
};
const NormCase kNorms[] = {
    {TV_LAYER_NORM, true, true, false, false}, {TV_LAYER_NORM, true, false, false, true},
    {TV_LAYER_NORM, false, true, true, false}, {TV_LAYER_NORM, false, false, false, false},
    {TV_RMS_NORM, true, false, true, true},    {TV_RMS_NORM, false, false, false, false}};
constexpr float kEpsilon = 1e-3f;

std::string case_text(const NormCase& c) {
  return std::string(c.kind == TV_LAYER_NORM ? "layer" : "rms") + (c.gamma ? ", gamma" : "") +
         (c.beta ? ", beta" : "") + (c.residual ? ", residual" : "") + (c.sum ? ", sum" : "");
}

struct RowMoments {
  Values mean, rstd;
};

RowMoments moments_of(const Rows& r, tv_norm_kind kind, const Values& x) {
  RowMoments m{zeros(r.rows), zeros(r.rows)};
  const auto n = static_cast<double>(r.n);
  for (std::int64_t row = 0; row < r.rows; ++row) {
    double power = 0;
    for (std::int64_t j = 0; j < r.n && kind == TV_LAYER_NORM; ++j) {
      at(m.mean, row) += at(x, row * r.n + j) / n;
    }
    for (std::int64_t j = 0; j < r.n; ++j) {
      power += std::pow(at(x, row * r.n + j) - at(m.mean, row), 2) / n;
    }
    at(m.rstd, row) = 1 / std::sqrt(power + static_cast<double>(kEpsilon));
  }
  return m;
}

void check_norm_fwd(Kit& kit, const Rows& r, const NormCase& c) {
  const Values x = random_values(151, r.rows * r.n, -1, 3), gamma = random_values(152, r.n);
  const Values beta = random_values(153, r.n), residual = random_values(154, r.rows * r.n);
  Values sum = x, y = zeros(r.rows * r.n);
  for (std::size_t i = 0; c.residual && i < sum.size(); ++i) sum[i] += residual[i];
  const RowMoments m = moments_of(r, c.kind, sum);
  for (std::int64_t i = 0; i < r.rows * r.n; ++i) {
    at(y, i) = (at(sum, i) - at(m.mean, i / r.n)) * at(m.rstd, i / r.n) *
                   (c.gamma ? at(gamma, i % r.n) : 1) +
               (c.beta ? at(beta, i % r.n) : 0);
  }
  // Without columns there is nothing to take a mean of; without a mean, nothing is asked of it.
  const bool compares_mean = c.kind == TV_LAYER_NORM && r.n > 0;
  std::vector<Values> want = {y, compares_mean ? m.mean : Values{}, r.n > 0 ? m.rstd : Values{}};
  if (c.sum) want.push_back(sum);
  kit.check("norm_fwd", case_text(r) + " " + case_text(c), 1e-5, want, [&](Run& run) {
    tv_norm d = {};
    d.struct_size = sizeof(d);
    d.kind = static_cast<std::uint8_t>(c.kind);
    d.rows = r.rows, d.n = r.n, d.epsilon = kEpsilon;
    d.x = run.input(x);
    if (c.gamma) d.gamma = run.input(gamma);
    if (c.beta) d.beta = run.input(beta);
    if (c.residual) d.residual = run.input(residual);
    d.y = run.output(r.rows * r.n);
    d.mean = run.output(r.rows), d.rstd = run.output(r.rows);
    if (c.sum) d.sum = run.output(r.rows * r.n);
    return run.table().norm_fwd(run.context(), &d);
  });
}

void check_norm_bwd(Kit& kit, const Rows& r, const NormCase& c, float beta) {
  const Values x = random_values(155, r.rows * r.n, -1, 3), gamma = random_values(156, r.n);
  const Values dy = random_values(157, r.rows * r.n);
  const Values dgamma_start = random_values(158, r.n), dbeta_start = random_values(159, r.n);
  const RowMoments m = moments_of(r, c.kind, x);
  Values dx = zeros(r.rows * r.n), dgamma = zeros(r.n), dbeta = zeros(r.n);
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const auto unit = [&](std::int64_t i) {
      return (at(x, i) - at(m.mean, row)) * at(m.rstd, row);
    };
    const auto g = [&](std::int64_t i) { return at(dy, i) * (c.gamma ? at(gamma, i % r.n) : 1); };
    double mean_g = 0, mean_gx = 0;
    for (std::int64_t i = row * r.n; i < (row + 1) * r.n; ++i) {
      mean_g += c.kind == TV_LAYER_NORM ? g(i) / static_cast<double>(r.n) : 0;
      mean_gx += g(i) * unit(i) / static_cast<double>(r.n);
      at(dgamma, i % r.n) += at(dy, i) * unit(i);
      at(dbeta, i % r.n) += at(dy, i);
    }
    for (std::int64_t i = row * r.n; i < (row + 1) * r.n; ++i) {
      at(dx, i) = at(m.rstd, row) * (g(i) - mean_g - unit(i) * mean_gx);
    }
  }
  for (std::size_t j = 0; beta != 0 && j < dgamma.size(); ++j) {
    dgamma[j] += dgamma_start[j];
    dbeta[j] += dbeta_start[j];
  }
  std::vector<Values> want = {dx};
  if (c.gamma) want.push_back(dgamma);
  if (c.beta) want.push_back(dbeta);
  const std::string subject = case_text(r) + " " + case_text(c) + " beta=" + std::to_string(beta);
  kit.check("norm_bwd", subject, 5e-5, want, [&](Run& run) {
    tv_norm_grad d = {};
    d.struct_size = sizeof(d);
    d.kind = static_cast<std::uint8_t>(c.kind);
    d.rows = r.rows, d.n = r.n;
    d.x = run.input(x), d.dy = run.input(dy);
    if (c.gamma) d.gamma = run.input(gamma);
    d.mean = run.input(m.mean), d.rstd = run.input(m.rstd);
    d.dx = run.output(r.rows * r.n);
    if (c.gamma) d.dgamma = run.in_out(dgamma_start);
    if (c.beta) d.dbeta = run.in_out(dbeta_start);
    d.beta_dgamma = d.beta_dbeta = beta;
    return run.table().norm_bwd(run.context(), &d);
  });
}

// ---- Over columns

struct BatchCase {
  bool gamma, beta, relu;
  double offset;  // of x: large against its spread, where naive variances lose their digits

  // The mean is in f32, with half a unit of 1.5e-5 at 256, and rstd is at most 32 here.
  double slack() const { return 1e-5 * offset; }
};
const BatchCase kBatchNorms[] = {
    {true, true, false, 0}, {true, true, true, 0.5},    {true, false, true, 0},
    {false, true, true, 0}, {false, false, false, 256},
};

std::string case_text(const BatchCase& c) {
  return std::string(c.gamma ? "gamma, " : "") + (c.beta ? "beta, " : "") +
         (c.relu ? "relu, " : "") + "about " + std::to_string(c.offset);
}

struct Batch {
  Values x, gamma, beta, mean, variance, y;

  Batch(const Rows& r, const BatchCase& c)
      : x(random_values(161, r.rows * r.n, c.offset - 1, c.offset + 1)),
        gamma(random_values(162, r.n, 0.5, 1.5)),
        beta(random_values(163, r.n)),
        mean(zeros(r.n)),
        variance(zeros(r.n)),
        y(zeros(r.rows * r.n)) {
    const auto rows = static_cast<double>(r.rows);
    for (std::int64_t i = 0; i < r.rows * r.n; ++i) at(mean, i % r.n) += at(x, i) / rows;
    for (std::int64_t i = 0; i < r.rows * r.n; ++i) {
      at(variance, i % r.n) += std::pow(at(x, i) - at(mean, i % r.n), 2) / rows;
    }
    for (std::int64_t i = 0; i < r.rows * r.n; ++i) {
      const double z =
          unit(r, i) * (c.gamma ? at(gamma, i % r.n) : 1) + (c.beta ? at(beta, i % r.n) : 0);
      at(y, i) = c.relu && z < 0 ? 0 : z;
    }
  }
  double rstd(const Rows& r, std::int64_t i) const {
    return 1 / std::sqrt(at(variance, i % r.n) + static_cast<double>(kEpsilon));
  }
  double unit(const Rows& r, std::int64_t i) const {
    return (at(x, i) - at(mean, i % r.n)) * rstd(r, i);
  }
};

void check_batch_norm_fwd(Kit& kit, tv_batch_norm_fwd_fn function, const Rows& r,
                          const BatchCase& c) {
  const Batch b(r, c);
  kit.check(TV_BATCH_NORM_FWD, case_text(r) + " " + case_text(c), 2e-5 + c.slack(),
            {b.y, b.mean, b.variance}, [&](Run& run) {
              tv_batch_norm d = {};
              d.struct_size = sizeof(d);
              d.activation = c.relu ? TV_ACT_RELU : TV_ACT_NONE;
              d.rows = r.rows, d.n = r.n, d.epsilon = kEpsilon;
              d.x = run.input(b.x);
              if (c.gamma) d.gamma = run.input(b.gamma);
              if (c.beta) d.beta = run.input(b.beta);
              d.y = run.output(r.rows * r.n);
              d.mean = run.output(r.n), d.variance = run.output(r.n);
              return function(run.context(), &d);
            });
}

struct Wanted {
  bool dx, parameters, in_place;
  float beta;
};

void check_batch_norm_bwd(Kit& kit, tv_batch_norm_bwd_fn function, const Rows& r,
                          const BatchCase& c, const Wanted& wanted) {
  const Batch b(r, c);
  const Values dy = random_values(164, r.rows * r.n);
  const Values dgamma_start = random_values(165, r.n), dbeta_start = random_values(166, r.n);
  const auto rows = static_cast<double>(r.rows);
  Values dgamma = zeros(r.n), dbeta = zeros(r.n), dx = zeros(r.rows * r.n);
  const auto g = [&](std::int64_t i) { return c.relu && at(b.y, i) <= 0 ? 0 : at(dy, i); };
  for (std::int64_t i = 0; i < r.rows * r.n; ++i) {
    at(dgamma, i % r.n) += g(i) * b.unit(r, i);
    at(dbeta, i % r.n) += g(i);
  }
  for (std::int64_t i = 0; i < r.rows * r.n; ++i) {
    const double rest =
        g(i) - at(dbeta, i % r.n) / rows - b.unit(r, i) * at(dgamma, i % r.n) / rows;
    at(dx, i) = b.rstd(r, i) * rest * (c.gamma ? at(b.gamma, i % r.n) : 1);
  }
  for (std::size_t j = 0; wanted.beta != 0 && j < dgamma.size(); ++j) {
    dgamma[j] += dgamma_start[j];
    dbeta[j] += dbeta_start[j];
  }
  std::vector<Values> want;
  if (wanted.dx) want.push_back(dx);
  if (wanted.parameters) want.insert(want.end(), {dgamma, dbeta});
  const std::string subject = case_text(r) + " " + case_text(c) + (wanted.dx ? "" : ", no dx") +
                              (wanted.parameters ? "" : ", no dgamma") +
                              (wanted.in_place ? ", in place" : "");
  kit.check(TV_BATCH_NORM_BWD, subject, 1e-4 + c.slack(), want, [&](Run& run) {
    tv_batch_norm_grad d = {};
    d.struct_size = sizeof(d);
    d.activation = c.relu ? TV_ACT_RELU : TV_ACT_NONE;
    d.rows = r.rows, d.n = r.n, d.epsilon = kEpsilon;
    d.x = run.input(b.x);
    if (c.gamma) d.gamma = run.input(b.gamma);
    if (c.relu) d.y = run.input(b.y);
    d.mean = run.input(b.mean), d.variance = run.input(b.variance);
    if (wanted.dx) d.dx = wanted.in_place ? run.in_out(dy) : run.output(r.rows * r.n);
    d.dy = wanted.in_place ? d.dx : static_cast<void*>(run.input(dy));
    if (wanted.parameters) d.dgamma = run.in_out(dgamma_start), d.dbeta = run.in_out(dbeta_start);
    d.beta_dgamma = d.beta_dbeta = wanted.beta;
    return function(run.context(), &d);
  });
}

template <typename F>
F kernel(Kit& kit, const char* name) {
  return reinterpret_cast<F>(const_cast<void*>(kit.extension(name)));
}

}  // namespace

void check_norm_fwd(Kit& kit) {
  for (const Rows& r : kRows) {
    for (const NormCase& c : kNorms) check_norm_fwd(kit, r, c);
  }
}

void check_norm_bwd(Kit& kit) {
  for (const Rows& r : kRows) {
    for (const NormCase& c : kNorms) {
      if (c.residual) continue;  // the gradient is the sum's
      for (const float beta : {0.0f, 1.0f}) check_norm_bwd(kit, r, c, beta);
    }
  }
}

void check_batch_norm(Kit& kit) {
  const auto fwd = kernel<tv_batch_norm_fwd_fn>(kit, TV_BATCH_NORM_FWD);
  const auto bwd = kernel<tv_batch_norm_bwd_fn>(kit, TV_BATCH_NORM_BWD);
  for (const Rows& r : kBatches) {
    for (const BatchCase& c : kBatchNorms) {
      if (fwd) check_batch_norm_fwd(kit, fwd, r, c);
      if (!bwd) continue;
      const Wanted all{true, true, false, 0};
      for (const Wanted& wanted : {all, Wanted{true, true, true, 1}, Wanted{true, false, false, 0},
                                   Wanted{false, true, false, 1}}) {
        check_batch_norm_bwd(kit, bwd, r, c, wanted);
      }
    }
  }
}

}  // namespace trivet::testing
