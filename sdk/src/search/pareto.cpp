// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/pareto.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trivet::search {

bool dominates(std::span<const double> one, std::span<const double> other) {
  bool better = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
    better = better || one[i] < other[i];
  }
  return better;
}

std::vector<std::vector<std::size_t>> pareto_fronts(const std::vector<std::vector<double>>& rows,
                                                    std::size_t enough) {
  std::vector<std::size_t> left(rows.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> fronts;
  for (std::size_t count = 0; !left.empty() && count < enough; count += fronts.back().size()) {
    std::vector<std::size_t>& front = fronts.emplace_back();
    std::vector<std::size_t> others;
    for (const std::size_t row : left) {
      const bool is_dominated = std::any_of(left.begin(), left.end(), [&](std::size_t other) {
        return dominates(rows[other], rows[row]);
      });
      (is_dominated ? others : front).push_back(row);
    }
    left = std::move(others);
  }
  return fronts;
}

std::vector<double> crowding_distances(const std::vector<std::vector<double>>& rows,
                                       std::span<const std::size_t> front) {
  std::vector<double> distances(front.size(), 0);
  if (front.empty()) return distances;
  std::vector<std::size_t> order(front.size());
  for (std::size_t objective = 0; objective < rows[front[0]].size(); ++objective) {
    const auto value = [&](std::size_t i) { return rows[front[i]][objective]; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
    const double range = value(order.back()) - value(order.front());
    distances[order.front()] = distances[order.back()] = std::numeric_limits<double>::infinity();
    if (range <= 0) continue;
    for (std::size_t i = 1; i + 1 < order.size(); ++i) {
      distances[order[i]] += (value(order[i + 1]) - value(order[i - 1])) / range;
    }
  }
  return distances;
}

}  // namespace trivet::search
