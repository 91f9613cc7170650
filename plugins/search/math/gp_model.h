// SPDX-License-Identifier: Apache-2.0
// GpModel: regression with a Gaussian process of mean 0 (Rasmussen and Williams 2006, chapters 2,
// 4.2 and 5.4). The covariance is Matern's with nu = 5/2 and a length scale for each dimension,
//
//   k(a, b) = s (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r),   r^2 = sum_i (a_i - b_i)^2 / l_i^2
//
// and observations have independent noise of variance v.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace trivet::search {

// Of r, with s = 1.
double matern52(double r);

// Natural logarithms.
struct GpParameters {
  std::vector<double> log_length;  // by dimension
  double log_signal = 0;           // of s
  double log_noise = 0;            // of v
};

struct Gaussian {
  double mean = 0, variance = 1;
};

// Observations: a row of features each, and their values.
struct GpData {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
  std::vector<std::size_t> dimension_of;  // of each feature, for its length scale
};

// log p(y | x, parameters) and its gradient by length scales, signal and noise, in this order.
struct Likelihood {
  double value = 0;
  std::vector<double> gradient;
};

// Evaluates the likelihood of many parameters on the same data. Distances are computed once.
class GpLikelihood {
 public:
  explicit GpLikelihood(const GpData& data);
  // Empty for parameters whose covariance is not positive definite in floating point.
  std::optional<Likelihood> at(const GpParameters& parameters) const;

 private:
  const GpData& data_;
  std::vector<Eigen::MatrixXd> squares_;  // of differences, by dimension
};

// Maximizes the likelihood from a few starting points; length scales between 0.05 and 20, signal
// between 0.05 and 20, noise between 1e-6 and 1. Meant for features in the unit cube and values of
// variance 1.
GpParameters fit_gp(const GpData& data);

class GpModel {
 public:
  // Throws Error if the covariance is not positive definite.
  GpModel(const GpData& data, GpParameters parameters);
  // Predicts the function without noise.
  Gaussian predict(const Eigen::VectorXd& features) const;

 private:
  Eigen::VectorXd covariances(const Eigen::VectorXd& features) const;

  Eigen::MatrixXd scaled_;  // features divided by their length scales, one column per observation
  Eigen::VectorXd inverse_length_;
  double signal_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd alpha_;  // K^-1 y
};

}  // namespace trivet::search
