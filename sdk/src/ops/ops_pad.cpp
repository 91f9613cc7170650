// SPDX-License-Identifier: Apache-2.0
// Padding along one axis.
#include <algorithm>
#include <vector>

#include "ops/op_support.h"

namespace trivet {
namespace {

// x with the elements of an axis chosen by number, as rows of a table: gradients add up where one
// is chosen more than once.
Tensor chosen(const Tensor& x, int axis, const std::vector<std::int32_t>& numbers) {
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) (i < axis ? outer : inner) *= x.dim(i);
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  Shape shape = x.shape();
  shape.set(axis, count);
  const Tensor index = Tensor::from<std::int32_t>(x.device(), numbers, {count});
  const Tensor lines = ops::transpose(ops::reshape(x, {outer, x.dim(axis), inner}), {1, 0, 2});
  const Tensor rows = ops::gather_rows(ops::reshape(lines, {x.dim(axis), outer * inner}), index);
  return ops::reshape(ops::transpose(ops::reshape(rows, {count, outer, inner}), {1, 0, 2}), shape);
}

Tensor with_value(const Tensor& x, int axis, std::int64_t before, std::int64_t after, float value) {
  const auto border = [&](std::int64_t extent) {
    Shape shape = x.shape();
    shape.set(axis, extent);
    return Tensor::full(x.device(), shape, static_cast<double>(value));
  };
  std::vector<Tensor> parts{x};
  if (before > 0) parts.insert(parts.begin(), border(before));
  if (after > 0) parts.push_back(border(after));
  return ops::concat(parts, axis);
}

// The number of the element at `at`, which may be outside 0 .. n - 1.
std::int64_t source(std::int64_t at, std::int64_t n, PadMode mode) {
  if (at >= 0 && at < n) return at;
  if (mode == PadMode::edge) return at < 0 ? 0 : n - 1;
  return at < 0 ? -at : 2 * (n - 1) - at;
}

}  // namespace

Tensor ops::pad(const Tensor& x, int axis, std::int64_t before, std::int64_t after, PadMode mode,
                float value) {
  detail::expect("pad", "x", x);
  const int where = x.shape().index(axis);
  const std::int64_t n = x.dim(where);
  const bool reflects = mode == PadMode::reflect;
  const std::int64_t most = reflects ? n - 1 : std::max(before, after);
  if (before < 0 || after < 0 || before > most || after > most ||
      (n == 0 && before + after > 0 && mode != PadMode::constant)) {
    detail::wrong("pad",
                  reflects ? "0 or more elements, less than the axis has"
                           : "0 or more elements, around an axis that has some",
                  std::to_string(before) + " and " + std::to_string(after) + " around axis " +
                      std::to_string(where) + " of " + x.to_string());
  }
  if (before == 0 && after == 0) return x;
  if (mode == PadMode::constant) return with_value(x, where, before, after, value);
  std::vector<std::int32_t> numbers;
  for (std::int64_t at = -before; at < n + after; ++at) {
    numbers.push_back(static_cast<std::int32_t>(source(at, n, mode)));
  }
  return chosen(x, where, numbers);
}

}  // namespace trivet
