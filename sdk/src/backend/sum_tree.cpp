// SPDX-License-Identifier: Apache-2.0
#include "trivet/backend/sum_tree.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "trivet/error.h"

namespace trivet {

SumTree::SumTree(std::span<const std::int64_t> extents) {
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    std::int64_t rest = extents[axis];
    if (rest < 1) throw Error("a sum needs at least one value along each axis");
    for (; rest % 2 == 0; rest /= 2) arities_.push_back(2);
    if (rest > 1) arities_.push_back(rest);
  }
}

std::int64_t SumTree::size() const {
  return std::accumulate(arities_.begin(), arities_.end(), std::int64_t{1}, std::multiplies{});
}

double canonical_sum(const SumTree& tree, std::span<const double> values) {
  if (std::ssize(values) != tree.size()) {
    throw Error("a sum of " + std::to_string(tree.size()) + " values got " +
                std::to_string(values.size()));
  }
  TreeFold<double> fold(tree);
  double total = 0;
  for (const double value : values) {
    total = fold.add(value, [](double& sum, double part) { sum += part; }).value_or(0);
  }
  return total;
}

}  // namespace trivet
