// SPDX-License-Identifier: Apache-2.0
#include "search/math/parzen_estimator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace trivet::search {
namespace {

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

// The mass of a normal between two points. If both are on one side of the mean, they are mirrored
// to its left, where the distribution function is accurate.
double normal_mass(double mean, double width, double from, double to) {
  double a = (from - mean) / width;
  double b = (to - mean) / width;
  if (a > 0) a = -std::exchange(b, -a);
  return normal_cdf(b) - normal_cdf(a);
}

double least_width(std::size_t observations) {
  return 1 / std::min(100.0, static_cast<double>(observations) + 1);
}

bool same_cell(const Dimension& dimension, double a, double b) {
  return dimension.cell(a) == dimension.cell(b);
}

}  // namespace

std::vector<double> neighbor_widths(std::span<const double> observations) {
  // The prior's mean follows the observations and gets no width.
  std::vector<double> locations(observations.begin(), observations.end());
  locations.push_back(0.5);
  std::vector<std::size_t> order(locations.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return locations[a] < locations[b]; });
  std::vector<double> widths(observations.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= widths.size()) continue;
    const double at = locations[order[i]];
    const double left = at - (i > 0 ? locations[order[i - 1]] : 0);
    const double right = (i + 1 < order.size() ? locations[order[i + 1]] : 1) - at;
    widths[order[i]] = std::clamp(std::max(left, right), least_width(widths.size()), 1.0);
  }
  return widths;
}

double scott_width(std::size_t observations, std::size_t dimensions) {
  const double count = std::max(1.0, static_cast<double>(observations));
  const double width = 0.2 * std::pow(count, -1 / (static_cast<double>(dimensions) + 4));
  return std::max(width, least_width(observations));
}

ParzenEstimator::ParzenEstimator(std::vector<const Dimension*> dimensions,
                                 const std::vector<std::vector<double>>& observations,
                                 std::vector<double> weights, double prior_weight)
    : dimensions_(std::move(dimensions)),
      weights_(std::move(weights)),
      observations_(static_cast<double>(observations.size())) {
  weights_.push_back(prior_weight);
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) weight /= sum;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    std::vector<double> column;
    for (const std::vector<double>& row : observations) column.push_back(row[d]);
    std::vector<double> widths(column.size(), scott_width(column.size(), dimensions_.size()));
    if (dimensions_.size() == 1) widths = neighbor_widths(column);
    std::vector<Kernel>& kernels = kernels_.emplace_back();
    for (std::size_t i = 0; i < column.size(); ++i) {
      kernels.push_back({column[i], widths[i], normal_mass(column[i], widths[i], 0, 1), false});
    }
    kernels.push_back(prior());
  }
}

ParzenEstimator::Kernel ParzenEstimator::prior() const {
  return {0.5, 1, normal_mass(0.5, 1, 0, 1), true};
}

std::vector<double> ParzenEstimator::draw(RandomStream& draws) const {
  const std::size_t index = draws.weighted(weights_);
  std::vector<double> unit;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    unit.push_back(draw(*dimensions_[d], kernels_[d][index], draws));
  }
  return unit;
}

double ParzenEstimator::draw(const Dimension& dimension, const Kernel& kernel,
                             RandomStream& draws) const {
  if (dimension.is_categorical()) {
    const auto count = static_cast<double>(dimension.count());
    const bool keeps = draws.uniform() * (observations_ + count) < observations_;
    return keeps && !kernel.is_prior ? kernel.mean : draws.uniform();
  }
  // Widths are at most the range and means lie inside, so at least one in three draws is inside.
  for (;;) {
    const double unit = kernel.mean + kernel.width * draws.normal();
    if (unit >= 0 && unit <= 1) return unit;
  }
}

double ParzenEstimator::log_kernel(const Dimension& dimension, const Kernel& kernel,
                                   double unit) const {
  if (dimension.is_categorical()) {
    const auto count = static_cast<double>(dimension.count());
    if (kernel.is_prior) return -std::log(count);
    const double own = same_cell(dimension, unit, kernel.mean) ? observations_ : 0;
    return std::log((own + 1) / (observations_ + count));
  }
  if (dimension.is_continuous()) {
    const double z = (unit - kernel.mean) / kernel.width;
    return -0.5 * z * z - std::log(kernel.width * kernel.inside * std::sqrt(2 * std::numbers::pi));
  }
  const auto [from, to] = dimension.cell(unit);
  return std::log(normal_mass(kernel.mean, kernel.width, from, to) / kernel.inside);
}

double ParzenEstimator::log_density(std::span<const double> unit) const {
  std::vector<double> terms;
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    double term = std::log(weights_[k]);
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      term += log_kernel(*dimensions_[d], kernels_[d][k], unit[d]);
    }
    terms.push_back(term);
  }
  const double most = *std::max_element(terms.begin(), terms.end());
  if (most == -std::numeric_limits<double>::infinity()) return most;
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - most);
  return most + std::log(sum);
}

}  // namespace trivet::search
