// SPDX-License-Identifier: Apache-2.0
// The inverse root of a statistics matrix, by its eigenvalues in double.
#pragma once

#include <cstdint>
#include <span>

namespace trivet::optim {

struct InverseRoot {
  double order = 2;         // a root of this order
  double epsilon = 1e-6;    // added to each eigenvalue
  bool is_relative = true;  // epsilon is a share of the largest eigenvalue
};

// root = (matrix + epsilon I)^(-1 / order) of a symmetric matrix [size, size] without negative
// eigenvalues, except those that rounding makes (they count as 0). The identity for a matrix of
// zeros. Returns false, and leaves `root` alone, where the matrix or its root is not finite.
bool inverse_root(std::span<const float> matrix, std::int64_t size, const InverseRoot& options,
                  std::span<float> root);

}  // namespace trivet::optim
