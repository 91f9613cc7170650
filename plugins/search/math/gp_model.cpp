// SPDX-License-Identifier: Apache-2.0
#include "search/math/gp_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "search/math/maximize.h"
#include "trivet/error.h"

namespace trivet::search {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kRoot5 = 2.23606797749978969641;

std::size_t dimensions_of(const GpData& data) {
  return 1 + *std::max_element(data.dimension_of.begin(), data.dimension_of.end());
}

GpParameters unpack(const std::vector<double>& packed) {
  return {{packed.begin(), packed.end() - 2}, packed[packed.size() - 2], packed.back()};
}

// Pairs of limits, then starting points of the optimization, equal in all dimensions.
constexpr double kLengths[] = {0.05, 20};
constexpr double kSignals[] = {0.05, 20};
constexpr double kNoises[] = {1e-6, 1};
struct Start {
  double length, signal, noise;
};
constexpr Start kStarts[] = {{0.3, 1, 1e-3}, {1, 1, 1e-2}, {3, 2, 1e-1}};
constexpr int kEvaluations = 60;

std::vector<double> pack(std::size_t dimensions, double length, double signal, double noise) {
  std::vector<double> values(dimensions, std::log(length));
  values.push_back(std::log(signal));
  values.push_back(std::log(noise));
  return values;
}

}  // namespace

double matern52(double r) {
  const double a = kRoot5 * r;
  return (1 + a + a * a / 3) * std::exp(-a);
}

GpLikelihood::GpLikelihood(const GpData& data) : data_(data) {
  const Index n = data.x.rows();
  squares_.assign(dimensions_of(data), MatrixXd::Zero(n, n));
  for (Index f = 0; f < data.x.cols(); ++f) {
    const MatrixXd column = data.x.col(f).replicate(1, n);
    squares_[data.dimension_of[static_cast<std::size_t>(f)]] +=
        (column - column.transpose()).cwiseAbs2();
  }
}

std::optional<Likelihood> GpLikelihood::at(const GpParameters& parameters) const {
  const Index n = data_.x.rows();
  const double signal = std::exp(parameters.log_signal);
  const double noise = std::exp(parameters.log_noise);
  MatrixXd r2 = MatrixXd::Zero(n, n);
  for (std::size_t d = 0; d < squares_.size(); ++d) {
    r2 += squares_[d] * std::exp(-2 * parameters.log_length[d]);
  }
  const Eigen::ArrayXXd a = kRoot5 * r2.array().sqrt();
  const Eigen::ArrayXXd decay = (-a).exp();
  const MatrixXd k = (signal * (1 + a + a.square() / 3) * decay).matrix();
  const Eigen::LLT<MatrixXd> factor(k + noise * MatrixXd::Identity(n, n));
  if (factor.info() != Eigen::Success) return std::nullopt;

  const VectorXd alpha = factor.solve(data_.y);
  const double log_det = 2 * MatrixXd(factor.matrixL()).diagonal().array().log().sum();
  Likelihood likelihood;
  likelihood.value = -0.5 * (data_.y.dot(alpha) + log_det +
                             static_cast<double>(n) * std::log(2 * std::numbers::pi));
  // Equation 5.9: half the trace of (alpha alpha' - K^-1) dK / dtheta.
  const MatrixXd outer = alpha * alpha.transpose() - factor.solve(MatrixXd::Identity(n, n));
  const MatrixXd slope = (signal * 5 / 3 * (1 + a) * decay).matrix().cwiseProduct(outer);
  for (std::size_t d = 0; d < squares_.size(); ++d) {
    const double by_length =
        slope.cwiseProduct(squares_[d]).sum() * std::exp(-2 * parameters.log_length[d]);
    likelihood.gradient.push_back(0.5 * by_length);
  }
  likelihood.gradient.push_back(0.5 * outer.cwiseProduct(k).sum());
  likelihood.gradient.push_back(0.5 * noise * outer.trace());
  return likelihood;
}

GpParameters fit_gp(const GpData& data) {
  const GpLikelihood likelihood(data);
  const Maximized objective = [&](const std::vector<double>& x, std::vector<double>& gradient) {
    std::optional<Likelihood> found = likelihood.at(unpack(x));
    if (!found) return -std::numeric_limits<double>::infinity();
    if (!gradient.empty()) gradient = std::move(found->gradient);
    return found->value;
  };
  const std::size_t dimensions = dimensions_of(data);
  const Box box{pack(dimensions, kLengths[0], kSignals[0], kNoises[0]),
                pack(dimensions, kLengths[1], kSignals[1], kNoises[1])};
  std::vector<double> best, none;
  double best_value = -std::numeric_limits<double>::infinity();
  for (const Start& start : kStarts) {
    std::vector<double> end = climb(
        objective, box, pack(dimensions, start.length, start.signal, start.noise), kEvaluations);
    const double value = objective(end, none);
    if (!best.empty() && !(value > best_value)) continue;
    best_value = value;
    best = std::move(end);
  }
  return unpack(best);
}

GpModel::GpModel(const GpData& data, GpParameters parameters)
    : inverse_length_(data.x.cols()), signal_(std::exp(parameters.log_signal)) {
  const Index n = data.x.rows();
  for (Index f = 0; f < data.x.cols(); ++f) {
    const std::size_t dimension = data.dimension_of[static_cast<std::size_t>(f)];
    inverse_length_[f] = std::exp(-parameters.log_length[dimension]);
  }
  scaled_ = inverse_length_.asDiagonal() * data.x.transpose();
  MatrixXd k(n, n);
  for (Index i = 0; i < n; ++i) k.col(i) = covariances(data.x.row(i).transpose());
  k.diagonal().array() += std::exp(parameters.log_noise);
  factor_.compute(k);
  if (factor_.info() != Eigen::Success) {
    throw Error("the covariance of a Gaussian process is not positive definite");
  }
  alpha_ = factor_.solve(data.y);
}

VectorXd GpModel::covariances(const VectorXd& features) const {
  const VectorXd at = inverse_length_.cwiseProduct(features);
  const Eigen::ArrayXd a = kRoot5 * (scaled_.colwise() - at).colwise().norm().transpose().array();
  return (signal_ * (1 + a + a.square() / 3) * (-a).exp()).matrix();
}

Gaussian GpModel::predict(const VectorXd& features) const {
  const VectorXd k = covariances(features);
  const VectorXd v = factor_.matrixL().solve(k);
  return {k.dot(alpha_), std::max(0.0, signal_ - v.squaredNorm())};
}

}  // namespace trivet::search
