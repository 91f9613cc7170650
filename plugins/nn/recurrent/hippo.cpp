// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/hippo.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trivet::nn {
namespace {

using Matrix = std::vector<std::vector<double>>;

// K^T K of the skew-symmetric part of LegS: K_ij = -p_i p_j below the diagonal and p_i p_j above
// it, with p_i = sqrt(i + 1/2).
Matrix squared_legs(std::size_t n) {
  const auto k = [](std::size_t i, std::size_t j) {
    if (i == j) return 0.0;
    const double p = std::sqrt((static_cast<double>(i) + 0.5) * (static_cast<double>(j) + 0.5));
    return i > j ? -p : p;
  };
  Matrix squared(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t m = 0; m < n; ++m) squared[i][j] += k(m, i) * k(m, j);
    }
  }
  return squared;
}

// One rotation of Jacobi's method, which makes m_pq zero.
void rotate(Matrix& m, std::size_t p, std::size_t q) {
  if (m[p][q] == 0) return;
  const double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
  const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1), s = t * c;
  for (std::size_t i = 0; i < m.size(); ++i) {
    const double a = m[i][p], b = m[i][q];
    m[i][p] = c * a - s * b;
    m[i][q] = s * a + c * b;
  }
  for (std::size_t i = 0; i < m.size(); ++i) {
    const double a = m[p][i], b = m[q][i];
    m[p][i] = c * a - s * b;
    m[q][i] = s * a + c * b;
  }
}

// Eigenvalues of a symmetric matrix, increasing (Golub and Van Loan, 8.5: cyclic Jacobi).
std::vector<double> eigenvalues(Matrix m) {
  constexpr int kMostSweeps = 60;  // about ten do
  double all = 0;
  for (const auto& row : m) {
    for (const double v : row) all += v * v;
  }
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0;
    for (std::size_t i = 0; i < m.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) off += m[i][j] * m[i][j];
    }
    if (off <= 1e-30 * all) break;
    for (std::size_t p = 0; p < m.size(); ++p) {
      for (std::size_t q = p + 1; q < m.size(); ++q) rotate(m, p, q);
    }
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < m.size(); ++i) values.push_back(m[i][i]);
  std::ranges::sort(values);
  return values;
}

// The squares come in pairs of w and -w, and for odd n there is a 0.
std::vector<double> legs(std::size_t n) {
  std::vector<double> w;
  const std::vector<double> squares = eigenvalues(squared_legs(n));
  for (std::size_t i = n % 2; i < n; i += 2) {
    const double size = std::sqrt(std::max((squares[i] + squares[i + 1]) / 2, 0.0));
    w.push_back(size);
    w.push_back(-size);
  }
  if (n % 2 == 1) w.push_back(0);
  return w;
}

}  // namespace

std::vector<std::complex<double>> hippo_eigenvalues(HippoType type, std::int64_t n) {
  const auto count = static_cast<double>(n);
  std::vector<double> w;
  if (type == HippoType::legs) w = legs(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n && type != HippoType::legs; ++i) {
    const auto k = static_cast<double>(i);
    w.push_back(type == HippoType::linear
                    ? std::numbers::pi * (count - 1) * (k / count - 0.5)
                    : count / 2 / std::tan((2 * k + 1) * std::numbers::pi / (2 * count)));
  }
  std::ranges::sort(w);
  std::vector<std::complex<double>> eigenvalues;
  for (const double each : w) eigenvalues.emplace_back(-0.5, each);
  return eigenvalues;
}

}  // namespace trivet::nn
