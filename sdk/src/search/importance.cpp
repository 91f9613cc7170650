// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/importance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "trivet/tensor/random.h"

namespace trivet::search {
namespace {

constexpr int kTrees = 64;
constexpr int kDeepest = 64;

// The part of a dimension that a leaf covers: [low, high], or some choices.
struct Side {
  double low = 0, high = 1;
  std::vector<bool> choices{};  // empty: numbers

  double size() const {
    if (choices.empty()) return high - low;
    const auto count =
        std::count_if(choices.begin(), choices.end(), [](bool is_there) { return is_there; });
    return static_cast<double>(count) / static_cast<double>(choices.size());
  }
};
using Box = std::vector<Side>;

struct Leaf {
  Box box;
  double value = 0;
  double size = 1;  // part of the space
};

using Rows = std::vector<std::size_t>;

// A split of rows: the order in which a dimension sorts them, and how many go to the left.
struct Split {
  std::size_t dimension = 0;
  Rows order;
  std::size_t left = 0;
  double gain = 0;  // reduction of the sum of squared errors
};

class Tree {
 public:
  Tree(const SearchSpace& space, const std::vector<std::vector<double>>& units,
       std::span<const double> values)
      : space_(space), units_(units), values_(values) {}

  std::vector<Leaf> grow(Rows rows) {
    Box all(space_.size());
    for (std::size_t d = 0; d < all.size(); ++d) {
      const Dimension& dimension = space_.dimensions()[d];
      if (dimension.is_categorical()) {
        all[d].choices.assign(static_cast<std::size_t>(dimension.count()), true);
      }
    }
    grow(std::move(rows), std::move(all), 0);
    return std::move(leaves_);
  }

 private:
  void grow(Rows rows, Box box, int depth) {
    Split best;
    for (std::size_t d = 0; depth < kDeepest && d < space_.size(); ++d) {
      Split split = split_at(d, rows);
      if (split.gain > best.gain) best = std::move(split);
    }
    if (best.gain <= 0) {
      Leaf leaf{std::move(box), sum(rows) / static_cast<double>(rows.size()), 1};
      for (const Side& side : leaf.box) leaf.size *= side.size();
      leaves_.push_back(std::move(leaf));
      return;
    }
    const auto middle = best.order.begin() + static_cast<std::ptrdiff_t>(best.left);
    auto [left, right] = sides(best, box[best.dimension]);
    Box other = box;
    box[best.dimension] = std::move(left);
    other[best.dimension] = std::move(right);
    grow({best.order.begin(), middle}, std::move(box), depth + 1);
    grow({middle, best.order.end()}, std::move(other), depth + 1);
  }

  double sum(const Rows& rows) const {
    return std::accumulate(rows.begin(), rows.end(), 0.0,
                           [&](double total, std::size_t row) { return total + values_[row]; });
  }

  std::size_t choice_of(std::size_t dimension, std::size_t row) const {
    const auto count = static_cast<double>(space_.dimensions()[dimension].count());
    return static_cast<std::size_t>(
        std::clamp(std::floor(units_[row][dimension] * count), 0.0, count - 1));
  }

  // Sort keys of rows: the number, or the mean of the choice's values, which gives the best subset
  // (Breiman et al. 1984).
  std::vector<std::pair<double, std::size_t>> keys(std::size_t d, const Rows& rows) const {
    std::vector<std::pair<double, std::size_t>> keys;
    const Dimension& dimension = space_.dimensions()[d];
    if (!dimension.is_categorical()) {
      for (const std::size_t row : rows) keys.emplace_back(units_[row][d], 0);
      return keys;
    }
    const auto choices = static_cast<std::size_t>(dimension.count());
    std::vector<double> sums(choices, 0), counts(choices, 0);
    for (const std::size_t row : rows) {
      sums[choice_of(d, row)] += values_[row];
      counts[choice_of(d, row)] += 1;
    }
    for (const std::size_t row : rows) {
      const std::size_t choice = choice_of(d, row);
      keys.emplace_back(sums[choice] / counts[choice], choice);
    }
    return keys;
  }

