// SPDX-License-Identifier: Apache-2.0
#include "search/math/encoding.h"

#include <numbers>

namespace trivet::search {

Encoding::Encoding(const SearchSpace& space) : space_(space) {
  for (std::size_t d = 0; d < space_.size(); ++d) {
    dimension_of_.insert(dimension_of_.end(), features_of(space_.dimensions()[d]), d);
  }
}

std::size_t Encoding::features_of(const Dimension& dimension) {
  if (!dimension.is_categorical() || dimension.count() <= 2) return 1;
  return static_cast<std::size_t>(dimension.count());
}

const Dimension& Encoding::dimension(Eigen::Index feature) const {
  return space_.dimensions()[dimension_of(feature)];
}

Eigen::VectorXd Encoding::features(std::span<const double> unit) const {
  Eigen::VectorXd features = Eigen::VectorXd::Zero(size());
  Eigen::Index next = 0;
  for (std::size_t d = 0; d < space_.size(); ++d) {
    const Dimension& dimension = space_.dimensions()[d];
    const auto count = static_cast<Eigen::Index>(features_of(dimension));
    const double middle = dimension.middle(unit[d]);
    if (count == 1) {
      features[next] = middle;
    } else {
      features[next + static_cast<Eigen::Index>(middle * static_cast<double>(count))] = 1;
    }
    next += count;
  }
  return features;
}

std::vector<double> Encoding::unit(const Eigen::VectorXd& features) const {
  std::vector<double> unit;
  Eigen::Index next = 0;
  for (const Dimension& dimension : space_.dimensions()) {
    const auto count = static_cast<Eigen::Index>(features_of(dimension));
    if (count == 1) {
      unit.push_back(features[next]);
    } else {
      Eigen::Index largest = 0;
      features.segment(next, count).maxCoeff(&largest);
      unit.push_back((static_cast<double>(largest) + 0.5) / static_cast<double>(count));
    }
    next += count;
  }
  return unit;
}

double Encoding::cell_width(Eigen::Index feature, double at) const {
  const Dimension& owner = dimension(feature);
  if (owner.is_continuous()) return 0;
  // The distance of two choices, (1, 0, 0) and (0, 1, 0).
  if (features_of(owner) > 1) return std::numbers::sqrt2;
  const auto [from, to] = owner.cell(at);
  return to - from;
}

}  // namespace trivet::search
