// SPDX-License-Identifier: Apache-2.0
// Shape: checks on construction, so that all code after them may trust rank and extents.
#include "trivet/tensor/shape.h"

#include <algorithm>

#include "trivet/error.h"

namespace trivet {

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > TV_MAX_RANK) {
    throw Error("a tensor has at most " + std::to_string(TV_MAX_RANK) + " axes, not " +
                std::to_string(extents.size()));
  }
  for (std::int64_t extent : extents) {
    // -1 is kept for reshape, which resolves it before any tensor is made.
    if (extent < -1) throw Error("negative extent " + std::to_string(extent) + " in a shape");
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }
}

void Shape::set(int axis, std::int64_t extent) {
  if (extent < 0) throw Error("negative extent " + std::to_string(extent) + " in a shape");
  extents_[static_cast<std::size_t>(index(axis))] = extent;
}

std::int64_t Shape::size() const {
  std::int64_t size = 1;
  bool empty = false;
  for (std::int64_t extent : *this) {
    if (extent < 0) throw Error("shape " + to_string() + " has an open extent");
    empty = empty || extent == 0;
    // Overflow counts even where a later extent is 0: strides are products too.
    if (extent != 0 && __builtin_mul_overflow(size, extent, &size)) {
      throw Error("shape " + to_string() + " has too many elements");
    }
  }
  return empty ? 0 : size;
}

int Shape::index(int axis) const {
  int found = axis < 0 ? axis + rank_ : axis;
  if (found < 0 || found >= rank_) {
    throw Error("axis " + std::to_string(axis) + " does not exist in shape " + to_string());
  }
  return found;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (const std::int64_t* extent = begin(); extent != end(); ++extent) {
    text += (extent == begin() ? "" : ", ") + std::to_string(*extent);
  }
  return text + "]";
}

}  // namespace trivet
