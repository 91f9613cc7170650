// SPDX-License-Identifier: Apache-2.0
// Sums along an axis, products and order statistics, out of the mandatory functions of a backend.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/op_support.h"

namespace trivet {
namespace {

struct Scan {
  int axis;
};

// Sums of the elements up to each one, or from each one on, in log2(n) steps: in each, every
// element gets the sum that stands `reach` further on.
enum class From { start, end };

Tensor scanned(const Tensor& x, int axis, From from) {
  const bool backwards = from == From::end;
  const std::int64_t n = x.dim(axis);
  Tensor sums = detail::packed(x);
  for (std::int64_t reach = 1; reach < n; reach *= 2) {
    const Tensor low = ops::slice(sums, axis, 0, n - reach);
    const Tensor high = ops::slice(sums, axis, reach, n);
    const Tensor added = detail::binary("add", TV_ADD, low, high);
    const Tensor next = Tensor::empty(x.device(), x.shape());
    const std::int64_t kept = backwards ? n - reach : 0, to = backwards ? 0 : reach;
    detail::copy_into(ops::slice(next, axis, to, to + n - reach).view(), added);
    detail::copy_into(ops::slice(next, axis, kept, kept + reach).view(),
                      ops::slice(sums, axis, kept, kept + reach));
    sums = next;
  }
  return sums;
}

void cumsum_vjp(Vjp& v) {
  v.add(0, scanned(v.grad_output(), v.attributes<Scan>().axis, From::end));
}
constexpr OpDef kCumsum{"cumsum", cumsum_vjp};

// Where the k largest of each row stand, as numbers of the row's elements.
std::vector<std::int32_t> largest(const std::vector<float>& values, std::int64_t n,
                                  std::int64_t k) {
  const auto width = static_cast<std::size_t>(n), wanted = static_cast<std::size_t>(k);
  std::vector<std::int32_t> order(width), out;
  for (std::size_t begin = 0; width > 0 && begin < values.size(); begin += width) {
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](std::int32_t i, std::int32_t j) {
      const float a = values[begin + static_cast<std::size_t>(i)];
      const float b = values[begin + static_cast<std::size_t>(j)];
      if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) != std::isnan(b) ? std::isnan(a) : i < j;
      }
      return a != b ? a > b : i < j;
    };
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::partial_sort(order.begin(), end, order.end(), before);
    out.insert(out.end(), order.begin(), end);
  }
  return out;
}

}  // namespace

Tensor ops::cumsum(const Tensor& x, int axis) {
  detail::expect("cumsum", "x", x);
  const int at = x.shape().index(axis);
  Tensor y;
  {
    NoGrad no_grad;
    y = scanned(x, at, From::start);
    if (y.same_as(x)) y = stop_gradient(x);  // a header of its own for the tape
  }
  record(kCumsum, {x}, y, {}, Scan{at});
  return y;
}

// Halves are multiplied with each other until one element is left, so the gradient of a zero is the
// product of the others, without a division.
Tensor ops::prod(const Tensor& x, int axis, const ReduceOptions& options) {
  detail::expect("prod", "x", x);
  const int at = x.shape().index(axis);
  Shape kept = x.shape();
  kept.set(at, 1);
  Tensor y = x.dim(at) == 0 ? Tensor::full(x.device(), kept, 1) : x;
  while (y.dim(at) > 1) {
    const std::int64_t n = y.dim(at), half = n / 2;
    Tensor next = mul(slice(y, at, 0, half), slice(y, at, half, 2 * half));
    if (n % 2 != 0) {
      const Tensor parts[] = {next, slice(y, at, n - 1, n)};
      next = concat(parts, at);
    }
    y = next;
  }
  if (options.keep_dims) return y;
  std::vector<std::int64_t> rest;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != at) rest.push_back(x.dim(i));
  }
  return reshape(y, Shape(rest));
}

TopK ops::top_k(const Tensor& x, std::int64_t k) {
  detail::expect("top_k", "x", x);
  if (x.rank() < 1 || k < 0 || k > x.dim(-1)) {
    detail::wrong("top_k", "0 <= k <= the last extent", std::to_string(k) + " of " + x.to_string());
  }
  if (x.size() > std::numeric_limits<std::int32_t>::max()) {
    detail::wrong("top_k", "at most 2^31 - 1 elements", x.to_string());
  }
  const std::int64_t n = x.dim(-1);
  Shape shape = x.shape();
  shape.set(-1, k);
  const std::vector<std::int32_t> columns = largest(x.to_host<float>(), n, k);
  std::vector<std::int32_t> flat = columns;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    flat[i] += static_cast<std::int32_t>(static_cast<std::int64_t>(i) / k * n);
  }
  const Tensor taken = Tensor::from<std::int32_t>(x.device(), flat, shape);
  const Tensor values = gather_rows(reshape(x, {x.size(), 1}), taken);
  return {reshape(values, shape), Tensor::from<std::int32_t>(x.device(), columns, shape)};
}

Tensor ops::log_softmax(const Tensor& x) {
  detail::expect("log_softmax", "x", x);
  const Tensor shifted = sub(x, stop_gradient(max(stop_gradient(x), -1, {.keep_dims = true})));
  return sub(shifted, log(sum(exp(shifted), -1, {.keep_dims = true})));
}

}  // namespace trivet
