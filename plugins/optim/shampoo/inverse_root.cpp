// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/inverse_root.h"

#include <Eigen/Eigenvalues>

namespace trivet::optim {

bool inverse_root(std::span<const float> matrix, std::int64_t size, const InverseRoot& options,
                  std::span<float> root) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> values(matrix.data(), size, size);
  if (!values.allFinite()) return false;
  Eigen::Map<Matrix> out(root.data(), size, size);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(values.cast<double>());
  if (solver.info() != Eigen::Success) return false;
  const double largest = solver.eigenvalues().maxCoeff();
  if (largest <= 0) {
    out.setIdentity();
    return true;
  }
  const double epsilon = options.epsilon * (options.is_relative ? largest : 1);
  const Eigen::ArrayXd roots =
      (solver.eigenvalues().array().max(0) + epsilon).pow(-1 / options.order);
  const Eigen::MatrixXd product =
      solver.eigenvectors() * roots.matrix().asDiagonal() * solver.eigenvectors().transpose();
  const Matrix rounded = product.cast<float>();
  if (!rounded.allFinite()) return false;
  out = rounded;
  return true;
}

}  // namespace trivet::optim