  Split split_at(std::size_t d, const Rows& rows) const {
    const auto keys = this->keys(d, rows);
    Rows order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    const double total = sum(rows), count = static_cast<double>(rows.size());
    // Less is the rounding of equal values.
    const double least = 1e-12 * (1 + total * total / count);
    Split best{d, {}, 0, 0};
    double left = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
      left += values_[rows[order[i - 1]]];
      if (keys[order[i - 1]] == keys[order[i]]) continue;
      const auto n = static_cast<double>(i);
      const double right = total - left;
      const double gain = left * left / n + right * right / (count - n) - total * total / count;
      if (gain > least && gain > best.gain) {
        best.gain = gain;
        best.left = i;
      }
    }
    for (const std::size_t i : order) best.order.push_back(rows[i]);
    return best;
  }

  // Choices that no row has go with the larger part.
  std::pair<Side, Side> sides(const Split& split, const Side& whole) const {
    const std::size_t d = split.dimension;
    Side left = whole, right = whole;
    if (whole.choices.empty()) {
      const double before = units_[split.order[split.left - 1]][d];
      left.high = right.low = (before + units_[split.order[split.left]][d]) / 2;
      return {left, right};
    }
    const bool left_is_larger = 2 * split.left >= split.order.size();
    std::vector<int> part(whole.choices.size(), left_is_larger ? -1 : 1);
    for (std::size_t i = 0; i < split.order.size(); ++i) {
      part[choice_of(d, split.order[i])] = i < split.left ? -1 : 1;
    }
    for (std::size_t choice = 0; choice < part.size(); ++choice) {
      left.choices[choice] = whole.choices[choice] && part[choice] < 0;
      right.choices[choice] = whole.choices[choice] && part[choice] > 0;
    }
    return {left, right};
  }

  const SearchSpace& space_;
  const std::vector<std::vector<double>>& units_;
  const std::span<const double> values_;
  std::vector<Leaf> leaves_;
};

// The variance over the space of the mean over all other dimensions.
double marginal_variance(const std::vector<Leaf>& leaves, std::size_t d, double mean) {
  double square = 0;
  if (!leaves.front().box[d].choices.empty()) {
    const std::size_t choices = leaves.front().box[d].choices.size();
    for (std::size_t choice = 0; choice < choices; ++choice) {
      double at = 0;
      for (const Leaf& leaf : leaves) {
        const Side& side = leaf.box[d];
        if (side.choices[choice]) at += leaf.value * leaf.size / side.size();
      }
      square += at * at / static_cast<double>(choices);
    }
    return square - mean * mean;
  }
  std::vector<std::pair<double, double>> steps;
  for (const Leaf& leaf : leaves) {
    const Side& side = leaf.box[d];
    if (side.size() <= 0) continue;
    const double part = leaf.value * leaf.size / side.size();
    steps.emplace_back(side.low, part);
    steps.emplace_back(side.high, -part);
  }
  std::sort(steps.begin(), steps.end());
  double at = 0, from = 0;
  for (const auto& [to, change] : steps) {
    square += at * at * (to - from);
    at += change;
    from = to;
  }
  return square - mean * mean;
}

}  // namespace

std::vector<double> importances(const SearchSpace& space,
                                const std::vector<std::vector<double>>& units,
                                std::span<const double> values) {
  if (values.size() < kFewestForImportance) return {};
  // Around 0, where differences of squares keep their digits.
  const double center =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::vector<double> centered;
  for (const double value : values) centered.push_back(value - center);
  std::vector<double> shares(space.size(), 0);
  int counted = 0;
  for (int tree = 0; tree < kTrees; ++tree) {
    const RngKey key = RngKey(0).fold("importance").fold(static_cast<std::uint64_t>(tree));
    Rows rows;
    for (std::size_t i = 0; i < centered.size(); ++i) {
      rows.push_back(threefry(key.value(), i) % centered.size());
    }
    const std::vector<Leaf> leaves = Tree(space, units, centered).grow(std::move(rows));
    double mean = 0, square = 0;
    for (const Leaf& leaf : leaves) {
      mean += leaf.size * leaf.value;
      square += leaf.size * leaf.value * leaf.value;
    }
    const double variance = square - mean * mean;
    if (leaves.size() < 2 || !(variance > 0)) continue;
    ++counted;
    for (std::size_t d = 0; d < shares.size(); ++d) {
      shares[d] += std::clamp(marginal_variance(leaves, d, mean) / variance, 0.0, 1.0);
    }
  }
  if (counted == 0) return {};
  for (double& share : shares) share /= counted;
  return shares;
}

}  // namespace trivet::search
