// SPDX-License-Identifier: Apache-2.0
#include "search/math/cma_state.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

namespace trivet::search {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// (sum w)^2 / sum w^2
double effective_size(const VectorXd& weights) {
  const double sum = weights.sum();
  return sum * sum / weights.squaredNorm();
}

// Equations 49 to 53 of the tutorial: positive weights add up to 1; negative weights are limited so
// that the covariance stays positive definite.
VectorXd scaled_weights(const VectorXd& raw, const CmaParameters& p, double n) {
  const VectorXd negative = raw.tail(p.lambda - p.mu);
  const double mu_eff_minus = effective_size(negative);
  const double alpha_mu = 1 + p.c_1 / p.c_mu;
  const double alpha_mu_eff = 1 + 2 * mu_eff_minus / (p.mu_eff + 2);
  const double alpha_definite = (1 - p.c_1 - p.c_mu) / (n * p.c_mu);
  VectorXd weights(p.lambda);
  weights.head(p.mu) = raw.head(p.mu) / raw.head(p.mu).sum();
  weights.tail(p.lambda - p.mu) =
      negative * (std::min({alpha_mu, alpha_mu_eff, alpha_definite}) / -negative.sum());
  return weights;
}

}  // namespace

Index default_lambda(Index n) {
  return 4 + static_cast<Index>(std::floor(3 * std::log(static_cast<double>(n))));
}

CmaParameters cma_parameters(Index dimensions, Index lambda) {
  const auto n = static_cast<double>(dimensions);
  CmaParameters p;
  p.lambda = lambda;
  p.mu = lambda / 2;
  VectorXd raw(lambda);
  for (Index i = 0; i < lambda; ++i) {
    raw[i] = std::log((static_cast<double>(lambda) + 1) / 2) - std::log(static_cast<double>(i + 1));
  }
  const double mu_eff = p.mu_eff = effective_size(raw.head(p.mu));
  p.c_sigma = (mu_eff + 2) / (n + mu_eff + 5);
  p.d_sigma = 1 + 2 * std::max(0.0, std::sqrt((mu_eff - 1) / (n + 1)) - 1) + p.c_sigma;
  p.c_c = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n);
  p.c_1 = 2 / ((n + 1.3) * (n + 1.3) + mu_eff);
  p.c_mu = std::min(1 - p.c_1, 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((n + 2) * (n + 2) + mu_eff));
  p.chi_n = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  p.weights = scaled_weights(raw, p, n);
  return p;
}

CmaState::CmaState(const CmaParameters& parameters, VectorXd mean, double sigma)
    : p_(parameters),
      mean_(std::move(mean)),
      sigma_(sigma),
      covariance_(Eigen::MatrixXd::Identity(mean_.size(), mean_.size())),
      path_sigma_(VectorXd::Zero(mean_.size())),
      path_c_(VectorXd::Zero(mean_.size())) {
  decompose();
}

void CmaState::decompose() {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance_);
  axes_ = solver.eigenvectors();
  // Rounding may make an eigenvalue too small.
  const double least = 1e-20 * std::max(1e-280, solver.eigenvalues().maxCoeff());
  lengths_ = solver.eigenvalues().cwiseMax(least).cwiseSqrt();
}

VectorXd CmaState::draw(RandomStream& draws) const {
  VectorXd z(mean_.size());
  for (double& coordinate : z) coordinate = draws.normal();
  return mean_ + sigma_ * (axes_ * lengths_.cwiseProduct(z));
}

VectorXd CmaState::whitened(const VectorXd& y) const {
  return axes_ * (axes_.transpose() * y).cwiseQuotient(lengths_);
}

void CmaState::tell(std::vector<std::pair<VectorXd, double>> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  const double farthest = p_.chi_n + 3;
  std::vector<VectorXd> steps;
  for (const auto& point : points) {
    const VectorXd y = (point.first - mean_) / sigma_;
    steps.push_back(y * std::min(1.0, farthest / std::max(whitened(y).norm(), 1e-300)));
  }
  VectorXd y_w = VectorXd::Zero(mean_.size());
  for (Index i = 0; i < p_.mu; ++i) y_w += p_.weights[i] * steps[static_cast<std::size_t>(i)];

  mean_ += sigma_ * y_w;
  path_sigma_ = (1 - p_.c_sigma) * path_sigma_ +
                std::sqrt(p_.c_sigma * (2 - p_.c_sigma) * p_.mu_eff) * whitened(y_w);
  ++generation_;
  const double memory = 1 - std::pow(1 - p_.c_sigma, 2 * generation_);
  const double usual = (1.4 + 2 / (static_cast<double>(mean_.size()) + 1)) * p_.chi_n;
  const bool h_sigma = path_sigma_.norm() / std::sqrt(memory) < usual;
  path_c_ *= 1 - p_.c_c;
  if (h_sigma) path_c_ += std::sqrt(p_.c_c * (2 - p_.c_c) * p_.mu_eff) * y_w;

  update_covariance(steps, h_sigma);
  sigma_ *= std::exp(p_.c_sigma / p_.d_sigma * (path_sigma_.norm() / p_.chi_n - 1));
  decompose();
}

void CmaState::update_covariance(const std::vector<VectorXd>& steps, bool h_sigma) {
  const auto n = static_cast<double>(mean_.size());
  const double lost = h_sigma ? 0 : p_.c_c * (2 - p_.c_c);
  Eigen::MatrixXd next = (1 + p_.c_1 * lost - p_.c_1 - p_.c_mu * p_.weights.sum()) * covariance_;
  next += p_.c_1 * path_c_ * path_c_.transpose();
  for (Index i = 0; i < p_.lambda; ++i) {
    const VectorXd& y = steps[static_cast<std::size_t>(i)];
    double weight = p_.weights[i];
    if (weight < 0) weight *= n / std::max(whitened(y).squaredNorm(), 1e-300);
    next += p_.c_mu * weight * y * y.transpose();
  }
  covariance_ = next;
}

void CmaState::keep_wide(const VectorXd& least) {
  bool changed = false;
  for (Index i = 0; i < mean_.size(); ++i) {
    const double width = sigma_ * std::sqrt(covariance_(i, i));
    if (!(width < least[i])) continue;
    covariance_.row(i) *= least[i] / width;
    covariance_.col(i) *= least[i] / width;
    changed = true;
  }
  if (changed) decompose();
}

}  // namespace trivet::search
