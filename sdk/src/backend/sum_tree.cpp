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

std::optional<std::pair<SumTree, SumTree>> SumTree::split(std::int64_t count) const {
  std::pair<SumTree, SumTree> parts;
  for (const std::int64_t arity : arities_) {
    const bool is_lower = count > 1;
    if (is_lower && count % arity != 0) return std::nullopt;
    (is_lower ? parts.first : parts.second).arities_.push_back(arity);
    if (is_lower) count /= arity;
  }
  if (count != 1) return std::nullopt;
  return parts;
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
