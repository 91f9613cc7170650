// SPDX-License-Identifier: Apache-2.0
// The order in which the parts of a mesh are added. Floating-point sums depend on their order, so
// the order is fixed by the mesh alone: however many processes share the work, the bits are equal.
//
// Values are numbered along axes, the innermost fastest. They are added axis by axis, the innermost
// first. Along an axis of n = 2^a m values, m odd, each group of 2^a neighbors is added by halves,
// (x0 + x1) + (x2 + x3), and then the m groups from left to right.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API SumTree {
 public:
  SumTree() = default;  // of one value
  // Extents of at least 1, the outermost axis first.
  explicit SumTree(std::span<const std::int64_t> extents);

  std::int64_t size() const;  // values
  // How many sums of one level are a sum of the next, the lowest level first. Each is at least 2.
  const std::vector<std::int64_t>& arities() const { return arities_; }
  // The tree of each run of `count` values, and that of what the runs give; nothing if such runs
  // are no subtrees.
  std::optional<std::pair<SumTree, SumTree>> split(std::int64_t count) const;
  bool operator==(const SumTree&) const = default;

 private:
  std::vector<std::int64_t> arities_;
};

// Adds values that come one after another. It holds one sum per level, not all values.
template <class T>
class TreeFold {
 public:
  explicit TreeFold(const SumTree& tree) : arities_(tree.arities()), held_(arities_.size()) {}

  // `merge(sum, value)` adds to the sum in place; it may take what `value` holds. Returns the total
  // with the last value.
  template <class Merge>
  std::optional<T> add(T value, Merge merge) {
    for (std::size_t level = 0; level < arities_.size(); ++level) {
      Held& held = held_[level];
      if (held.count == 0) {
        held = {std::move(value), 1};
        return std::nullopt;
      }
      merge(held.sum, value);
      if (++held.count < arities_[level]) return std::nullopt;
      value = std::move(held.sum);
      held.count = 0;
    }
    return value;
  }

 private:
  struct Held {
    T sum{};
    std::int64_t count = 0;
  };

  std::vector<std::int64_t> arities_;
  std::vector<Held> held_;
};

// The sum of tree.size() values. Throws Error for another number of them.
TRIVET_API double canonical_sum(const SumTree& tree, std::span<const double> values);

}  // namespace trivet
