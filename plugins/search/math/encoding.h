// SPDX-License-Identifier: Apache-2.0
//
// Encoding: points as vectors of numbers in which distance has a meaning, for models that need one.
// A number is its coordinate in [0, 1]; of two choices one is 1/4 and the other 3/4; of more, each
// is a feature of its own, 1 for the chosen one and 0 for the others.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "trivet/search/search_space.h"

namespace trivet::search {

class Encoding {
 public:
  explicit Encoding(const SearchSpace& space);

  Eigen::Index size() const noexcept { return static_cast<Eigen::Index>(dimension_of_.size()); }
  // The dimension that a feature belongs to.
  std::size_t dimension_of(Eigen::Index feature) const {
    return dimension_of_[static_cast<std::size_t>(feature)];
  }
  // Equal for coordinates that mean the same point.
  Eigen::VectorXd features(std::span<const double> unit) const;
  // Coordinates of the nearest point: of the features of choices the largest wins.
  std::vector<double> unit(const Eigen::VectorXd& features) const;
  // How far apart two values of the feature are around here; 0 where any number is one.
  double cell_width(Eigen::Index feature, double at) const;

 private:
  const Dimension& dimension(Eigen::Index feature) const;
  static std::size_t features_of(const Dimension& dimension);

  SearchSpace space_;
  std::vector<std::size_t> dimension_of_;
};

}  // namespace trivet::search
