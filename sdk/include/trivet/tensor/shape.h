// SPDX-License-Identifier: Apache-2.0
// Extents of a tensor: at most six, held inline.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "trivet/backend/backend.h"
#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API Shape {
 public:
  Shape() = default;  // rank 0: a scalar
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(
      std::span<const std::int64_t> extents);  // throws Error above rank 6 or for a negative extent

  int rank() const { return rank_; }
  // Negative axes count from the end; out of range throws Error.
  std::int64_t operator[](int axis) const {
    return extents_[static_cast<std::size_t>(index(axis))];
  }
  void set(int axis, std::int64_t extent);
  std::int64_t size() const;  // number of elements; 1 for a scalar. Throws Error on overflow.
  int index(int axis) const;  // the axis counted from the front
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }
  bool operator==(const Shape& other) const;
  std::string to_string() const;  // "[128, 784]"

 private:
  std::array<std::int64_t, TV_MAX_RANK> extents_{};
  int rank_ = 0;
};

}  // namespace trivet
