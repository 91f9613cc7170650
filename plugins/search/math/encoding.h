// SPDX-License-Identifier: Apache-2.0
// Encoding: maps points to vectors of numbers with meaningful distances, for models that need them.
// A number is its coordinate in [0, 1]. Two choices are 1/4 and 3/4. Of more choices, each is a
// separate feature: 1 for the chosen one and 0 for the others.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

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
  // Equal for coordinates of the same point.
  Eigen::VectorXd features(std::span<const double> unit) const;
  // Returns the coordinates of the nearest point; the largest feature of a choice wins.
  std::vector<double> unit(const Eigen::VectorXd& features) const;
  // The distance of neighboring values of the feature at `at`; 0 if it is continuous.
  double cell_width(Eigen::Index feature, double at) const;

 private:
  const Dimension& dimension(Eigen::Index feature) const;
  static std::size_t features_of(const Dimension& dimension);

  SearchSpace space_;
  std::vector<std::size_t> dimension_of_;
};

}  // namespace trivet::search
