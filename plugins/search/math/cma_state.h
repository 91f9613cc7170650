// SPDX-License-Identifier: Apache-2.0
// The covariance matrix adaptation evolution strategy of Hansen's tutorial (arXiv 1604.00772):
// figure 6 with the parameters of table 1, negative weights included. n dimensions, lambda points
// per generation.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "search/math/random_stream.h"

namespace trivet::search {

struct CmaParameters {
  Eigen::Index lambda = 0, mu = 0;
  Eigen::VectorXd weights;  // of the points from best to worst; the first mu are positive
  double mu_eff = 0;
  double c_sigma = 0, d_sigma = 0;
  double c_c = 0, c_1 = 0, c_mu = 0;
  double chi_n = 0;  // the expected length of a standard normal vector
};

// 4 + floor(3 ln n).
Eigen::Index default_lambda(Eigen::Index n);
// lambda is at least 2.
CmaParameters cma_parameters(Eigen::Index n, Eigen::Index lambda);

class CmaState {
 public:
  CmaState(const CmaParameters& parameters, Eigen::VectorXd mean, double sigma);

  Eigen::VectorXd draw(RandomStream& draws) const;
  // Updates from one generation: lambda points with their losses, in any order. Injected points are
  // allowed; those farther away than any of its own are moved closer (Hansen 2011 on injection).
  void tell(std::vector<std::pair<Eigen::VectorXd, double>> points);
  // Widens coordinates to at least these standard deviations; 0 changes nothing.
  void keep_wide(const Eigen::VectorXd& least);

  const Eigen::VectorXd& mean() const noexcept { return mean_; }
  double sigma() const noexcept { return sigma_; }
  const Eigen::MatrixXd& covariance() const noexcept { return covariance_; }  // without sigma^2

 private:
  Eigen::VectorXd whitened(const Eigen::VectorXd& y) const;  // C^(-1/2) y
  void update_covariance(const std::vector<Eigen::VectorXd>& steps, bool h_sigma);
  void decompose();

  CmaParameters p_;
  Eigen::VectorXd mean_;
  double sigma_;
  Eigen::MatrixXd covariance_;
  Eigen::MatrixXd axes_;     // B, eigenvectors of C
  Eigen::VectorXd lengths_;  // D, roots of its eigenvalues
  Eigen::VectorXd path_sigma_, path_c_;
  int generation_ = 0;
};

}  // namespace trivet::search
